/** What the SDK answers to its host, and what it writes: calls, repeated calls, events, state, data, questions, messages. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { INSTANCE_ID, launchSample, type ResolverProcess } from './harness.ts'

const launch = (scenario: string) => launchSample('scenarios', { params: { scenario } })

const start = async (scenario: string): Promise<ResolverProcess> => {
  const resolver = launch(scenario)
  await resolver.start()
  return resolver
}

describe('calls', () => {
  // verifies: S-PLUG-02 S-PLUG-03 S-PLUG-05 S-PLUG-07 S-RPC-06 S-RPC-07 S-RPC-08 S-MSG-02
  test('the form, the workspace and the message types need no instance (R44)', async () => {
    const resolver = launch('text')
    const ids = (form: unknown) => (form as { components: { id: string }[] }).components.map(({ id }) => id)
    expect(ids(await resolver.call('resolver.getInstantiationSchema', { params: null }))).toEqual(['scenario'])
    const grown = await resolver.call('resolver.getInstantiationSchema', { params: { scenario: 'text' } })
    expect(ids(grown)).toEqual(['scenario', 'detail'])
    const nothing = await resolver.call('resolver.getWorkspaceSpec', { params: {}, available_credentials: [] })
    expect(nothing).toBeNull()
    const params = { scenario: 'text', detail: 'hi' }
    expect(
      await resolver.call('resolver.getWorkspaceSpec', { params, available_credentials: ['git_host_token'] }),
    ).toEqual({
      repos: [{ url: 'https://x.test/r' }],
      container_setup: { setup_commands: ['echo hi'] },
    })
    const types = async (instance_state: object) =>
      ((await resolver.call('resolver.getMessageTypes', { instance_state })) as { name: string }[]).map(
        ({ name }) => name,
      )
    expect(await types({})).toEqual(['note', 'broken'])
    expect(await types({ phase: 'building' })).toEqual(['note', 'faster', 'broken'])
  })

  test('run before initialize is refused', async () => {
    const reply = await launch('text').ask('resolver.run', { resume: false })
    expect(reply.error?.data?.resolve_error).toBe('resolver_not_ready')
  })

  test('an unknown method is an error, noise is ignored', async () => {
    const resolver = launch('text')
    resolver.write('not json')
    resolver.write('{"jsonrpc":"2.0","id":"9:9","result":null}')
    expect((await resolver.ask('resolver.dance')).error?.code).toBe(-32601)
  })

  // verifies: S-MAN-04
  test('a name other than the registered one is refused', async () => {
    const resolver = launch('text')
    const reply = await resolver.ask('resolver.initialize', { config: { ...resolver.config, resolver_name: 'other' } })
    expect(reply.error?.message).toContain('"scenarios"')
    expect(reply.error?.data?.resolve_error).toBe('resolver_mismatch')
  })

  // verifies: S-MAN-06
  test('a version other than the manifest beside it is refused', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'resolve-manifest-'))
    onTestFinished(() => rmSync(cwd, { recursive: true }))
    writeFileSync(join(cwd, 'manifest.json'), '{"name":"scenarios","version":"9.9.9"}')
    const resolver = launchSample('scenarios', { cwd })
    const reply = await resolver.ask('resolver.initialize', { config: resolver.config })
    expect(reply.error?.message).toBe('The resolver\'s version is "1.2.3", but its manifest says "9.9.9".')
  })

  // verifies: S-RPC-01 S-RPC-02 S-RPC-03
  test('initialize, run and stop answer exactly what the specification says', async () => {
    const resolver = launch('waits')
    expect(await resolver.call('resolver.initialize', { config: resolver.config })).toEqual({ status: 'ready' })
    expect(await resolver.call('resolver.run', { resume: false })).toEqual({ status: 'started' })
    await resolver.untilEvent('scenarios.waiting')
    expect(await resolver.call('resolver.run', { resume: false })).toEqual({ status: 'started' })
    expect(await resolver.call('resolver.stop', { reason: 'enough' })).toEqual({ acknowledged: true })
  })

  // verifies: S-SDK-02
  test('the process answers calls after its run has ended, and exits with 0 at resolver.shutdown', async () => {
    const resolver = await start('text')
    await resolver.result()
    // Long enough to see a process that ends itself with its run.
    await sleep(300)
    expect(await resolver.call('resolver.getMessageTypes', { instance_state: {} })).toHaveLength(2)
    expect(resolver.child.exitCode).toBeNull()
    resolver.notify('resolver.shutdown')
    expect(await resolver.exitCode()).toBe(0)
  })

  test('a new host that initializes and runs again changes nothing (R42)', async () => {
    const resolver = await start('text')
    await resolver.result()
    resolver.write('{"jsonrpc":"2.0","id":"3:7","meth')
    await resolver.start()
    await resolver.start()
    expect(resolver.types()).toEqual(['resolver:created', 'resolver:completed'])
    await resolver.until('the result again', () => resolver.notices('resolver.finished')[1])
  })

  test('lines are read whatever the chunks, U+2028 included', async () => {
    const resolver = launch('text')
    const frame = JSON.stringify({
      jsonrpc: '2.0',
      id: '5:1',
      method: 'resolver.getMessageTypes',
      params: { x: '\u2028é' },
    })
    for (const byte of Buffer.from(`${frame}\n`)) resolver.child.stdin.write(Buffer.from([byte]))
    await resolver.until('the reply', () => resolver.frames.find(({ id }) => id === '5:1'))
  })
})

describe('events and state', () => {
  // verifies: S-SDK-03 S-ENV-01 S-EVT-01 S-EVT-02 S-EVT-05 S-EVT-06 S-EVT-07 S-EVT-08 S-EVT-09 S-DIR-02 S-RULE-05 S-VER-03
  test('event names get the prefix of the resolver, and the envelope has exactly five fields (R14)', async () => {
    const resolver = await start('emits')
    expect(await resolver.result()).toMatchObject({ output: expect.stringContaining('only the platform') })
    expect(resolver.types()).toEqual([
      'resolver:created',
      'scenarios.step.done',
      'scenarios.own',
      'resolver:phase',
      'resolver:phase',
      'resolver:progress',
      'resolver:progress',
      'resolver:artifact',
      'resolver:completed',
    ])
    for (const event of resolver.events()) {
      expect(Object.keys(event)).toEqual(['schema_version', 'event_type', 'instance_id', 'data', 'timestamp'])
      expect(event).toMatchObject({ schema_version: 1, instance_id: INSTANCE_ID })
      expect(event.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    }
    const data = resolver.events().map((event) => event.data)
    expect(data[0]).toEqual({
      resolver_name: 'scenarios',
      resolver_version: '1.2.3',
      instance_id: INSTANCE_ID,
      params: { scenario: 'emits' },
      capabilities_granted: [],
    })
    expect(data[1]).toEqual({ text: 'line\u2028and\u2029paragraph' })
    expect(data[4]).toEqual({ name: 'second', previous_phase: 'first' })
    expect(data[5]).toEqual({ milestone: 'half', fraction: 0.5, label: 'Half of it' })
    expect(data[6]).toEqual({ milestone: 'unknown', fraction: null })
    expect(data[7]).toEqual({ kind: 'summary', value: 'all of it', metadata: { pages: 2 } })
    expect(data[8]).toMatchObject({ artifact_count: 1 })
    expect(resolver.json('state.json')).toEqual({ phase: 'second' })
  })

  // verifies: S-SDK-04 S-SDK-05 S-SNAP-01
  test('update replaces the state, merge overlays it', async () => {
    const resolver = await start('states')
    await resolver.result()
    expect(resolver.event('scenarios.merged')?.data).toEqual({ phase: 'a', kept: 1, more: 2 })
    expect(resolver.event('scenarios.replaced')?.data).toEqual({ only: 3 })
    expect(resolver.json('state.json')).toEqual({ only: 3 })
  })

  // verifies: S-SNAP-02 S-DIR-03
  test('a reader never sees a part of the state', async () => {
    const resolver = await start('many-states')
    const seen = new Set<unknown>()
    for (; seen.size < 50; await new Promise(setImmediate)) {
      const text = resolver.read('state.json')
      if (text === undefined) continue
      const state = JSON.parse(text) as { number: number }
      expect(state).toHaveProperty('filler')
      seen.add(state.number)
    }
    await resolver.call('resolver.stop', { reason: 'enough' })
    await resolver.result()
  })

  // verifies: S-RPC-09
  test('a burst of events rings the doorbell once, and the last ring has the whole file (R40)', async () => {
    const resolver = await start('burst')
    await resolver.result()
    const rings = resolver.notices('resolver.event').map(({ params }) => (params as { offset: number }).offset)
    expect(rings.length).toBeLessThan(10)
    expect(rings.at(-1)).toBe(Buffer.byteLength(resolver.read('events.jsonl') ?? ''))
  })

  // verifies: S-EVT-10 S-DIR-08
  test('data files are announced and stay inside', async () => {
    const resolver = await start('data')
    expect(await resolver.result()).toMatchObject({
      output: 'two undefined The path is not a valid path below the data directory.',
    })
    expect(resolver.event('scenarios.data_changed')?.data).toEqual({ paths: ['notes/first.md'] })
    expect(resolver.read('data/notes/first.md')).toBe('two')
  })
})

describe('questions (R25, R30)', () => {
  // verifies: S-SDK-06 S-SDK-07 S-REQ-01 S-REQ-03 S-DIR-05 S-RPC-04
  test('the request is written whole and the answer comes typed', async () => {
    const resolver = await start('asks')
    const condition = {
      call: 'or',
      args: {
        conditions: [
          { call: 'not', args: { condition: { call: 'required', args: [{ path: '/note' }] } } },
          { call: 'length', args: { value: { path: '/note' }, min: 3 } },
        ],
      },
    }
    expect(await resolver.untilRequest('size')).toEqual({
      id: 'size',
      prompt: 'Which size?',
      status: 'pending',
      schema: {
        type: 'form',
        components: [
          {
            type: 'select',
            id: 'size',
            options: [
              { value: 'small', label: 'small' },
              { value: 'large', label: 'large' },
            ],
            default: 'small',
          },
          { type: 'text', id: 'note', checks: [{ condition, message: 'Too short' }] },
        ],
      },
    })
    expect((await resolver.untilEvent('resolver:input_requested')).data).toEqual({
      request_id: 'size',
      prompt: 'Which size?',
    })
    await resolver.answer('size', { size: 'large', note: 'mind' })
    await resolver.answer('size', { size: 'small', note: 'late' })
    expect(await resolver.result()).toMatchObject({ output: 'large mind' })
    expect(resolver.event('resolver:input_responded')?.data).toMatchObject({ request_id: 'size', outcome: 'answered' })
    const refused = resolver.events().filter((event) => event.event_type === 'scenarios.refused')
    expect(refused.map((event) => event.data)).toEqual([
      { again: 'This run has already made an input request "size".' },
      { odd: '"../x" can\'t be the id of an input request.' },
    ])
  })

  test('an answer that comes as a file only is enough', async () => {
    const resolver = await start('asks')
    await resolver.untilRequest('size')
    writeFileSync(join(resolver.dir, 'input-requests/size.response.json'), '{"note":"by file"}')
    expect(await resolver.result()).toMatchObject({ output: 'small by file' })
  })

  test.each(['notice', 'file'])('a refused form rejects with its messages, by %s', async (by) => {
    const resolver = await start('asks-badly')
    await resolver.untilRequest('bad')
    const errors = ['There is no function "telepathy".']
    if (by === 'notice') resolver.notify('resolver.inputRefused', { request_id: 'bad', errors })
    else writeFileSync(join(resolver.dir, 'input-requests/bad.error.json'), JSON.stringify({ errors }))
    expect(await resolver.result()).toMatchObject({ status: 'failed', error: expect.stringContaining(errors[0] ?? '') })
    expect(resolver.event('resolver:completed')?.data).toMatchObject({ error: { code: 'form_malformed' } })
  })
})

describe('messages', () => {
  // verifies: S-MSG-01 S-RPC-08
  test('a message type carries its name, label, description and the schema of its fields', async () => {
    const resolver = launch('text')
    const building = { instance_state: { phase: 'building' } }
    expect(await resolver.call('resolver.getMessageTypes', building)).toEqual([
      {
        name: 'note',
        label: 'Note',
        description: 'Any time',
        schema: { type: 'form', components: [{ type: 'text', id: 'text', label: 'Text' }] },
      },
      {
        name: 'faster',
        label: 'Faster',
        description: 'While building',
        schema: { type: 'form', components: [] },
      },
      {
        name: 'broken',
        label: 'Broken',
        description: 'Its handler fails',
        schema: { type: 'form', components: [] },
      },
    ])
  })

  // verifies: S-RPC-05 S-PLUG-10
  test('each number is handled once and in order, and a handler that fails ends nothing (R42)', async () => {
    const resolver = await start('messages')
    await resolver.untilEvent('scenarios.waiting')
    const send = (number: number, message_type: string, payload: object) =>
      resolver.call('resolver.message', { number, message_type, payload })
    expect(await send(1, 'broken', {})).toBeNull()
    await send(2, 'note', { text: 'one' })
    await send(2, 'note', { text: 'one' })
    await send(3, 'note', { text: 'two' })
    await resolver.until('both notes', () => resolver.types().filter((type) => type === 'scenarios.noted')[1])
    const noted = resolver.events().filter((event) => event.event_type === 'scenarios.noted')
    expect(noted.map((event) => event.data)).toEqual([{ text: 'one' }, { text: 'two' }])
    expect(resolver.types().filter((type) => type === 'scenarios.heard')).toHaveLength(3)
    await resolver.untilSaid('broken handler')
  })
})

// verifies: S-PLUG-01 S-PLUG-02 S-PLUG-03 S-PLUG-05 S-PLUG-07 S-PLUG-08 S-PLUG-09 S-PLUG-10 S-PLUG-11 S-RPC-03
test('the class: every one of the twelve members is reached', async () => {
  const resolver = launchSample('twelve-members', { params: { first: 'x' } })
  expect(await resolver.call('resolver.getInstantiationSchema', { params: null })).toMatchObject({
    components: [{ label: 'Nothing yet' }],
  })
  expect(await resolver.call('resolver.getInstantiationSchema', { params: {} })).toMatchObject({
    components: [{ label: 'Something' }],
  })
  const params = { first: 'x' }
  expect(await resolver.call('resolver.getWorkspaceSpec', { params, available_credentials: ['a', 'b'] })).toEqual({
    repos: [{ url: 'https://example.test/x?a,b', branch: 'main' }],
    git_server: true,
    working_branch: 'work',
    container_setup: { setup_commands: ['true'], bundles: [], environment: { A: 'b' }, volume_mounts: [] },
  })
  expect(await resolver.call('resolver.getMessageTypes', { instance_state: { phase: 'p' } })).toMatchObject([
    { name: 'note', description: 'p' },
  ])
  await resolver.start()
  expect((await resolver.untilEvent('twelve-members.ran')).data).toEqual({
    instance: INSTANCE_ID,
    resume: false,
    missing: 'Can\'t open the session "writer": there is no key of an LLM provider.',
  })
  await resolver.untilRequest('word')
  await resolver.answer('word', { word: 'wait' })
  await resolver.call('resolver.message', { message_type: 'note', payload: { a: 1 }, number: 1 })
  expect((await resolver.untilEvent('twelve-members.answered')).data).toMatchObject({ requestId: 'word' })
  expect((await resolver.untilEvent('twelve-members.told')).data).toEqual({ messageType: 'note', payload: { a: 1 } })
  await resolver.call('resolver.stop', { reason: 'pause_requested' })
  expect(await resolver.result()).toEqual({ status: 'paused', output: 'wait', error: null, sessions_used: 2 })
  // The result waited for stop(), which saved it.
  expect(resolver.json('checkpoint.json')).toEqual({ reason: 'pause_requested' })
})

// verifies: S-DO-02
test('an answer reaches a resolver that takes it by the callback and leaves the future alone', async () => {
  const resolver = launchSample('answers-by-callback')
  await resolver.start()
  await resolver.untilRequest('word')
  await resolver.answer('word', { word: 'callback' })
  expect(await resolver.result()).toMatchObject({ status: 'completed', output: 'callback' })
})

// verifies: S-DO-02
test('an answer reaches a resolver that takes it by the future and has no callback', async () => {
  const resolver = await start('asks')
  await resolver.untilRequest('size')
  await resolver.answer('size', { size: 'large', note: 'future' })
  expect(await resolver.result()).toMatchObject({ status: 'completed', output: 'large future' })
})
