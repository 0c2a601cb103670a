/** Workers that are lost, and hosts that hang: as a person meets them, with the built program (R57, R58; reliability F26, F27). */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { InstanceRecord } from '../../src/core/index.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { statusesOf, storyOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Home, newHome } from './cli.ts'
import { client, type ServeProcess, startServe } from './serving.ts'

let place: Home
const running: ServeProcess[] = []

beforeEach(() => {
  place = newHome()
})

afterEach(async () => {
  for (const one of running.splice(0)) {
    one.kill('SIGCONT')
    one.kill('SIGKILL')
    await one.ended
  }
  await place.end()
})

/** Saves a checkpoint where its input says so, then works until it is stopped; resumed it completes, or does as its input says. */
const PERSISTENT = `
  const { save = 'yes', ask = 'no', again = 'complete' } = me.params
  if (save === 'yes') write('checkpoint.json', JSON.stringify({ at: 7 }))
  if (save === 'state') write('state.json', JSON.stringify({ status: 'running', phase: 'work', done: [1, 2] }))
  if (save === 'phase') write('state.json', JSON.stringify({ status: 'running', phase: 'work' }))
  if (save === 'status') write('status.json', JSON.stringify({ at: 7 }))
  me.emit('persistent.saved')
  if (me.resume && again === 'complete' && ask === 'no') return me.finish({ status: 'completed', output: 'went on' })
  if (ask === 'yes') {
    const answer = await me.ask('gate', 'Go on?', { type: 'form', components: [{ type: 'text', id: 'why', label: 'Why' }] })
    return me.finish({ status: 'completed', output: 'went on: ' + answer.why })
  }
  if (again === 'ignore') { process.on('SIGTERM', () => {}); me.on['resolver.stop'] = () => undefined; for (;;) await sleep(1000) }
  const reason = await me.stopped
  me.finish({ status: 'cancelled', output: reason })
`

async function added(manifest: Record<string, unknown> = { supports_resume: true }): Promise<void> {
  const { dir } = plainResolver(PERSISTENT, { name: 'persistent', ...manifest })
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
}

async function serving(...args: string[]): Promise<{ server: ServeProcess; call: ReturnType<typeof client> }> {
  const server = await startServe(place.home, args)
  running.push(server)
  const token = (await place.run('token', 'create', '--scope', 'admin')).stdout.trim()
  return { server, call: client(server.url, token) }
}

async function newInstance(call: ReturnType<typeof client>, input: Record<string, string>): Promise<string> {
  const made = await call('POST', '/instances', { resolver: 'persistent', input })
  expect(made.status).toBe(202)
  return (made.body as InstanceRecord).instance_id
}

async function detached(input: Record<string, string> = {}): Promise<string> {
  const fields = Object.entries(input).flatMap(([name, value]) => ['-i', `${name}=${value}`])
  const { code, stdout } = await place.run('run', 'persistent', '--detach', '--json', ...fields)
  expect(code).toBe(0)
  return (JSON.parse(stdout) as InstanceRecord).instance_id
}

/** Its worker runs and has saved what it saves; with a question, that one is open. */
async function isUp(id: string, status = 'running'): Promise<void> {
  const hasSaved = () => readFileSync(instancePaths(place.home, id).journal, 'utf8').includes('persistent.saved')
  await until(place.home, id, (story) => story.status === status && hasSaved())
}

function workerOf(id: string): number {
  return (JSON.parse(readFileSync(instancePaths(place.home, id).worker, 'utf8')) as { process: { pid: number } })
    .process.pid
}

function hostOf(id: string): number {
  return readOwner(instancePaths(place.home, id).owners)?.process.pid ?? 0
}

async function recordOf(id: string): Promise<InstanceRecord> {
  const { stdout } = await place.run('instance', 'list', '--all', '--json')
  const { instances } = JSON.parse(stdout) as { instances: InstanceRecord[] }
  return instances.find(({ instance_id }) => instance_id === id) as InstanceRecord
}

// verifies: R58 R58-RESUME
test('10 of 10 instances complete whose server and workers were killed with -9: serve --resume-lost', {
  timeout: 120_000,
}, async () => {
  await added()
  const before = await serving()
  const ids: string[] = []
  for (let n = 0; n < 10; n += 1) ids.push(await newInstance(before.call, {}))
  await Promise.all(ids.map((id) => isUp(id)))
  before.server.kill('SIGKILL')
  await before.server.ended
  for (const id of ids) process.kill(workerOf(id), 'SIGKILL')
  const after = await serving('--resume-lost')
  for (const id of ids) {
    await expect
      .poll(async () => ((await after.call('GET', `/instances/${id}`)).body as InstanceRecord).status, {
        timeout: 60_000,
      })
      .toBe('completed')
    const { output, history } = storyOf(place.home, id)
    expect(output).toBe('went on')
    expect(history.map(({ status, reason }) => [status, reason]).slice(-3)).toEqual([
      ['paused', 'worker_lost'],
      ['running', 'resumed_lost'],
      ['completed', null],
    ])
  }
})

describe('a killed worker', () => {
  // verifies: R58
  test.each(['yes', 'state', 'status'])(
    'with a checkpoint (%s) pauses its instance, and every command tells it',
    async (save) => {
      await added()
      const id = await detached({ save })
      await isUp(id)
      process.kill(workerOf(id), 'SIGKILL')
      await until(place.home, id, (story) => story.status === 'paused')
      expect(await recordOf(id)).toMatchObject({
        status: 'paused',
        reason: 'worker_lost',
        error: null,
        supports_resume: true,
      })
      expect((await place.run('instance', 'list')).stdout).toContain('‖ paused: worker lost')
      const told = (await place.run('instance', 'explain', id)).stdout
      expect(told).toContain('Its worker was lost')
      expect(told).toContain('SIGKILL')
      expect(told).toContain(`resolve instance resume ${id}`)
      expect((await place.run('doctor')).stdout).toContain(`${id} is paused because the worker was lost`)
      const resumed = await place.run('instance', 'resume', id)
      expect(resumed).toMatchObject({ code: 0 })
      expect(storyOf(place.home, id)).toMatchObject({ status: 'completed', output: 'went on' })
    },
  )

  // verifies: R58
  test.each([
    ['without a checkpoint', { save: 'no' }, { supports_resume: true }],
    ['with a phase alone', { save: 'phase' }, { supports_resume: true }],
    ['without supports_resume', { save: 'yes' }, {}],
  ])('%s fails its instance', async (_, input, manifest) => {
    await added(manifest)
    const id = await detached(input)
    await isUp(id)
    process.kill(workerOf(id), 'SIGKILL')
    await until(place.home, id, (story) => story.status === 'failed')
    expect(await recordOf(id)).toMatchObject({ status: 'failed', error: { code: 'worker_exited' } })
  })

  // verifies: R58-QUESTIONS
  test('leaves its question open: it is answered meanwhile, and the resumed worker gets the answer', async () => {
    await added()
    const id = await detached({ ask: 'yes' })
    await isUp(id, 'awaiting_input')
    process.kill(workerOf(id), 'SIGKILL')
    await until(place.home, id, (story) => story.status === 'paused')
    expect(statusesOf(place.home, id).slice(-3)).toEqual(['awaiting_input', 'running', 'paused'])
    expect(await recordOf(id)).toMatchObject({ status: 'paused', reason: 'worker_lost', pending_inputs: 1 })
    expect((await place.run('inbox')).stdout).toContain('Go on?')
    expect(await place.run('instance', 'answer', id, 'gate', '-i', 'why=because')).toMatchObject({ code: 0 })
    expect((await place.run('instance', 'answer', id, 'gate', '-i', 'why=late')).code).toBe(7)
    expect(await recordOf(id)).toMatchObject({ status: 'paused', pending_inputs: 0 })
    expect(await place.run('instance', 'resume', id)).toMatchObject({ code: 0 })
    expect(storyOf(place.home, id).output).toBe('went on: because')
  })

  // verifies: R58-QUESTIONS
  test('leaves its question open: the resumed worker asks it again', async () => {
    await added()
    const id = await detached({ ask: 'yes' })
    await isUp(id, 'awaiting_input')
    process.kill(workerOf(id), 'SIGKILL')
    const { requests } = await until(place.home, id, (story) => story.status === 'paused')
    const askedAt = requests[0]?.asked_at as string
    expect((await place.run('instance', 'resume', id, '--detach')).code).toBe(0)
    const again = await until(
      place.home,
      id,
      (story) => story.status === 'awaiting_input' && story.requests[0]?.carried === undefined,
    )
    expect(again.requests).toMatchObject([{ id: 'gate', status: 'pending' }])
    expect((again.requests[0]?.asked_at as string) > askedAt).toBe(true)
    expect((await place.run('instance', 'answer', id, 'gate', '-i', 'why=then')).code).toBe(0)
    await until(place.home, id, (story) => story.status === 'completed')
    expect(storyOf(place.home, id).output).toBe('went on: then')
  })

  // verifies: R58
  test('of the machine that was started anew pauses its instance, too', async () => {
    await added()
    const id = await detached()
    await isUp(id)
    process.kill(hostOf(id), 'SIGKILL')
    process.kill(workerOf(id), 'SIGKILL')
    // Another boot: the worker, and the mark of its run, are of an earlier one.
    const { worker, journal } = instancePaths(place.home, id)
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const other = '00000000-0000-4000-8000-000000000000'
    for (const path of [worker, journal]) writeFileSync(path, readFileSync(path, 'utf8').replaceAll(boot, other))
    expect((await place.run('doctor', '--fix')).code).toBe(0)
    await until(place.home, id, (story) => story.status === 'paused')
    expect(await recordOf(id)).toMatchObject({ reason: 'worker_lost' })
    const resumed = await place.run('instance', 'resume', '--lost')
    expect(resumed).toMatchObject({ code: 0, stdout: `${id}\n` })
    await until(place.home, id, (story) => story.status === 'completed')
  })

  // verifies: R58-RESUME
  test('is resumed without a person three times at most, later each time', { timeout: 120_000 }, async () => {
    await added()
    const id = await detached({ again: 'wait' })
    const kill = async (times: number) => {
      await until(place.home, id, ({ status, incarnation }) => status === 'running' && incarnation === times)
      await isUp(id)
      process.kill(workerOf(id), 'SIGKILL')
      await until(place.home, id, ({ status, incarnation }) => status === 'paused' && incarnation === times)
    }
    for (let times = 1; times <= 3; times += 1) {
      await kill(times)
      const { code, stderr } = await place.run('instance', 'resume', '--lost')
      expect(code).toBe(0)
      // The second and the third wait.
      expect(stderr.includes('lost its worker again')).toBe(times > 1)
    }
    await kill(4)
    const refused = await place.run('instance', 'resume', '--lost', '--json')
    expect(refused.code).toBe(7)
    expect(JSON.parse(refused.stdout)).toMatchObject({
      resumed: [],
      not_resumed: [{ instance_id: id, code: 'resume_exhausted' }],
    })
    // A person may resume it as often as they like, and then it may be resumed by itself again.
    expect((await place.run('instance', 'resume', id, '--detach')).code).toBe(0)
    await kill(5)
    expect((await place.run('instance', 'resume', '--lost')).stdout).toBe(`${id}\n`)
  })
})

describe('a stop', () => {
  // verifies: R57
  test('keeps its reason, counts down while the worker ignores it, and --force ends it: forced', async () => {
    await added()
    const [id, other] = [await detached({ again: 'ignore' }), await detached({})]
    await isUp(id)
    await isUp(other)
    const asked = place.start({}, 'instance', 'stop', id, '--reason', 'wrong branch')
    // After 2 s, where the command is not late.
    await asked.said(new RegExp(`${id}: asked to stop; SIGTERM in 2\\d s, SIGKILL in 3\\d s\\.`))
    await asked.said(`"resolve instance stop ${id} --force" kills it at once.`)
    expect(await recordOf(id)).toMatchObject({ status: 'running', stop: { reason: 'wrong branch', force: false } })
    const { code, stdout } = await place.run('instance', 'stop', id, other, '--force', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'resolve.stopped/1',
      instances: [
        { instance_id: id, status: 'cancelled' },
        { instance_id: other, status: 'cancelled' },
      ],
    })
    expect(await asked.ended).toMatchObject({ code: 0 })
    const record = await recordOf(id)
    expect(record).toMatchObject({ status: 'cancelled', reason: 'wrong branch', forced: true })
    expect(record.stop).toBeUndefined()
  })

  test('of a suspended host is kept, and carried out when the host goes on', { timeout: 60_000 }, async () => {
    await added()
    const id = await detached()
    await isUp(id)
    process.kill(hostOf(id), 'SIGSTOP')
    const began = Date.now()
    const refused = await place.run('instance', 'stop', id, '--reason', 'too slow', '--json')
    expect(refused.code).toBe(10)
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'host_silent' } })
    expect(Date.now() - began).toBeLessThan(20_000)
    const diagnosis = await place.run('doctor')
    expect(diagnosis).toMatchObject({ code: 1, stdout: expect.stringContaining('does not answer') })
    expect((await place.run('instance', 'explain', id)).stdout).toContain('Its host does not answer')
    process.kill(hostOf(id), 'SIGCONT')
    await until(place.home, id, (story) => story.status === 'cancelled')
    expect(await recordOf(id)).toMatchObject({ reason: 'too slow' })
  })

  test('of a suspended host is carried out by the next one where the host is killed', { timeout: 60_000 }, async () => {
    await added()
    const id = await detached()
    await isUp(id)
    process.kill(hostOf(id), 'SIGSTOP')
    expect((await place.run('instance', 'stop', id, '--reason', 'too slow')).code).toBe(10)
    process.kill(hostOf(id), 'SIGKILL')
    expect((await place.run('doctor', '--fix')).code).toBe(0)
    await until(place.home, id, (story) => story.status === 'cancelled')
    expect(await recordOf(id)).toMatchObject({ reason: 'too slow' })
  })

  test('with --force ends a suspended server by its identity, and the next host carries the stop out', {
    timeout: 90_000,
  }, async () => {
    await added()
    const { server, call } = await serving()
    const [id, other] = [await newInstance(call, { again: 'ignore' }), await newInstance(call, {})]
    await isUp(id)
    await isUp(other)
    server.kill('SIGSTOP')
    const began = Date.now()
    const { code } = await place.run('instance', 'stop', id, '--force', '--reason', 'stuck')
    expect(code).toBe(0)
    expect(Date.now() - began).toBeLessThan(20_000)
    expect(await server.ended).toBe('SIGKILL')
    expect(await recordOf(id)).toMatchObject({ status: 'cancelled', reason: 'stuck', forced: true })
    // Its other instances go on with the next host.
    expect(storyOf(place.home, other).status).toBe('running')
    expect((await place.run('instance', 'stop', other)).code).toBe(0)
  })

  test('with --force never ends a process that only has the pid of the host', { timeout: 60_000 }, async () => {
    await added()
    const id = await detached()
    await isUp(id)
    const host = hostOf(id)
    const { owners } = instancePaths(place.home, id)
    const path = join(owners, `${readOwner(owners)?.epoch}.json`)
    const text = readFileSync(path, 'utf8')
    for (const [what, forged] of [
      ['start time', text.replace(/"startTime":"\d+"/, '"startTime":"1"')],
      ['namespace', text.replace(/pid:\[\d+\]/, 'pid:[1]')],
    ] as const) {
      expect(forged, what).not.toBe(text)
      writeFileSync(path, forged)
      process.kill(host, 'SIGSTOP')
      expect((await place.run('instance', 'stop', id, '--force')).code, what).toBe(10)
      process.kill(host, 0)
    }
    writeFileSync(path, text)
    process.kill(host, 'SIGCONT')
    await until(place.home, id, (story) => story.status === 'cancelled')
    await sleep(0)
  })
})

test('doctor is not failed by an instance that waits after a normal end of its server', async () => {
  await added()
  const { server, call } = await serving()
  const id = await newInstance(call, { ask: 'yes' })
  await isUp(id, 'awaiting_input')
  server.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  const { code, stdout } = await place.run('doctor', '--json')
  const { checks } = JSON.parse(stdout) as { checks: { check: string; state: string; message: string }[] }
  expect(checks.find(({ check }) => check === 'hosts')).toMatchObject({
    state: 'note',
    message: expect.stringContaining(id),
  })
  expect(code).toBe(checks.some(({ state }) => state === 'failed') ? 1 : 0)
})

test('a workspace that is a link to nowhere costs no coordination directory when the host is killed (R43)', async () => {
  const behaviour = `fs.rmSync(me.config.workspace_path, { recursive: true, force: true })
    fs.symlinkSync('/nowhere/at/all', me.config.workspace_path)
    me.emit('persistent.saved')
    const { why } = await me.ask('gate', 'Go on?', { type: 'form', components: [{ type: 'text', id: 'why', label: 'Why' }] })
    me.finish({ status: 'completed', output: why })`
  const { dir } = plainResolver(behaviour, { name: 'persistent' })
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
  const env = { RESOLVE_LLM_PROVIDER_API_KEY: 'canary-of-the-workspace' }
  const made = await place.with({ env }, 'run', 'persistent', '--detach', '--json')
  const { instance_id: id } = JSON.parse(made.stdout) as InstanceRecord
  await isUp(id, 'awaiting_input')
  process.kill(hostOf(id), 'SIGKILL')
  const answered = await place.with({ env }, 'instance', 'answer', id, 'gate', '-i', 'why=because')
  expect(answered.code, answered.stderr).toBe(0)
  await until(place.home, id, (story) => story.status === 'completed')
  expect(storyOf(place.home, id).output).toBe('because')
  const config = readFileSync(join(instancePaths(place.home, id).project, '.resolve/config.json'), 'utf8')
  expect(config).not.toContain('canary')
})
