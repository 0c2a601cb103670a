/** The life of an instance, status by status: every row of the spec's table, R20–R28, with real processes. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { identify } from '../../src/core/files/process-identity.ts'
import { buildConfig } from '../../src/core/host/launch/config.ts'
import { lifetimeMs } from '../../src/core/host/lifecycle/lifetime.ts'
import { openCoordination } from '../../src/core/host/lifecycle/unusable-coordination.ts'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { LocalDriver } from '../../src/core/worker/local/local.ts'
import { created, eventsOf, ranToEnd, statusesOf, storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let home: string
beforeAll(() => {
  home = temporaryHome()
})

const ACTOR = { actor: 'tester', via: 'cli' } as const
const RESUMABLE = { supports_resume: true }

// verifies: S-STATE-01 S-MOVE-01
test('a created instance has its record and its journal, and neither a worker nor a config', async () => {
  const id = await created(home, plainResolver(`me.finish({ status: 'completed' })`))
  const { journal, worker, project } = instancePaths(home, id)
  expect(storyOf(home, id)).toMatchObject({ status: 'created', incarnation: 0 })
  expect([journal, worker, join(project, '.resolve/config.json')].map((path) => existsSync(path))).toEqual([
    ...[true, false, false],
  ])
})

// verifies: S-STATE-02 S-STATE-03 S-STATE-06 S-STATE-09 S-STATE-10 S-MOVE-01 S-MOVE-02 S-MOVE-03 S-MOVE-09 S-SVC-01 S-SVC-13 S-EVT-03 S-VER-02 S-RES-02 S-REC-03
test('created, starting, running, completed: the happy path, with its output (R14, R17)', async () => {
  const { id, story } = await ranToEnd(
    home,
    plainResolver(`me.emit('plain.hello', { a: 1 }); me.finish({ status: 'completed', output: 'done it' })`),
  )
  expect(story.history.map((change) => change.status)).toEqual(['created', 'starting', 'running', 'completed'])
  expect(story).toMatchObject({ output: 'done it', error: null })
  const types = eventsOf(home, id).map(({ event }) => event.event_type)
  expect(types).toEqual([
    'platform.instance.status_changed',
    'platform.worker.launched',
    'platform.worker.ready',
    'platform.instance.status_changed',
    'plain.hello',
    'platform.instance.status_changed',
  ])
  for (const { event } of eventsOf(home, id)) {
    expect(Object.keys(event).sort()).toEqual(['data', 'event_type', 'instance_id', 'schema_version', 'timestamp'])
    expect(event).toMatchObject({ schema_version: 1, instance_id: id })
    expect(event.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,}Z$/)
  }
})

// verifies: S-STATE-07 S-MOVE-10 S-ERR-04 S-RES-02
test('a failed result fails the instance with its error', async () => {
  const { story } = await ranToEnd(home, plainResolver(`me.finish({ status: 'failed', error: 'no luck' })`))
  expect(story).toMatchObject({ status: 'failed', error: { code: 'resolver_failed', detail: 'no luck' } })
})

// verifies: S-ERR-04
test('without a result file resolver:completed decides (R21)', async () => {
  const completed = `me.emit('resolver:completed', { outcome: 'success', summary: 'all fine', duration_s: 1, artifact_count: 0 }); process.exit(3)`
  const { story } = await ranToEnd(home, plainResolver(completed))
  expect(story).toMatchObject({ status: 'completed', output: 'all fine' })
  const failed = `me.emit('resolver:completed', { outcome: 'failed', summary: '', duration_s: 1, artifact_count: 0, error: { code: 'mine', detail: 'broke' } }); process.exit(0)`
  expect((await ranToEnd(home, plainResolver(failed))).story).toMatchObject({
    status: 'failed',
    error: { code: 'mine', detail: 'broke' },
  })
})

test('the result wins over resolver:completed, and both win over the exit code (R21)', async () => {
  const behaviour = `me.emit('resolver:completed', { outcome: 'failed', summary: '', duration_s: 1, artifact_count: 0 }); me.finish({ status: 'completed', output: 'ok' }); process.exit(9)`
  expect((await ranToEnd(home, plainResolver(behaviour))).story).toMatchObject({ status: 'completed', output: 'ok' })
})

test('an exit code of 0 without a result is a failure (R21)', async () => {
  const { story } = await ranToEnd(home, plainResolver(`console.error('I give up'); process.exit(0)`))
  expect(story).toMatchObject({ status: 'failed', error: { code: 'worker_exited' } })
  expect(story.error?.detail).toContain('exit code 0')
  expect(story.error?.detail).toContain('I give up')
})

// verifies: S-RULE-02
test('paused without supports_resume is failed, code not_resumable (R22)', async () => {
  const { story } = await ranToEnd(home, plainResolver(`me.finish({ status: 'paused' })`))
  expect(story).toMatchObject({ status: 'failed', error: { code: 'not_resumable' } })
})

// verifies: S-MOVE-04
test('a missing command fails the instance from starting, with the reason', async () => {
  // Its program answers before the creation, and is gone when a host starts it.
  const resolver = plainResolver('', { command: ['./start'] })
  const start = join(resolver.dir, 'start')
  writeFileSync(start, '#!/bin/sh\nexec node program.mjs\n', { mode: 0o755 })
  const id = await created(home, resolver)
  rmSync(start)
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await hosts.over(id)
  await hosts.close()
  const story = storyOf(home, id)
  expect(story.history.map((change) => change.status)).toEqual(['created', 'starting', 'failed'])
  expect(story.error).toMatchObject({ code: 'launch_failed' })
  expect(eventsOf(home, id).map(({ event }) => event.event_type)).toContain('platform.worker.failed')
})

test('a worker that dies before it is ready fails the instance from starting', async () => {
  const { story } = await ranToEnd(home, plainResolver('', {}, `me.on['resolver.initialize'] = () => process.exit(4)`))
  expect(story.history.map((change) => change.status)).toEqual(['created', 'starting', 'failed'])
  expect(story.error).toMatchObject({ code: 'worker_exited' })
})

test('an error answer to initialize fails the instance from starting', async () => {
  const setup = `me.on['resolver.initialize'] = () => undefined
    process.stdin.on('data', (bytes) => { const f = JSON.parse(String(bytes).trim().split('\\n')[0]); if (f.method === 'resolver.initialize') print(JSON.stringify({ jsonrpc: '2.0', id: f.id, error: { code: 1, message: 'no way' } }) + '\\n') })`
  const { story } = await ranToEnd(home, plainResolver('', {}, setup))
  expect(story).toMatchObject({ status: 'failed', error: { code: 'initialize_failed' } })
  expect(story.error?.detail).toContain('no way')
})

// verifies: S-STATE-04 S-MOVE-05 S-MOVE-06 S-DO-01 S-DIR-06 S-EVT-04 S-ERR-01 S-RPC-04 S-PLUG-09
test('a question moves to awaiting_input, its answer back to running, with who and by which door (R25, R28)', async () => {
  const schema = `{ type: 'form', components: [{ type: 'checkbox', id: 'go', checks: [{ condition: { path: '/go' }, message: 'Tick it.' }, { condition: { call: 'required', args: [{ path: '/why' }] }, message: 'Say why.' }] }] }`
  const resolver = plainResolver(
    `const a = await me.ask('plan', 'Go on?', ${schema}); me.finish({ status: 'completed', output: JSON.stringify(a) })`,
  )
  const id = await created(home, resolver)
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.status === 'awaiting_input')
  const host = hosts.get(id)!
  expect(() => host.answer('plan', { go: false, why: 'x' }, ACTOR)).toThrow('Validation failed')
  expect(() => host.answer('plan', {}, ACTOR)).toThrow(
    expect.objectContaining({ code: 'form_invalid', errors: ['Tick it.', 'Say why.'] }),
  )
  expect(() => host.answer('nothing', {}, ACTOR)).toThrow(/has no input request "nothing"/)
  expect(storyOf(home, id).status).toBe('awaiting_input')
  host.answer('plan', { go: true, why: 'because', extra: 1 }, ACTOR)
  expect(storyOf(home, id).status).toBe('running')
  expect(() => host.answer('plan', { go: true, why: 'again' }, ACTOR)).toThrow(
    /was already answered by tester \(cli\) at \d{4}/,
  )
  await hosts.over(id)
  await hosts.close()
  const story = storyOf(home, id)
  expect(story.history.map((change) => change.status)).toEqual([
    'created',
    'starting',
    'running',
    'awaiting_input',
    'running',
    'completed',
  ])
  expect(JSON.parse(story.output ?? '')).toEqual({ go: true, why: 'because', extra: 1 })
  const response = join(instancePaths(home, id).project, '.resolve/input-requests/plan.response.json')
  expect(JSON.parse(readFileSync(response, 'utf8'))).toEqual({ go: true, why: 'because', extra: 1 })
  const asked = eventsOf(home, id).find(({ event }) => event.event_type === 'platform.input.requested')
  expect(asked?.event.data).toMatchObject({
    request_id: 'plan',
    prompt: 'Go on?',
    status: 'pending',
    schema: { type: 'form' },
  })
  const answered = eventsOf(home, id).find(({ event }) => event.event_type === 'platform.input.answered')
  expect(answered?.event.data).toEqual({ request_id: 'plan', actor: 'tester', via: 'cli' })
})

test('awaiting_input holds until the last of two questions is answered (R25)', async () => {
  const resolver = plainResolver(
    `await Promise.all([me.ask('one', '1'), me.ask('two', '2')]); me.finish({ status: 'completed' })`,
  )
  const id = await created(home, resolver)
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.requests.length === 2)
  hosts.get(id)?.answer('two', {}, ACTOR)
  expect(storyOf(home, id).status).toBe('awaiting_input')
  hosts.get(id)?.answer('one', {}, ACTOR)
  await hosts.over(id)
  await hosts.close()
  expect(statusesOf(home, id)).toEqual(['created', 'starting', 'running', 'awaiting_input', 'running', 'completed'])
})

test('a malformed question is refused with every fault, and the resolver is told (R30)', async () => {
  const schema = `{ type: 'form', components: [{ type: 'text', id: 'a', checks: [{ condition: { call: 'nope', args: {} }, message: 'x' }] }, { type: 'slider', id: 'b' }] }`
  const behaviour = `me.ask('bad', 'x', ${schema}); while (!fs.existsSync(root + '/input-requests/bad.error.json')) await sleep(20)
    me.finish({ status: 'completed', output: fs.readFileSync(root + '/input-requests/bad.error.json', 'utf8') })`
  const { id, story } = await ranToEnd(home, plainResolver(behaviour))
  expect(JSON.parse(story.output ?? '').errors.length).toBeGreaterThanOrEqual(2)
  expect(story.requests).toEqual([])
  const rejected = eventsOf(home, id).find(({ event }) => event.event_type === 'platform.event.rejected')
  expect(rejected?.event.data).toMatchObject({ reason: 'input_request', request_id: 'bad' })
})

// verifies: S-DO-03 S-DIR-07 S-PLUG-10
test('messages are numbered, checked against the current message types, published as files and delivered by a call', async () => {
  const behaviour = `while (me.messages.length < 2) await sleep(10); me.finish({ status: 'completed', output: JSON.stringify(me.messages) })`
  const id = await created(home, plainResolver(behaviour))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.status === 'running')
  const host = hosts.get(id)!
  expect((await host.messageTypes()).map((type) => type.name)).toEqual(['note'])
  await expect(host.message('shout', {}, ACTOR)).rejects.toThrow(
    /accepts no messages of type "shout" now\. It accepts: note/,
  )
  await expect(host.message('note', { text: '' }, ACTOR)).rejects.toMatchObject({ errors: ['Say something.'] })
  expect(await host.message('note', { text: 'a' }, ACTOR)).toBe(1)
  expect(await host.message('note', { text: 'b' }, ACTOR)).toBe(2)
  await hosts.over(id)
  await hosts.close()
  const story = storyOf(home, id)
  expect(JSON.parse(story.output ?? '')).toEqual([
    { message_type: 'note', payload: { text: 'a' }, number: 1 },
    { message_type: 'note', payload: { text: 'b' }, number: 2 },
  ])
  const first = join(instancePaths(home, id).project, '.resolve/messages/001.json')
  expect(JSON.parse(readFileSync(first, 'utf8'))).toEqual({ number: 1, message_type: 'note', payload: { text: 'a' } })
  expect(eventsOf(home, id).filter(({ event }) => event.event_type === 'platform.message.accepted')).toHaveLength(2)
})

// verifies: S-STATE-05 S-MOVE-07 S-MOVE-08 S-RULE-01
test('pause and resume: the worker ends, the next run has resume=true on the same files (R24)', async () => {
  const behaviour = `
    if (me.resume) return me.finish({ status: 'completed', output: 'resumed with ' + fs.readFileSync(root + '/checkpoint', 'utf8') })
    fs.writeFileSync(root + '/checkpoint', 'my work'); me.emit('plain.one')
    await me.stopped; me.finish({ status: 'paused' })`
  const id = await created(home, plainResolver(behaviour, RESUMABLE))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.status === 'running' && story.lastSeq > 4)
  hosts.get(id)?.pause()
  await hosts.over(id)
  expect(storyOf(home, id)).toMatchObject({ status: 'paused', incarnation: 1 })
  await hosts.own(id, (ledger) => ledger.move('running', { reason: 'resumed' }))
  await hosts.over(id)
  await hosts.close()
  expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'resumed with my work', incarnation: 2 })
  expect(statusesOf(home, id)).toEqual(['created', 'starting', 'running', 'paused', 'running', 'completed'])
  expect(eventsOf(home, id).filter(({ event }) => event.event_type === 'plain.one')).toHaveLength(1)
})

// verifies: S-RULE-03 S-MOVE-11
test('a pause is refused when the resolver does not support resume, and a stop cancels the run', async () => {
  const id = await created(home, plainResolver(`await me.stopped; me.finish({ status: 'cancelled' })`))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.status === 'running')
  expect(() => hosts.get(id)?.pause()).toThrow(/supports neither pause nor resume/)
  hosts.get(id)?.stop('stop', 'enough', false)
  await hosts.over(id)
  await hosts.close()
  expect(storyOf(home, id).history.at(-1)).toMatchObject({ status: 'cancelled', reason: 'enough' })
})

// verifies: S-RULE-01
test('a pause withdraws an open question; after the resume the same id may be asked again (R28)', async () => {
  const behaviour = `
    me.stopped.then(() => me.finish({ status: 'paused' }))
    const answer = await me.ask('again', me.resume ? 'second time' : 'first time'); me.finish({ status: 'completed', output: 'answered' })`
  const id = await created(home, plainResolver(behaviour, RESUMABLE))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.status === 'awaiting_input')
  hosts.get(id)?.pause()
  await hosts.over(id)
  expect(storyOf(home, id).requests.map((request) => request.status)).toEqual(['cancelled'])
  await hosts.own(id, (ledger) => ledger.move('running', { reason: 'resumed' }))
  await until(home, id, (story) => story.status === 'awaiting_input')
  hosts.get(id)?.answer('again', {}, ACTOR)
  await hosts.over(id)
  await hosts.close()
  expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'answered' })
  expect(statusesOf(home, id)).toEqual([
    'created',
    'starting',
    'running',
    'awaiting_input',
    'running',
    'paused',
    'running',
    'awaiting_input',
    'running',
    'completed',
  ])
})

// verifies: S-MOVE-12 S-STATE-08
test('stopping in awaiting_input cancels, and the pending request with it (R20, R28)', async () => {
  const id = await created(
    home,
    plainResolver(`me.stopped.then(() => me.finish({ status: 'cancelled' })); await me.ask('q', '?')`),
  )
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.status === 'awaiting_input')
  hosts.get(id)?.stop('cancel', 'cancel_requested', false)
  await hosts.over(id)
  await hosts.close()
  expect(statusesOf(home, id).at(-1)).toBe('cancelled')
  expect(storyOf(home, id).requests[0]?.status).toBe('cancelled')
})

test('a stop while starting cancels without waiting for initialize (R20)', async () => {
  const id = await created(home, plainResolver('', {}, `me.on['resolver.initialize'] = () => undefined`))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.incarnation === 1)
  hosts.get(id)?.stop('stop', 'too slow', false)
  await hosts.over(id)
  await hosts.close()
  expect(statusesOf(home, id)).toEqual(['created', 'starting', 'cancelled'])
})

test('cancelled is published only when every process of the worker is gone (R20, R26)', async () => {
  const grandchild = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`
  const behaviour = `const { spawn } = await import('node:child_process')
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { detached: true, stdio: 'ignore' })
    me.emit('plain.child', { pid: child.pid }); await me.stopped; me.finish({ status: 'cancelled' })`
  const id = await created(home, plainResolver(behaviour))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === 'plain.child'))
  hosts.get(id)?.stop('stop', 'enough', false)
  await until(home, id, (story) => story.status === 'cancelled')
  const pid = eventsOf(home, id).find(({ event }) => event.event_type === 'plain.child')?.event.data['pid']
  expect(identify(pid as number)).toBeUndefined()
  await hosts.over(id)
  await hosts.close()
})

// verifies: S-RULE-04
test('a forced stop kills a worker that ignores signals; the reason given is kept (R26, R57)', async () => {
  const id = await created(home, plainResolver(`process.on('SIGTERM', () => {}); while (true) await sleep(100)`))
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await until(home, id, (story) => story.status === 'running')
  hosts.get(id)?.stop('stop', 'now', true)
  await hosts.over(id)
  await hosts.close()
  expect(storyOf(home, id).history.at(-1)).toMatchObject({ status: 'cancelled', reason: 'now', forced: true })
})

// verifies: S-LIM-04
test('an instance lives 12 hours unless RESOLVE_INSTANCE_LIFETIME says otherwise', () => {
  expect(lifetimeMs({})).toBe(12 * 60 * 60 * 1_000)
  expect(lifetimeMs({ RESOLVE_INSTANCE_LIFETIME: '90s' })).toBe(90_000)
})

test('at the end of its lifetime an instance is paused if the resolver checkpoints, else failed, after a warning (R27)', async () => {
  const pausing = await created(
    home,
    plainResolver(`const why = await me.stopped; me.finish({ status: 'paused', output: why })`, RESUMABLE),
  )
  const first = new HostProcess(home)
  await first.own(pausing)
  // Before it is ready, the end of its lifetime would be a failure.
  await until(home, pausing, (story) => story.status === 'running')
  await first.close()
  process.env['RESOLVE_INSTANCE_LIFETIME'] = '600ms'
  try {
    const next = new HostProcess(home)
    await next.own(pausing)
    await next.over(pausing)
    await next.close()
    expect(storyOf(home, pausing)).toMatchObject({ status: 'paused', output: 'lifetime_exceeded' })
    const { story, id } = await ranToEnd(home, plainResolver(`await me.stopped; me.finish({ status: 'cancelled' })`))
    expect(story).toMatchObject({ status: 'failed', error: { code: 'lifetime_exceeded' } })
    const warning = eventsOf(home, id).find(({ event }) => event.event_type === 'platform.watchdog.warning')
    expect(warning?.event.data).toMatchObject({ kind: 'lifetime', limit: 600 })
    // Starting counts, too: one that never gets ready is over as well.
    const slow = plainResolver('', {}, `me.on['resolver.initialize'] = () => undefined`)
    const never = await ranToEnd(home, slow)
    expect(never.story).toMatchObject({ status: 'failed', error: { code: 'lifetime_exceeded' } })
  } finally {
    delete process.env['RESOLVE_INSTANCE_LIFETIME']
  }
})

// verifies: S-CFG-01 S-CFG-02 S-DIR-01
test('config.json has exactly the fields of the specification and of R43, filled from the instance and the environment', async () => {
  const environment = {
    RESOLVE_LLM_PROVIDER_API_KEY: 'key-of-the-model',
    RESOLVE_GIT_HOST_TOKEN: 'token-of-the-git-host',
    RESOLVE_GIT_PROVIDER: 'gitea',
    RESOLVE_GIT_BASE_URL: 'https://git.test/api',
  }
  Object.assign(process.env, environment)
  const outside = mkdtempSync(join(tmpdir(), 'resolve-config-'))
  try {
    const copy = `fs.copyFileSync(root + '/config.json', '${outside}/config.json'); me.finish({ status: 'completed' })`
    const { id } = await ranToEnd(home, plainResolver(copy), { name: 'Ada' })
    const { project } = instancePaths(home, id)
    expect(JSON.parse(readFileSync(join(outside, 'config.json'), 'utf8'))).toEqual({
      instance_id: id,
      resolver_name: 'plain',
      params: { name: 'Ada' },
      workspace_path: `${project}/workspace`,
      workspace: [],
      working_directory: `${project}/workspace`,
      project_path: project,
      resolve_path: `${project}/.resolve`,
      git_provider: { type: 'gitea', base_url: 'https://git.test/api', token: 'token-of-the-git-host' },
      credentials: { llm_provider_api_key: 'key-of-the-model', git_host_token: 'token-of-the-git-host' },
      llm: { model: '', base_url: '' },
      secret_fields: [],
      sub_container_token: expect.stringMatching(/^[0-9a-f]{64}$/),
      capabilities: [],
    })
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name]
    rmSync(outside, { recursive: true })
  }
})

// verifies: S-AUTH-03
test('config.json carries the secrets while it runs, mode 0600, and none at the end (R43, R45)', async () => {
  process.env['RESOLVE_LLM_PROVIDER_API_KEY'] = 'canary-secret-1'
  try {
    const behaviour = `const mode = (fs.statSync(root + '/config.json').mode & 0o777).toString(8)
      me.finish({ status: 'completed', output: mode + ' ' + me.config.credentials.llm_provider_api_key.length + ' ' + me.config.resolve_path + ' ' + (JSON.stringify(process.env).includes('canary')) })`
    const { id, story } = await ranToEnd(home, plainResolver(behaviour), { name: 'Ada' })
    const { project, root } = instancePaths(home, id)
    expect(story.output).toBe(`600 15 ${project}/.resolve false`)
    const config = readFileSync(join(project, '.resolve/config.json'), 'utf8')
    expect(config).not.toContain('canary')
    expect(JSON.parse(config)).toMatchObject({
      instance_id: id,
      params: { name: 'Ada' },
      workspace_path: `${project}/workspace`,
    })
    expect(readFileSync(join(root, 'journal'), 'utf8')).not.toContain('canary')
    const paused = await ranToEnd(home, plainResolver(`me.finish({ status: 'paused' })`, RESUMABLE))
    expect(paused.story.status).toBe('paused')
    const kept = readFileSync(join(instancePaths(home, paused.id).project, '.resolve/config.json'), 'utf8')
    expect(kept).not.toContain('canary')
  } finally {
    delete process.env['RESOLVE_LLM_PROVIDER_API_KEY']
  }
})

// verifies: S-DIR-04
test('a checkpoint in status.json does not end the run (R21)', async () => {
  const behaviour = `fs.writeFileSync(root + '/status.json', '{"status":"planning"}'); await sleep(300)
    me.finish({ status: 'completed', output: 'after the checkpoint' })`
  const { story } = await ranToEnd(home, plainResolver(behaviour))
  expect(story).toMatchObject({ status: 'completed', output: 'after the checkpoint' })
})

// No instance can have one yet, because the git server beside a worker is planned: this asks the function that writes the config.
// verifies: S-MAN-10
test('the capabilities that a manifest requires are in the config', async () => {
  const id = await created(home, plainResolver(''))
  const { creation } = storyOf(home, id)
  const { resolver } = creation
  const manifest = { ...resolver.manifest, capabilities_required: ['git-server'] }
  const coordination = openCoordination(new LocalDriver(instancePaths(home, id)))
  const config = buildConfig({ ...creation, resolver: { ...resolver, manifest } }, coordination, {
    credentials: {},
    input: {},
  })
  coordination.close()
  expect(config.capabilities).toEqual(['git-server'])
})
