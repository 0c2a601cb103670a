/** The queue of a home (R70) and its retention (R71), with real servers and background hosts, and with hosts that are killed. */
import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { InstanceRecord } from '../../src/core/index.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { client, type ServeProcess, startServe } from '../commands/serving.ts'
import { eventsOf, storyOf, until } from '../support/instances.ts'
import { soundInstance } from '../support/invariants.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let place: Home
let token: string
/** A file that ends `do=hold` of the resolver "any". */
let goOn: string
const running: ServeProcess[] = []

const BEHAVIOUR = `
  if (me.params.do === 'pause' && !me.resume) return me.finish({ status: 'paused' })
  if (me.params.do === 'ask') await Promise.race([me.ask('gate', 'Go on?'), me.stopped.then(() => me.finish({ status: 'cancelled' }))])
  else if (me.params.do === 'hold') while (!fs.existsSync('go-on')) await sleep(20)
  else await sleep(150)
  me.finish({ status: 'completed', output: 'done' })`

beforeEach(async () => {
  place = newHome()
  for (const manifest of [{ name: 'any' }, { name: 'single', max_running: 1 }]) {
    const { dir } = plainResolver(BEHAVIOUR, { supports_resume: true, ...manifest })
    expect(await place.run('resolver', 'add', dir)).toMatchObject({ code: 0 })
    if (manifest.name === 'any') goOn = join(dir, 'go-on')
  }
  token = (await place.run('token', 'create', '--scope', 'admin')).stdout.trim()
})

afterEach(async () => {
  for (const one of running.splice(0)) {
    one.kill('SIGKILL')
    await one.ended
  }
  await place.end()
})

const documentIn = (out: string) => JSON.parse(out === '' ? '{}' : out) as Record<string, unknown>

async function start(args: string[] = [], env: Record<string, string> = {}): Promise<ServeProcess> {
  const started = await startServe(place.home, ['--no-ui', ...args], env)
  running.push(started)
  return started
}

type Call = ReturnType<typeof client>

async function create(call: Call, what: string, resolver = 'any'): Promise<string> {
  const answer = await call('POST', '/instances', { resolver, input: { do: what } })
  expect(answer.status, JSON.stringify(answer.body)).toBe(202)
  return (answer.body as InstanceRecord).instance_id
}

const recordOf = async (call: Call, id: string) => (await call('GET', `/instances/${id}`)).body as InstanceRecord

async function reaches(call: Call, id: string, status: string): Promise<void> {
  await expect.poll(async () => (await recordOf(call, id)).status, { interval: 50 }).toBe(status)
}

async function waitsAt(call: Call, id: string, position: number): Promise<void> {
  await expect.poll(async () => (await recordOf(call, id)).queue?.position, { interval: 50 }).toBe(position)
}

const answer = (call: Call, id: string) => call('POST', `/instances/${id}/input-requests/gate`, {})

/** When it began to have a worker and when it had none any more, in ms since 1970. */
function spanOf(id: string): { from: number; to: number } {
  const { history } = storyOf(place.home, id)
  const at = (status: string) => Date.parse(history.find((one) => one.status === status)?.at ?? '')
  return { from: at('starting'), to: at('completed') }
}

function mostAtOnce(ids: readonly string[]): number {
  const spans = ids.map(spanOf)
  return Math.max(...spans.map(({ from }) => spans.filter((one) => one.from <= from && from < one.to).length))
}

const launchesOf = (id: string) =>
  eventsOf(place.home, id).filter(({ event }) => event.event_type === 'platform.worker.launched').length

test('two servers of one home share the bound, the oldest start first, and each starts once (R70)', {
  timeout: 90_000,
}, async () => {
  const [one, two] = [await start(['--max-running', '2']), await start([], { RESOLVE_MAX_RUNNING: '2' })]
  const calls = [client(one.url, token), client(two.url, token)]
  const ids: string[] = []
  for (let n = 0; n < 10; n += 1) ids.push(await create(calls[n % 2] as Call, 'work'))
  for (const id of ids) await reaches(calls[0] as Call, id, 'completed')
  expect(mostAtOnce(ids)).toBeLessThanOrEqual(2)
  expect(ids.map(launchesOf)).toEqual(ids.map(() => 1))
  const starts = ids.map((id) => spanOf(id).from)
  // Two may start in the same moment, in two processes.
  for (const [at, from] of starts.entries()) expect(from).toBeGreaterThanOrEqual((starts[at - 2] as number) ?? 0)
  for (const id of ids) soundInstance(place.home, id)
})

test('a waiting instance tells its place everywhere; one that waits for an answer has a worker and counts (R70)', {
  timeout: 90_000,
}, async () => {
  const call = client((await start(['--max-running', '1'])).url, token)
  const first = await create(call, 'ask')
  await reaches(call, first, 'awaiting_input')
  const [second, third] = [await create(call, 'ask'), await create(call, 'ask')]
  await waitsAt(call, second, 1)
  await waitsAt(call, third, 2)
  const record = await recordOf(call, third)
  expect(record).toMatchObject({
    status: 'created',
    queue: { position: 2, bound: 'home', limit: 1, since: record.created_at },
  })
  expect((await place.run('instance', 'list')).stdout).toMatch(new RegExp(`${third}.*queued, place 2`))
  const sentence = 'It waits in the queue, place 2: at most 1 instance runs at the same time here.'
  expect((await place.run('instance', 'show', third)).stdout).toContain(sentence)
  const { stdout: explained } = await place.run('instance', 'explain', third)
  expect(explained).toContain(sentence)
  expect(explained).toContain(`${first} (any) has a place and waits for an answer`)
  expect(explained).toContain(`resolve instance answer ${first}`)
  expect(documentIn((await place.run('instance', 'explain', third, '--json')).stdout)).toMatchObject({
    holders: [{ instance_id: first, resolver: 'any', status: 'awaiting_input' }],
  })
  expect(documentIn((await place.run('instance', 'show', third, '--json')).stdout)).toMatchObject({
    queue: { position: 2 },
  })

  expect((await answer(call, first)).status).toBe(204)
  await reaches(call, second, 'awaiting_input')
  await waitsAt(call, third, 1)
  await answer(call, second)
  await reaches(call, third, 'awaiting_input')
  expect((await recordOf(call, third)).queue).toBe(null)
  await answer(call, third)
  await reaches(call, third, 'completed')
})

test('a stop of a waiting instance is immediate and starts no worker (R20, R70)', { timeout: 90_000 }, async () => {
  const call = client((await start(['--max-running', '1'])).url, token)
  const first = await create(call, 'ask')
  await reaches(call, first, 'awaiting_input')
  const forced = await create(call, 'ask')
  await waitsAt(call, forced, 1)
  const stop = await place.run('instance', 'stop', forced, '--force', '--reason', 'enough')
  expect([stop.code, stop.stderr]).toEqual([0, `${forced} ⊘ cancelled\n`])
  expect(await recordOf(call, forced)).not.toHaveProperty('forced')
  expect(launchesOf(forced)).toBe(0)
  const [second, third] = [await create(call, 'ask'), await create(call, 'work')]
  await waitsAt(call, second, 1)
  expect((await call('POST', `/instances/${second}/stop`, { reason: 'enough' })).status).toBe(200)
  await reaches(call, second, 'cancelled')
  expect(storyOf(place.home, second).history).toMatchObject([
    { status: 'created' },
    { status: 'cancelled', reason: 'enough' },
  ])
  expect(launchesOf(second)).toBe(0)
  await waitsAt(call, third, 1)
  await answer(call, first)
  await reaches(call, third, 'completed')
})

test('a running instance whose journal is damaged keeps its place while its host lives (R70)', {
  timeout: 60_000,
}, async () => {
  const call = client((await start(['--max-running', '1'])).url, token)
  const first = await create(call, 'hold')
  await reaches(call, first, 'running')
  const { journal, record } = instancePaths(place.home, first)
  const size = () => statSync(journal).size
  const stored = () => JSON.parse(readFileSync(record, 'utf8')) as { journal_bytes: number }
  await expect.poll(() => stored().journal_bytes === size(), { timeout: 30_000 }).toBe(true)
  // In place, because its host appends to the same file; its record does not hide the damage.
  const fd = openSync(journal, 'r+')
  writeSync(fd, '!', readFileSync(journal).indexOf('{"schema_version"'))
  closeSync(fd)
  writeFileSync(record, JSON.stringify({ ...stored(), journal_bytes: 3 }))
  // Its server answers from memory; every other reader fails.
  expect(await place.run('instance', 'show', first)).toMatchObject({ code: 10 })
  const second = await create(call, 'work')
  await waitsAt(call, second, 1)
  writeFileSync(goOn, '')
  await reaches(call, second, 'completed')
  expect(storyOf(place.home, second).history.map(({ status }) => status)).toContain('completed')
})

test('a resumed instance waits too, as "running" with a place, and can be paused or stopped meanwhile (R24, R70)', {
  timeout: 90_000,
}, async () => {
  const call = client((await start(['--max-running', '1'])).url, token)
  const paused = await create(call, 'pause')
  await reaches(call, paused, 'paused')
  const first = await create(call, 'ask')
  await reaches(call, first, 'awaiting_input')
  expect((await call('POST', `/instances/${paused}/resume`)).status).toBe(200)
  await waitsAt(call, paused, 1)
  expect((await recordOf(call, paused)).status).toBe('running')
  expect((await call('POST', `/instances/${paused}/pause`)).status).toBe(200)
  await reaches(call, paused, 'paused')
  expect((await recordOf(call, paused)).queue).toBe(null)

  expect((await call('POST', `/instances/${paused}/resume`)).status).toBe(200)
  await waitsAt(call, paused, 1)
  await answer(call, first)
  await reaches(call, paused, 'completed')
  expect(launchesOf(paused)).toBe(2)
  const types = eventsOf(place.home, paused).map(({ event }) => event.event_type)
  expect(types.filter((type) => type === 'platform.instance.dequeued').length).toBe(1)
  soundInstance(place.home, paused)
})

test('max_running of a manifest binds background hosts without a server; --timeout counts the wait and says so (R70)', {
  timeout: 90_000,
}, async () => {
  const detached = async () =>
    documentIn((await place.run('run', 'single', '-i', 'do=ask', '--detach', '--json')).stdout)['instance_id'] as string
  const first = await detached()
  await until(place.home, first, ({ status }) => status === 'awaiting_input')
  // Time enough for its host to look at the queue, also on a crowded machine: it is what is told when the time is over.
  const left = await place.run('run', 'single', '-i', 'do=work', '--timeout', '4s')
  expect(left.code).toBe(124)
  expect(left.stderr).toContain(
    'It waits in the queue, place 1: at most 1 instance of this resolver runs at the same time.',
  )
  const other = await place.run('run', 'any', '-i', 'do=work')
  expect(other).toMatchObject({ code: 0, stdout: 'done\n' })
  const waiting = /single ([0-9a-f]{12})/.exec(left.stderr)?.[1] ?? ''
  expect(storyOf(place.home, waiting).status).toBe('created')
  expect((await place.run('instance', 'answer', first, 'gate')).code).toBe(0)
  expect((await place.run('instance', 'wait', waiting, '--timeout', '20s')).code).toBe(0)
})

test('RESOLVE_MAX_RUNNING binds hosts of "run", and a wrong value is refused (R70)', { timeout: 90_000 }, async () => {
  const env = { RESOLVE_MAX_RUNNING: '1' }
  const first = documentIn((await place.with({ env }, 'run', 'any', '-i', 'do=ask', '--detach', '--json')).stdout)[
    'instance_id'
  ] as string
  await until(place.home, first, ({ status }) => status === 'awaiting_input')
  const second = await place.with({ env }, 'run', 'any', '-i', 'do=work', '--timeout', '4s')
  expect(second.stderr).toContain('It waits in the queue, place 1: at most 1 instance runs at the same time here.')
  for (const wrong of ['0', '-1', 'many', '1.5', '99999']) {
    expect(await place.with({ env: { RESOLVE_MAX_RUNNING: wrong } }, 'instance', 'list')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('RESOLVE_MAX_RUNNING must be a whole number from 1 to 10000.'),
    })
  }
})

test('a suspended process at the head of the queue does not stop it: others go before, and it starts when it goes on and has room (R70)', {
  timeout: 120_000,
}, async () => {
  const [alive, suspended] = [await start(['--max-running', '1']), await start(['--max-running', '1'])]
  const [call, other] = [client(alive.url, token), client(suspended.url, token)]
  const first = await create(call, 'ask')
  await reaches(call, first, 'awaiting_input')
  const second = await create(other, 'work')
  await waitsAt(call, second, 1)
  const third = await create(call, 'ask')
  await waitsAt(call, third, 2)
  suspended.kill('SIGSTOP')
  await answer(call, first)
  await reaches(call, third, 'awaiting_input')
  expect(storyOf(place.home, second).status).toBe('created')
  suspended.kill('SIGCONT')
  // It has looked since: what comes after it has told its place, and the place of the third is taken.
  const fourth = await create(other, 'work')
  await waitsAt(other, fourth, 2)
  expect(storyOf(place.home, second).status).toBe('created')
  await answer(call, third)
  for (const id of [second, fourth]) await reaches(call, id, 'completed')
  const all = [first, second, third, fourth]
  expect(mostAtOnce(all)).toBe(1)
  expect(all.map(launchesOf)).toEqual([1, 1, 1, 1])
  for (const id of all) soundInstance(place.home, id)
})

for (const step of ['queue.told', 'queue.locked', 'queue.granted', 'launch.spawned'] as const) {
  test(`a server killed at ${step} loses no place and starts nothing twice (R70)`, { timeout: 90_000 }, async () => {
    const bound = ['--max-running', '1']
    const first = await start(bound, { RESOLVE_FAILPOINTS: `${step}@2=kill` })
    const before = client(first.url, token)
    const ids: string[] = []
    for (let n = 0; n < 4; n += 1) {
      const made = await create(before, 'work').catch(() => undefined)
      if (made !== undefined) ids.push(made)
    }
    expect(ids.length).toBeGreaterThan(0)
    const second = await start(bound)
    expect(await first.ended).toBe('SIGKILL')
    const call = client(second.url, token)
    const { body } = await call('GET', '/instances')
    const all = (body as InstanceRecord[]).map(({ instance_id }) => instance_id)
    for (const id of all) await reaches(call, id, 'completed')
    expect(mostAtOnce(all)).toBe(1)
    for (const id of all) {
      expect(launchesOf(id)).toBe(1)
      soundInstance(place.home, id)
    }
  })
}

test('a place held by an instance without a host is not lost: the next waiting host adopts it (R70)', {
  timeout: 90_000,
}, async () => {
  const env = { RESOLVE_MAX_RUNNING: '1' }
  const first = place.start(env, 'run', 'any', '-i', 'do=hold', '--json')
  await expect
    .poll(
      async () => documentIn((await place.run('instance', 'list', '--json')).stdout)['instances'] as InstanceRecord[],
      {
        timeout: 15_000,
      },
    )
    .toMatchObject([{ status: 'running' }])
  first.kill('SIGKILL')
  await first.ended
  writeFileSync(goOn, '')
  expect(await place.with({ env }, 'run', 'any', '-i', 'do=work')).toMatchObject({ code: 0, stdout: 'done\n' })
})

test('--keep removes what ended long ago, tells it in the log, and never touches live or paused ones (R71)', {
  timeout: 90_000,
}, async () => {
  const serve = await start(['--keep', '1s'])
  const call = client(serve.url, token)
  const [asks, paused, ended] = [await create(call, 'ask'), await create(call, 'pause'), await create(call, 'work')]
  await reaches(call, asks, 'awaiting_input')
  await reaches(call, paused, 'paused')
  await expect.poll(async () => (await call('GET', `/instances/${ended}`)).status).toBe(404)
  await serve.said(`Removed 1 ended instance (--keep): ${ended}.`)
  expect((await recordOf(call, asks)).status).toBe('awaiting_input')
  expect((await recordOf(call, paused)).status).toBe('paused')
  const refused = await startServe(place.home, ['--keep', 'soon']).catch((error: Error) => error)
  expect(String(refused)).toContain('is not a duration')
})
