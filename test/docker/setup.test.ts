/** The setup of a container as consumers meet it (R48): the instance comes first, its setup is shown, ended and taken over. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FAILPOINTS } from '../../src/core/failpoints.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { homeLabel } from '../../src/core/worker/engine/container-places.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { startServe } from '../commands/serving.ts'
import { describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { eventsOf } from '../support/instances.ts'
import { type PlainResolver, plainResolver } from '../support/plain-resolver.ts'
import { type Served, serve } from '../support/served.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

const DONE = `me.finish({ status: 'completed', output: String(process.env.DEBIAN_FRONTEND) })`
/** Accepts only the name Ada. */
const FORM = `me.on['resolver.getInstantiationSchema'] = () => ({ type: 'form', components: [
  { type: 'text', id: 'name', checks: [
    { condition: { call: 'regex', args: { value: { path: '/name' }, pattern: '^Ada' } }, message: 'Only Ada.' },
    { condition: { call: 'length', args: { value: { path: '/name' }, min: 3, max: 9 } }, message: 'Three letters or more.' } ] } ] })`

let cli: Home
let made = 0
beforeEach(() => {
  cli = newHome()
})
afterEach(async () => {
  await cli.end()
  await removeContainersOf(cli.home)
})

/** A resolver that is not prepared: its setup is its own. */
function fresh(setup_commands: string[], { behaviour = DONE, form = '' } = {}): PlainResolver {
  made += 1
  const stamp = `: ${process.pid} ${Date.now()} ${made}`
  const resolver = plainResolver(
    behaviour,
    { name: `fresh-${made}`, container: { setup_commands: [...setup_commands, stamp] } },
    form,
  )
  chmodSync(resolver.dir, 0o755)
  return resolver
}

async function setUps(): Promise<string[]> {
  const label = ['--filter', `label=resolve.home=${homeLabel(cli.home)}`, '--filter', 'label=resolve.role=setup']
  return (await docker('ps', '-aq', ...label)).split('\n').filter(Boolean)
}

async function noneLeft(): Promise<void> {
  const label = ['--filter', `label=resolve.home=${homeLabel(cli.home)}`]
  expect(await docker('ps', '-aq', ...label)).toBe('')
}

const typesOf = (id: string) => eventsOf(cli.home, id).map(({ event }) => event.event_type)
const dataOf = (id: string, type: string) =>
  eventsOf(cli.home, id)
    .filter(({ event }) => event.event_type === type)
    .map(({ event }) => event.data)

/** Over HTTP, as any client. */
function client(served: Pick<Served, 'url'>, token: string) {
  const ask = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${served.url}/api${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
  }
  const until = async (id: string, ok: (record: { status: string }) => boolean) => {
    for (;;) {
      const { body } = await ask('GET', `/instances/${id}`)
      if (ok(body)) return body
      if (['completed', 'failed', 'cancelled'].includes(body.status)) throw new Error(JSON.stringify(body))
      await sleep(50)
    }
  }
  const ended = (id: string) => until(id, ({ status }) => ['completed', 'failed', 'cancelled'].includes(status))
  /** The events of an instance as they arrive. */
  async function* follow(id: string): AsyncGenerator<{ event_type: string; data: Record<string, unknown> }> {
    const response = await fetch(`${served.url}/api/instances/${id}/events`, {
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
    })
    let rest = ''
    for await (const chunk of response.body ?? []) {
      const lines = (rest + Buffer.from(chunk).toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line.startsWith('data: {')) yield JSON.parse(line.slice('data: '.length))
    }
  }
  return { ask, until, ended, follow }
}

async function served(resolver: PlainResolver, work: (api: ReturnType<typeof client>) => Promise<void>): Promise<void> {
  expect((await cli.run('resolver', 'add', resolver.dir, '--no-prepare')).code).toBe(0)
  const server = await serve(cli.home)
  try {
    await work(client(server, await server.token()))
  } finally {
    await server.close()
  }
}

describeWithDocker('the setup of a container, over HTTP', { timeout: 90_000 }, () => {
  test('POST answers 202 with the new instance before its setup has run, and starting is where it runs (R48)', async () => {
    const waits = 'echo words; while [ ! -e /go-on ]; do sleep 0.1; done'
    const resolver = fresh(['echo one', waits, 'true'])
    await served(resolver, async ({ ask, until, ended }) => {
      const { status, body } = await ask('POST', '/instances', { resolver: resolver.name, input: {} })
      expect(status).toBe(202)
      expect(body).toMatchObject({ status: 'created', error: null })
      const id = body.instance_id as string
      await until(id, (record) => record.status === 'starting')
      // What a step says is told while it runs.
      const spoken = () => dataOf(id, 'platform.setup.progress').some(({ output }) => output === 'words')
      await expect.poll(spoken).toBe(true)
      await docker('exec', (await setUps())[0] as string, 'touch', '/go-on')
      // DEBIAN_FRONTEND is for setup alone.
      expect(await ended(id)).toMatchObject({ status: 'completed', output: 'undefined' })
      const types = typesOf(id).filter((type) => /setup|status|launched/.test(type))
      expect(types.filter((type, at) => type !== types[at - 1])).toEqual([
        'platform.instance.status_changed',
        'platform.setup.starting',
        'platform.setup.progress',
        'platform.setup.completed',
        'platform.worker.launched',
        'platform.instance.status_changed',
      ])
      const steps = dataOf(id, 'platform.setup.progress')
      expect(steps[0]).toEqual({ step: 1, total: 4, description: 'echo one' })
      expect(steps).toContainEqual({ step: 2, total: 4, description: waits, output: 'words' })
      expect(steps.filter((step) => step['exit_code'] === 0).map((step) => step['step'])).toEqual([1, 2, 3, 4])
    })
    await noneLeft()
  })

  test('a setup of 20 s: POST is answered before it begins, the events of its steps arrive while it runs (R48, R48-SHOWN)', async () => {
    const resolver = fresh(['for n in 1 2 3 4 5; do echo part $n; sleep 4; done'])
    await served(resolver, async ({ ask, ended, follow }) => {
      const { status, body } = await ask('POST', '/instances', { resolver: resolver.name, input: {} })
      expect([status, body.status]).toEqual([202, 'created'])
      const id = body.instance_id as string
      const parts: unknown[] = []
      for await (const { event_type: type, data } of follow(id)) {
        if (type === 'platform.setup.progress' && 'output' in data) {
          parts.push(data['output'])
          // The news of a step comes while the step still runs.
          if (!('exit_code' in data)) expect((await ask('GET', `/instances/${id}`)).body.status).toBe('starting')
        }
        if (type === 'platform.setup.completed') {
          expect(data['duration_s']).toBeGreaterThan(19)
          break
        }
      }
      expect(new Set(parts)).toEqual(new Set([1, 2, 3, 4, 5].map((n) => `part ${n}`)))
      expect(await ended(id)).toMatchObject({ status: 'completed' })
    })
  })

  test('a setup that fails ends the instance with the step and the last output; there is no 502 (R48, R17-DOCKER)', async () => {
    const resolver = fresh(['true', 'echo the reason; exit 9'])
    await served(resolver, async ({ ask, ended }) => {
      const { status, body } = await ask('POST', '/instances', { resolver: resolver.name, input: {} })
      expect(status).toBe(202)
      const record = await ended(body.instance_id)
      expect(record).toMatchObject({ status: 'failed', error: { code: 'setup_failed' } })
      expect(record.error.detail).toBe('Setup step 2 of 3 ended with exit code 9: echo the reason; exit 9\nthe reason')
      expect(dataOf(body.instance_id, 'platform.setup.failed')).toMatchObject([
        { cause: 'setup_commands', stage: '2/3' },
      ])
    })
    await noneLeft()
  })

  test('an input is checked after the setup where the resolver was not prepared, with all messages; later before (R48-CHECK, R10)', async () => {
    const resolver = fresh([], { form: FORM })
    await served(resolver, async ({ ask, ended }) => {
      const create = (name: string) => ask('POST', '/instances', { resolver: resolver.name, input: { name } })
      const first = await create('x')
      expect(first.status).toBe(202)
      const record = await ended(first.body.instance_id)
      expect(record).toMatchObject({
        status: 'failed',
        error: { code: 'form_invalid', detail: 'Only Ada.\nThree letters or more.' },
        input: { name: 'x' },
      })
      expect(typesOf(first.body.instance_id)).not.toContain('platform.worker.launched')
      const second = await create('x')
      expect(second.status).toBe(422)
      expect(second.body).toEqual({ detail: 'Validation failed', errors: ['Only Ada.', 'Three letters or more.'] })
      const third = await create('Ada')
      expect(await ended(third.body.instance_id)).toMatchObject({ status: 'completed' })
    })
  })

  test('a secret field of an input that is checked after the setup is stored sealed, and reaches the resolver (R55, R48-CHECK)', async () => {
    const form = `me.on['resolver.getInstantiationSchema'] = () => ({ type: 'form', components: [
      { type: 'text', id: 'name' }, { type: 'text', id: 'key', secret: true } ] })`
    const behaviour = `me.finish({ status: 'completed', output: me.params.name + me.params.key.length })`
    const resolver = fresh(['true'], { form, behaviour })
    await served(resolver, async ({ ask, ended }) => {
      const input = { name: 'Ada', key: 'canary-of-a-secret' }
      const { status, body } = await ask('POST', '/instances', { resolver: resolver.name, input })
      expect(status).toBe(202)
      const record = await ended(body.instance_id)
      expect(record).toMatchObject({ status: 'completed', output: 'Ada18', input: { name: 'Ada' } })
      const { root } = instancePaths(cli.home, body.instance_id)
      for (const { parentPath, name } of readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      ))
        expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain('canary-of')
    })
  })

  test('what container_setup adds for an input is done after its checks, and counted on (R44, R48)', async () => {
    const added = { setup_commands: ['touch /opt/added'], environment: { GREETING: 'hello' } }
    const form = `me.on['resolver.getWorkspaceSpec'] = () => ({ container_setup: ${JSON.stringify(added)} })`
    const behaviour = `me.finish({ status: 'completed', output: process.env.GREETING + fs.existsSync('/opt/added') })`
    const resolver = fresh(['true'], { form, behaviour })
    await served(resolver, async ({ ask, ended }) => {
      const { body } = await ask('POST', '/instances', { resolver: resolver.name, input: {} })
      expect(await ended(body.instance_id)).toMatchObject({ status: 'completed', output: 'hellotrue' })
      const steps = dataOf(body.instance_id, 'platform.setup.progress').filter((step) => 'exit_code' in step)
      expect(steps.map(({ step, total }) => [step, total])).toEqual([[1, 2], [2, 2], [3, 3]]) // biome-ignore format: pairs
    })
  })

  test('a mount or a container_setup that is refused is written with its cause (R17-DOCKER)', async () => {
    const wrong = { setup_commands: 'not a list' }
    const form = `me.on['resolver.getWorkspaceSpec'] = () => ({ container_setup: ${JSON.stringify(wrong)} })`
    const malformed = fresh([], { form })
    await served(malformed, async ({ ask, ended }) => {
      const { body } = await ask('POST', '/instances', { resolver: malformed.name, input: {} })
      expect(await ended(body.instance_id)).toMatchObject({ status: 'failed', error: { code: 'setup_malformed' } })
      expect(dataOf(body.instance_id, 'platform.setup.failed')).toMatchObject([{ cause: 'manifest_parse' }])
    })
    const mounts = plainResolver(DONE, { name: 'mounts', container: { volume_mounts: ['/etc:/host'] } })
    chmodSync(mounts.dir, 0o755)
    await served(mounts, async ({ ask, ended }) => {
      const { body } = await ask('POST', '/instances', { resolver: mounts.name, input: {} })
      expect(await ended(body.instance_id)).toMatchObject({ status: 'failed', error: { code: 'mount_refused' } })
      expect(dataOf(body.instance_id, 'platform.setup.failed')).toMatchObject([{ cause: 'container_init' }])
    })
  })

  test('a refused mount names the variable that would allow it, in the run and in explain', async () => {
    const source = realpathSync(mkdtempSync(join(tmpdir(), 'resolve-mount-')))
    const resolver = plainResolver(DONE, { name: 'mounts', container: { volume_mounts: [`${source}:/models`] } })
    chmodSync(resolver.dir, 0o755)
    try {
      expect((await cli.run('resolver', 'add', resolver.dir, '--no-prepare')).code).toBe(0)
      const ran = await cli.run('run', 'mounts', '--json')
      const { instance_id: id } = JSON.parse(ran.stdout) as { instance_id: string }
      const named = `RESOLVE_VOLUME_ALLOW=${source} would allow it`
      expect(JSON.parse(ran.stdout)).toMatchObject({ error: { detail: expect.stringContaining(named) } })
      expect((await cli.run('run', 'mounts')).stderr).toContain(named)
      expect((await cli.run('instance', 'explain', id)).stdout).toContain(named)
      const allowed = await cli.with({ env: { RESOLVE_VOLUME_ALLOW: source } }, 'run', 'mounts')
      expect(allowed.code, allowed.stderr).toBe(0)
    } finally {
      rmSync(source, { recursive: true })
    }
  })

  test('GET schema waits for the setup, then answers 503 with Retry-After; callers share one preparation (R48-SCHEMA, R48-PREPARE)', async () => {
    const resolver = fresh(['while [ ! -e /go-on ]; do sleep 0.1; done'], { form: FORM })
    await served(resolver, async ({ ask }) => {
      const askFor = (waitS: number) => ask('GET', `/resolvers/${resolver.name}/schema?wait=${waitS}`)
      const early = await Promise.all([1, 2, 3].map(() => askFor(2)))
      for (const { status, headers, body } of early) {
        expect(status).toBe(503)
        expect(headers.get('retry-after')).toMatch(/^\d+$/)
        expect(body).toMatchObject({ code: 'resolver_preparing' })
      }
      // A busy engine may need longer for the container.
      await expect.poll(async () => (await askFor(1)).body.detail).toContain('setup step 1 of 2')
      expect(await setUps()).toHaveLength(1)
      await docker('exec', (await setUps())[0] as string, 'touch', '/go-on')
      const late = await ask('GET', `/resolvers/${resolver.name}/schema`)
      expect(late).toMatchObject({ status: 200, body: { type: 'form' } })
      expect(await setUps()).toEqual([])
    })
  })

  test('a field that became secret is refused after the setup too: its value leaves the file of schedules (R48, R72)', async () => {
    const form = (secret: string) =>
      `me.on['resolver.getInstantiationSchema'] = () => ({ type: 'form', components: [{ type: 'text', id: 'key'${secret} }] })`
    const resolver = fresh([], { form: form('') })
    const { name, dir } = resolver
    expect((await cli.run('resolver', 'add', dir)).code).toBe(0)
    const every = ['schedule', 'add', '* * * * *', name, '-i', 'key=canary-5521', '--timezone', 'UTC']
    expect(await cli.run(...every)).toMatchObject({ code: 0 })
    // A later version, whose setup is still to do when it is due.
    const next = fresh(['while [ ! -e /go-on ]; do sleep 0.1; done'], { form: form(', secret: true') })
    const manifest = JSON.parse(readFileSync(join(next.dir, 'manifest.json'), 'utf8')) as Record<string, unknown>
    writeFileSync(join(dir, 'program.mjs'), readFileSync(join(next.dir, 'program.mjs')))
    writeFileSync(join(dir, 'manifest.json'), JSON.stringify({ ...manifest, name }))
    const path = join(cli.home, 'schedules.json')
    const file = JSON.parse(readFileSync(path, 'utf8')) as { schedules: Record<string, unknown>[] }
    const since = new Date(Date.now() - 90_000).toISOString()
    writeFileSync(path, JSON.stringify({ ...file, schedules: [{ ...file.schedules[0], handled_until: since }] }))
    const server = await startServe(cli.home, ['--no-ui'])
    try {
      const { ask, until, ended } = client(server, (await cli.run('token', 'create', '--scope', 'admin')).stdout.trim())
      const made = async () => (await ask('GET', '/instances')).body[0]?.instance_id as string | undefined
      await expect.poll(made, { timeout: 30_000 }).toBeDefined()
      const id = (await made()) as string
      await until(id, (record) => record.status === 'starting')
      expect(readFileSync(path, 'utf8')).toContain('canary-5521')
      const goOn = async () => {
        for (const setUp of await setUps()) await docker('exec', setUp, 'touch', '/go-on').catch(() => {})
        return ((await ask('GET', `/instances/${id}`)).body as { status: string }).status
      }
      await expect.poll(goOn, { timeout: 60_000, interval: 500 }).toBe('failed')
      expect(await ended(id)).toMatchObject({ error: { code: 'schedule_secret' }, input: {} })
      await expect.poll(() => readFileSync(path, 'utf8'), { timeout: 30_000 }).not.toContain('canary-5521')
      expect((await ask('GET', '/schedules')).body).toMatchObject([
        {
          paused: true,
          input: {},
          last: { outcome: 'failed', instance_id: id, detail: expect.stringContaining('"key"') },
        },
      ])
      expect(readFileSync(instancePaths(cli.home, id).journal, 'utf8')).not.toContain('canary-5521')
    } finally {
      server.kill('SIGTERM')
      await server.ended
    }
  })

  test('a stop during setup ends the container of the setup (R20, R48)', async () => {
    const resolver = fresh(['sleep 600'])
    await served(resolver, async ({ ask, until, ended }) => {
      const { body } = await ask('POST', '/instances', { resolver: resolver.name, input: {} })
      const id = body.instance_id as string
      await until(id, (record) => record.status === 'starting')
      while (dataOf(id, 'platform.setup.progress').length === 0) await sleep(50)
      expect(await setUps()).toHaveLength(1)
      await ask('POST', `/instances/${id}/stop`, { reason: 'enough' })
      expect(await ended(id)).toMatchObject({ status: 'cancelled' })
    })
    await noneLeft()
  })
})

describeWithDocker('the setup of a container, at the command line', { timeout: 90_000 }, () => {
  const added = async (resolver: PlainResolver) =>
    expect((await cli.run('resolver', 'add', resolver.dir, '--no-prepare')).code).toBe(0)
  const oneId = async () =>
    JSON.parse((await cli.run('instance', 'list', '--json')).stdout).instances[0].instance_id as string

  test('resolver add prepares, and shows it; the first run finds it done (R48-PREPARE, R48-SHOWN)', async () => {
    const resolver = fresh(['echo one', 'echo two'])
    const add = await cli.run('resolver', 'add', resolver.dir)
    expect(add).toMatchObject({ code: 0 })
    expect(add.stderr).toContain('setup 1/3: echo one (done)')
    expect(add.stderr).toContain('setup 3/3')
    expect((await cli.run('run', resolver.name)).code).toBe(0)
    expect(dataOf(await oneId(), 'platform.setup.completed')).toMatchObject([{ cached: true }])
    const failing = fresh(['echo the reason; exit 3'])
    const refused = await cli.run('resolver', 'add', failing.dir)
    expect(refused).toMatchObject({ code: 10 })
    expect(refused.stderr).toContain('the reason')
    await noneLeft()
  })

  // verifies: R52
  test('what a resolver in a container tells of itself is compared with its manifest after its setup, at add and at update', async () => {
    const line = JSON.stringify({ jsonrpc: '2.0', method: 'resolver.identity', params: { version: '1.0.0' } })
    const form = `me.on['resolver.getInstantiationSchema'] = () => { print(${JSON.stringify(`${line}\n`)}); return null }`
    const resolver = fresh(['echo one'], { form })
    const manifest = join(resolver.dir, 'manifest.json')
    const written = readFileSync(manifest, 'utf8')
    writeFileSync(manifest, written.replace('1.0.0', '2.0.0'))
    const said = 'version is "1.0.0", but its manifest says "2.0.0"'
    const refused = await cli.run('resolver', 'add', resolver.dir)
    expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining(said)])
    expect(refused.stderr).toContain('setup 1/2: echo one (done)')
    expect((await cli.run('resolver', 'show', resolver.name)).code).toBe(6)
    writeFileSync(manifest, written)
    expect((await cli.run('resolver', 'add', resolver.dir)).code).toBe(0)
    writeFileSync(manifest, written.replace('1.0.0', '2.0.0'))
    const kept = await cli.run('resolver', 'update')
    expect([kept.code, kept.stderr]).toEqual([5, expect.stringContaining(said)])
    await noneLeft()
  })

  test('with --json and --jsonl the steps of a setup are told while it runs (R48-SHOWN)', async () => {
    const resolver = fresh(['echo words; while [ ! -e /go-on ]; do sleep 0.1; done'])
    await added(resolver)
    const goOn = async () => await docker('exec', (await setUps())[0] as string, 'touch', '/go-on')
    const run = cli.start({}, 'run', resolver.name, '--json')
    await run.said('setup 1/2: echo words')
    await run.said('| words')
    await goOn()
    const { code, stdout } = await run.ended
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed' })
    const other = fresh(['echo words; while [ ! -e /go-on ]; do sleep 0.1; done'])
    await added(other)
    const lines = cli.start({}, 'run', other.name, '--jsonl')
    await lines.said('"output":"words"')
    await goOn()
    const types = (await lines.ended).stdout
      .trim()
      .split('\n')
      .map((text) => JSON.parse(text).event_type)
    expect(types).toContain('platform.setup.completed')
  })

  test('run shows the setup as it runs, and keeps a failed one as an instance (R48-SHOWN, R48)', async () => {
    const resolver = fresh(['echo words; sleep 3', 'echo the reason; exit 9'])
    await added(resolver)
    const { code, stderr } = await cli.run('run', resolver.name)
    expect(code).toBe(1)
    expect(stderr).toContain('setup 1/3: echo words; sleep 3 | words')
    expect(stderr).toContain('setup failed at 2/3')
    const shown = JSON.parse((await cli.run('instance', 'show', await oneId(), '--json')).stdout)
    expect(shown).toMatchObject({
      status: 'failed',
      error: { code: 'setup_failed' },
      setup: { state: 'failed', step: 2, total: 3, output: 'the reason' },
    })
  })

  test('--timeout counts the setup; a stop then ends it (R48-SHOWN, R20)', async () => {
    const resolver = fresh(['sleep 600'])
    await added(resolver)
    const run = await cli.run('run', resolver.name, '--timeout', '8s', '--json')
    expect(run.code).toBe(124)
    expect(JSON.parse(run.stdout)).toMatchObject({ status: 'starting', setup: { state: 'running', step: 1 } })
    expect(await setUps()).toHaveLength(1)
    expect((await cli.run('instance', 'stop', '@last')).code).toBe(0)
    expect((await cli.run('instance', 'wait', '@last')).code).toBe(3)
    await noneLeft()
  })

  test('a value of -i is fitted to the form, so the setup comes first: it is shown, and a signal ends it (R48-SHOWN)', async () => {
    const resolver = fresh(['echo words; sleep 600'], { form: FORM })
    await added(resolver)
    const run = cli.start({}, 'run', resolver.name, '-i', 'name=Ada')
    await run.said('| words')
    run.kill('SIGINT')
    expect((await run.ended).code).toBe(130)
    await noneLeft()
    const late = await cli.run('run', resolver.name, '-i', 'name=Ada', '--timeout', '2s')
    expect(late.code).toBe(124)
    await noneLeft()
    expect(JSON.parse((await cli.run('instance', 'list', '--json')).stdout).instances).toEqual([])
  })

  test('a signal in CI stops the instance during its setup (R48-SHOWN, R20)', async () => {
    const resolver = fresh(['echo words; sleep 600'])
    await added(resolver)
    const run = cli.start({ CI: '1' }, 'run', resolver.name)
    await run.said('| words')
    run.kill('SIGINT')
    expect((await run.ended).code).toBe(130)
    expect((await cli.run('instance', 'wait', '@last')).code).toBe(3)
    await noneLeft()
  })

  test('a host killed during setup: the next one goes on with the same container, and none is left (R48, reliability F1)', async () => {
    const resolver = fresh(['echo words; while [ ! -e /go-on ]; do sleep 0.1; done', 'true'])
    await added(resolver)
    const run = cli.start({}, 'run', resolver.name)
    await run.said('| words')
    run.kill('SIGKILL')
    await run.ended
    const [container = ''] = await setUps()
    const watch = cli.start({}, 'instance', 'watch', '@last')
    await watch.said('setup 1/3')
    expect(await setUps()).toEqual([container])
    await docker('exec', container, 'touch', '/go-on')
    expect((await watch.ended).code).toBe(0)
    expect(dataOf(await oneId(), 'platform.setup.completed')).toMatchObject([{ total: 3, cached: false }])
    await noneLeft()
  })

  test('a host killed during setup, then a stop: no container is left (R20, R48)', async () => {
    const resolver = fresh(['echo words; sleep 600'])
    await added(resolver)
    const run = cli.start({}, 'run', resolver.name)
    await run.said('| words')
    run.kill('SIGKILL')
    await run.ended
    expect((await cli.run('instance', 'stop', '@last')).code).toBe(0)
    expect((await cli.run('instance', 'wait', '@last')).code).toBe(3)
    await noneLeft()
  })

  test.for(FAILPOINTS.filter((name) => name.startsWith('setup.')))(
    'a host killed at %s: the next one brings the instance to its end, and no container is left (R48, reliability F1)',
    async (name) => {
      const resolver = fresh(['echo words; touch /opt/made'], {
        behaviour: `me.finish({ status: 'completed', output: String(fs.existsSync('/opt/made')) })`,
      })
      await added(resolver)
      const run = await cli.with({ env: { RESOLVE_FAILPOINTS: `${name}=kill` } }, 'run', resolver.name)
      expect(run.code).toBeNull()
      const watch = await cli.run('instance', 'watch', '@last', '--json')
      expect(watch.code).toBe(0)
      expect(JSON.parse(watch.stdout)).toMatchObject({ status: 'completed', output: 'true' })
      await noneLeft()
    },
  )

  test('--executor local says that the setup of the manifest is not run', async () => {
    const resolver = fresh(['touch /never'])
    await added(resolver)
    const { code, stderr } = await cli.run('run', resolver.name, '--executor', 'local')
    expect(code).toBe(0)
    expect(stderr).toContain('the local executor does not run the setup of the manifest (2 steps)')
  })
})
