/** Canary secrets through a whole life: nowhere in what is handed out, whatever a resolver does with them (R43, R45; threats B9; reliability I9). */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { openLocalPlatform } from '../../src/core/platform/local/local.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { explain } from '../../src/terminal/pages/explain.ts'
import { created, eventsOf, ranToEnd, storyOf, temporaryHome, until } from '../support/instances.ts'
import { checkInvariants } from '../support/invariants.ts'
import { type PlainResolver, plainResolver } from '../support/plain-resolver.ts'

const LLM = 'sk-canary-4f1b2c"x\\y/ü&=='
const GIT = 'ghp_canaryCANARY0123456789abcdef'
const ACTOR = { actor: 'tester', via: 'cli' } as const
const NAMES = ['RESOLVE_LLM_PROVIDER_API_KEY', 'RESOLVE_GIT_HOST_TOKEN', 'RESOLVE_GIT_BASE_URL'] as const
const VALUES = [LLM, GIT, 'https://bot:canary-password@git.example.org']
const SECRETS = [LLM, GIT, 'canary-password']

let home: string
beforeAll(() => {
  home = temporaryHome()
})
afterAll(() => forgetSecrets())

function knowSecrets(): void {
  for (const [at, name] of NAMES.entries()) process.env[name] = VALUES[at]
}

function forgetSecrets(): void {
  for (const name of NAMES) delete process.env[name]
}

/** Runs it with the secrets, then reads everything a consumer can have in a process that has no idea of them. */
async function handedOut(resolver: PlainResolver): Promise<{ id: string; all: string }> {
  knowSecrets()
  const { id } = await ranToEnd(home, resolver)
  forgetSecrets()
  return { id, all: await everythingOf(id) }
}

async function everythingOf(id: string): Promise<string> {
  const platform = await openLocalPlatform({ home, builtins: join(import.meta.dirname, '../../src/resolvers') })
  const archive: Buffer[] = []
  for await (const chunk of await platform.export(id)) archive.push(chunk)
  const parts = [
    JSON.stringify(await explain(platform, id, Date.now())),
    JSON.stringify(await platform.record(id)),
    JSON.stringify(await platform.state(id)),
    await platform.stderrTail(id),
    gunzipSync(Buffer.concat(archive)).toString('utf8'),
    readFileSync(instancePaths(home, id).journal, 'utf8'),
  ]
  await platform.close()
  return parts.join('\n')
}

function expectNone(text: string): void {
  for (const secret of SECRETS) {
    const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]
    for (const form of forms) expect(text).not.toContain(form)
    const inner = Buffer.from(secret).toString('base64').slice(0, -4)
    expect(text).not.toContain(inner)
  }
}

const TELLS = `const { credentials, git_provider, sub_container_token } = me.config
  const all = [credentials.llm_provider_api_key, credentials.git_host_token, git_provider.base_url]`

test('events, state, result and stderr of a run that writes its secrets in every encoding hold none of them', async () => {
  const { id, all } = await handedOut(
    plainResolver(`${TELLS}
      for (const one of all) {
        me.emit('plain.told', { one, json: JSON.stringify({ one }), url: encodeURIComponent(one), b64: Buffer.from('x' + one).toString('base64'), [one]: 1 })
        me.emit('plain.' + one, {})
        console.error('I was told ' + one)
      }
      me.fs.appendFileSync(root + '/events.jsonl', JSON.stringify({ schema_version: 1, event_type: 'plain.odd', instance_id: me.config.instance_id, data: { a: 'LATER' }, timestamp: new Date().toISOString() }).replace('LATER', all[1].replace('g', '\\\\u0067')) + '\\n')
      me.emit('plain.clean', { kept: 'as it is' })
      me.write('state.json', JSON.stringify({ phase: 'x', token: all[0] }))
      me.finish({ status: 'completed', output: 'done with ' + all.join(' ') })`),
  )
  expectNone(all)
  expect(storyOf(home, id).output).toContain('done with [redacted] [redacted] https://bot:[redacted]@git.example.org')
  const told = eventsOf(home, id).filter(({ event }) => event.event_type === 'plain.told')
  expect(told[0]?.event.data).toMatchObject({ one: '[redacted]', url: '[redacted]', '[redacted]': 1 })
  const odd = eventsOf(home, id).find(({ event }) => event.event_type === 'plain.odd')
  expect(odd?.event.data).toEqual({ a: '[redacted]' })
  expect(all).toContain('I was told [redacted]')
})

test('a line without a secret is journaled byte for byte, next to one that is redacted (I1)', async () => {
  knowSecrets()
  const { id } = await ranToEnd(
    home,
    plainResolver(`${TELLS}
      me.emit('plain.one', { a: 1.50 })
      me.fs.appendFileSync(root + '/events.jsonl', '{ "schema_version":1, "timestamp":"2026-01-01T00:00:00Z",  "event_type":"plain.odd","instance_id":"' + me.config.instance_id + '","data":{"n":1.0,"n":1e2} }\\n')
      me.emit('plain.two', { all })
      me.emit('plain.three', {})
      me.finish({ status: 'completed' })`),
  )
  forgetSecrets()
  const source = readFileSync(join(instancePaths(home, id).project, '.resolve/events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
  const journaled = eventsOf(home, id).filter(({ event }) => event.event_type.startsWith('plain.'))
  expect(journaled.map(({ event }) => event.event_type)).toEqual(['plain.one', 'plain.odd', 'plain.two', 'plain.three'])
  const same = journaled.map(({ text }, at) => text === source[at])
  expect(same).toEqual([true, true, false, true])
  expect(checkInvariants({ home, id, secrets: SECRETS })).toEqual([])
  expect(checkInvariants({ home, id })).toMatchObject([{ id: 'I1' }])
  // The offsets are those of the source, redacted or not: a restart loses and doubles nothing.
  let end = 0
  const ends = source.map((line) => (end += Buffer.byteLength(line) + 1))
  expect(journaled.map(({ sourceEnd }) => sourceEnd)).toEqual(ends)
})

test('a crash that prints secrets on stderr is explained without them', async () => {
  const { id, all } = await handedOut(
    plainResolver(`${TELLS}
      console.error('x'.repeat(1990 - all[1].length) + all[1] + 'tail')
      throw new Error('Cannot log in with ' + all.join(', '))`),
  )
  expectNone(all)
  expect(storyOf(home, id)).toMatchObject({ status: 'failed', error: { code: 'worker_exited' } })
  expect(all).toContain('Cannot log in with [redacted]')
})

test('a worker that dies before it is ready and a refused question reveal no secret', async () => {
  const early = `me.on['resolver.initialize'] = ({ config }) => { console.error('bad key ' + config.credentials.llm_provider_api_key); process.exit(3) }`
  expectNone((await handedOut(plainResolver('', {}, early))).all)
  const asks = await handedOut(
    plainResolver(`${TELLS}
      me.ask('bad', 'for ' + all[0], { type: 'form', components: [{ type: all[1], id: 'b' }] })
      while (!me.fs.existsSync(root + '/input-requests/bad.error.json')) await sleep(20)
      me.finish({ status: 'failed', error: all[0] })`),
  )
  expectNone(asks.all)
  expect(asks.all).toContain('[redacted]')
})

test('answers of a live resolver, and state and stderr of a live run, hold no secret', async () => {
  knowSecrets()
  const setup = `me.on['resolver.getMessageTypes'] = () => { const k = me.config.credentials.git_host_token; return [{ name: 'note', label: k, description: 'with ' + k }] }`
  const id = await created(
    home,
    plainResolver(
      `${TELLS}
      console.error('told ' + all[1]); me.write('state.json', JSON.stringify({ token: all[1] }))
      me.ask('go', 'Use ' + all[1] + '?'); await me.stopped; me.finish({ status: 'cancelled' })`,
      {},
      setup,
    ),
  )
  const hosts = new HostProcess(home)
  await hosts.own(id)
  forgetSecrets()
  await until(home, id, (story) => story.status === 'awaiting_input')
  expect(await hosts.get(id)?.messageTypes()).toMatchObject([{ label: '[redacted]', description: 'with [redacted]' }])
  const all = await everythingOf(id)
  expectNone(all)
  expect(all).toContain('Use [redacted]?')
  expect(all).toContain('told [redacted]')
  // Another host, that was never told the secrets, finds them with the worker.
  await hosts.close()
  const next = new HostProcess(home)
  await next.own(id)
  next.get(id)?.stop('stop', 'enough', false)
  await next.over(id)
  await next.close()
  expectNone(await everythingOf(id))
})

test('an error of the resolver is passed on without its secrets', async () => {
  knowSecrets()
  const setup = `me.on['resolver.getMessageTypes'] = () => undefined
    process.stdin.on('data', (bytes) => { for (const l of String(bytes).split('\\n')) { try { const f = JSON.parse(l); if (f.method === 'resolver.getMessageTypes') print(JSON.stringify({ jsonrpc: '2.0', id: f.id, error: { code: 1, message: 'no way with ' + me.config.credentials.git_host_token } }) + '\\n') } catch {} } })`
  const id = await created(home, plainResolver(`await me.stopped; me.finish({ status: 'cancelled' })`, {}, setup))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.status === 'running')
  const host = hosts.get(id)
  await expect(host?.messageTypes()).rejects.toMatchObject({ code: 'resolver_refused' })
  const error = await host?.message('note', {}, ACTOR).catch((thrown: Error) => thrown)
  expect(JSON.stringify([(error as Error).message, (error as Error).stack, error])).toContain('no way with [redacted]')
  expectNone(
    `${(error as Error).message}${(error as Error).stack}${JSON.stringify(error)}${String((error as Error).cause)}`,
  )
  host?.stop('stop', 'enough', false)
  await hosts.over(id)
  await hosts.close()
  forgetSecrets()
})

test('data files keep their bytes, and a warning names those that hold a secret', async () => {
  knowSecrets()
  const { id } = await ranToEnd(
    home,
    plainResolver(`${TELLS}
      me.fs.mkdirSync(root + '/data/deep', { recursive: true })
      me.fs.writeFileSync(root + '/data/deep/leak.txt', 'x'.repeat(70000) + all[1] + 'y')
      me.fs.writeFileSync(root + '/data/fine.txt', 'nothing')
      me.finish({ status: 'completed' })`),
  )
  forgetSecrets()
  const warning = eventsOf(home, id).find(({ event }) => event.event_type === 'platform.watchdog.warning')
  expect(warning?.event.data).toEqual({ kind: 'secret_in_data', value: 1, limit: 0, paths: ['deep/leak.txt'] })
  const data = join(instancePaths(home, id).project, '.resolve/data/deep/leak.txt')
  expect(readFileSync(data, 'utf8')).toContain(GIT)
})

test('the host stores no secret outside the coordination directory: not in config, output, record or journal', async () => {
  const { id } = await handedOut(
    plainResolver(`${TELLS}
    print(JSON.stringify({ jsonrpc: '2.0', method: 'resolver.log', params: { level: 'info', message: all.join(' ') } }) + '\\n')
    print('noise ' + all[1] + '\\n'); console.error(all[0]); me.emit('plain.x', { all }); me.finish({ status: 'completed', output: all[0] })`),
  )
  const { root, project } = instancePaths(home, id)
  const ours = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => {
    const path = join(root, name)
    return statSync(path).isFile() && !path.startsWith(join(project, '.resolve', 'events'))
  })
  expect(ours).toEqual(
    expect.arrayContaining(['journal', 'record.json', 'stderr', 'stdout', 'project/.resolve/config.json']),
  )
  for (const name of ours) expectNone(readFileSync(join(root, name), 'utf8'))
  const config = statSync(join(project, '.resolve/config.json'))
  expect(config.mode & 0o777).toBe(0o600)
})
