/** Every route over a real port, with real resolvers: what it answers, with which code, and to whom. */
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'
import { type Answer, type Api, openApi } from './api.ts'

let api: Api

const chatty = plainResolver('await me.sleep(60000)', { name: 'chatty', version: '2.3.4-rc.1' })
const stateful = plainResolver(
  `me.write('state.json', JSON.stringify({ phase: 'planning', plan_steps: ['a', 'b'], early: true }))
   await me.ask('next', 'Go on?')
   me.write('state.json', JSON.stringify({ phase: 'building', plan_steps: ['a', 'b'], completed_steps: ['a'] }))
   me.finish({ status: 'completed' })`,
  { name: 'stateful' },
)
const shown = plainResolver('me.finish({ status: "completed" })', { name: 'shown', viewport_path: 'program.mjs' })

beforeAll(async () => {
  api = await openApi(['asks-once', 'checkpoints', 'exits-zero', 'ignores-stop', chatty, stateful, shown])
})

afterAll(async () => await api.close())

// verifies: S-HTTP-01 S-HTTP-02 R6 R8
test('an instance is created with 202, its record and its location, and read until it is done', async () => {
  const made = await api.call('POST', '/api/instances', {
    body: { resolver: 'hello', input: { name: 'Ada' }, name: 'one' },
  })
  expect(made.status).toBe(202)
  expect(made.json).toMatchObject({ resolver: 'hello', status: 'created', input: { name: 'Ada' }, name: 'one' })
  expect(made.headers.get('location')).toBe(`/api/instances/${made.json.instance_id}`)
  const ended = await api.until(made.json.instance_id, 'completed')
  expect(ended).toMatchObject({ status: 'completed', output: 'Hello, Ada!' })
  const story = await api.call('GET', `/api/instances/${made.json.instance_id}/story`)
  expect(story.json).toMatchObject({ status: 'completed', creation: { input: { name: 'Ada' } } })
  expect(story.text).not.toContain(api.home)
})

// verifies: S-HTTP-04 S-SNAP-01 S-SVC-07
test('the state snapshot holds what the resolver wrote last, while it runs and after its end', async () => {
  const id = await api.create('stateful')
  await api.until(id, 'awaiting_input')
  const at = `/api/instances/${id}/state`
  const planning = await api.call('GET', at, { token: api.tokens.read })
  expect(planning.status).toBe(200)
  expect(planning.headers.get('content-type')).toContain('application/json')
  expect(planning.json).toMatchObject({ phase: 'planning', plan_steps: ['a', 'b'], early: true })
  expect((await api.call('POST', `/api/instances/${id}/input-requests/next`, { body: {} })).status).toBe(204)
  await api.until(id, 'completed')
  const building = (await api.call('GET', at)).json
  expect(building).toMatchObject({ phase: 'building', plan_steps: ['a', 'b'], completed_steps: ['a'] })
  expect(building).not.toHaveProperty('early')
  expect(await api.call('GET', '/api/instances/ffffffffffff/state')).toMatchObject({
    status: 404,
    json: { code: 'instance_unknown' },
  })
})

// verifies: S-ERR-02 R7
test('a form that fails is answered with exactly detail and errors', async () => {
  const bad = { plaque: true, inscription: 'x'.repeat(61) }
  const refused = await api.call('POST', '/api/instances', { body: { resolver: 'tour', input: bad } })
  expect(refused.status).toBe(422)
  expect(refused.json).toEqual({
    detail: 'Validation failed',
    errors: ['An inscription has 60 characters at most'],
  })
  const checked = await api.call('POST', '/api/resolvers/tour/check', { body: { input: bad }, token: api.tokens.read })
  expect(checked.status).toBe(200)
  expect(checked.json.errors).toEqual(['An inscription has 60 characters at most'])
})

// verifies: S-HTTP-08 S-HTTP-09 R6 R25
test('a question is listed, an invalid answer is refused, and of twenty simultaneous answers one is accepted', async () => {
  const id = await api.create('asks-once')
  await api.until(id, 'awaiting_input')
  const at = `/api/instances/${id}/input-requests`
  const pending = (await api.call('GET', `${at}?status=pending`)).json
  expect(pending).toHaveLength(1)
  expect(pending[0]).toMatchObject({ status: 'pending', schema: { type: 'form' } })
  const rid = pending[0].id
  expect((await api.call('GET', `${at}/${rid}`)).json).toEqual(pending[0])
  expect(await api.call('GET', `${at}/none`)).toMatchObject({ status: 404, json: { code: 'request_unknown' } })
  expect(await api.call('POST', `${at}/none`, { body: {} })).toMatchObject({
    status: 404,
    json: { code: 'request_unknown' },
  })
  const bad = await api.call('POST', `${at}/${rid}`, { body: {} })
  expect(bad.status).toBe(422)
  expect(Object.keys(bad.json)).toEqual(['detail', 'errors'])

  const payload = payloadFor(pending[0].schema)
  const tries = await Promise.all(Array.from({ length: 20 }, () => api.call('POST', `${at}/${rid}`, { body: payload })))
  expect(tries.map(({ status }) => status).sort()).toEqual([204, ...Array(19).fill(409)])
  expect(tries.find(({ status }) => status === 204)?.text).toBe('')
  for (const { json } of tries.filter(({ status }) => status === 409)) {
    expect(json.code).toBe('already_answered')
    expect(json.detail).toContain('admin (http)')
  }
  await api.until(id, 'completed')
  expect((await api.call('GET', at)).json[0].status).toBe('answered')
  expect((await api.call('GET', `${at}?status=odd`)).status).toBe(422)
})

// verifies: S-HTTP-06 S-HTTP-07 R6 R24
test('pause and resume answer 200 with the record, and 409 if the resolver or the status does not permit it', async () => {
  // Too slow to come to its end by itself before it is paused.
  const id = await api.create('checkpoints', { to: '400', step_ms: '100', resumed_ms: '1' })
  await api.until(id, 'running')
  expect(await api.call('POST', `/api/instances/${id}/resume`)).toMatchObject({
    status: 409,
    json: { code: 'invalid_state' },
  })
  const paused = await api.call('POST', `/api/instances/${id}/pause`)
  expect(paused).toMatchObject({ status: 200, json: { instance_id: id } })
  await api.until(id, 'paused')
  expect(await api.call('POST', `/api/instances/${id}/resume`)).toMatchObject({
    status: 200,
    json: { status: 'running' },
  })
  await api.until(id, 'completed')
  const plain = await api.create('asks-once')
  await api.until(plain, 'awaiting_input')
  for (const act of ['pause', 'resume']) {
    expect((await api.call('POST', `/api/instances/${plain}/${act}`)).status).toBe(409)
  }
  expect(await api.call('POST', `/api/instances/${plain}/stop`, { body: { reason: 'enough' } })).toMatchObject({
    status: 200,
  })
  await api.until(plain, 'cancelled')
  expect(await api.call('POST', `/api/instances/${plain}/stop`)).toMatchObject({
    status: 409,
    json: { code: 'invalid_state' },
  })
})

// verifies: S-HTTP-03 R6 R20
test('DELETE cancels and answers 200 with the record, a second one 409', async () => {
  const id = await api.create('asks-once')
  await api.until(id, 'awaiting_input')
  expect(await api.call('DELETE', `/api/instances/${id}`)).toMatchObject({ status: 200, json: { instance_id: id } })
  expect((await api.until(id, 'cancelled')).status).toBe('cancelled')
  expect((await api.call('DELETE', `/api/instances/${id}`)).status).toBe(409)
})

// verifies: S-HTTP-10 S-HTTP-11 S-MSG-01 R6 R9
test('message types are listed, a message is accepted with 202, refused otherwise, and listed', async () => {
  const id = await api.create('chatty')
  await api.until(id, 'running')
  const at = `/api/instances/${id}`
  const types = (await api.call('GET', `${at}/message-types`)).json
  expect(types).toEqual([
    {
      ...{ name: 'note', label: 'Note', description: '' },
      schema: { type: 'form', components: [{ type: 'text', id: 'text', checks: expect.any(Array) }] },
    },
  ])
  const sent = await api.call('POST', `${at}/messages`, {
    body: { message_type: 'note', payload: { text: 'hi' } },
    headers: { 'resolve-door': 'page' },
    token: api.tokens.run,
  })
  expect(sent).toMatchObject({ status: 202, json: { accepted: true, number: 1 } })
  const invalid = await api.call('POST', `${at}/messages`, { body: { message_type: 'note', payload: {} } })
  expect(invalid.status).toBe(422)
  expect(invalid.json).toEqual({ detail: 'Validation failed', errors: ['Say something.'] })
  expect(await api.call('POST', `${at}/messages`, { body: { message_type: 'odd', payload: {} } })).toMatchObject({
    status: 422,
    json: { code: 'message_type_unknown' },
  })
  expect((await api.call('GET', `${at}/messages`)).json).toMatchObject([
    { number: 1, message_type: 'note', payload: { text: 'hi' }, actor: 'run', via: 'page' },
  ])
  await api.call('POST', `${at}/stop`, { body: { force: true } })
  await api.until(id, 'cancelled')
})

// verifies: S-HTTP-13 S-HTTP-14 S-VER-03 R9 R10-HTTP
test('resolvers are listed without their directories; a form takes params as URL-encoded JSON', async () => {
  const { json, text } = await api.call('GET', '/api/resolvers', { token: api.tokens.read })
  expect(json.find((one: { name: string }) => one.name === 'asks-once')).toMatchObject({
    ...{ name: 'asks-once', version: '1.0.0', kind: 'directory', dir: null, source: null },
    description: expect.any(String),
  })
  expect(json.find((one: { name: string }) => one.name === 'chatty')).toMatchObject({
    ...{ name: 'chatty', version: '2.3.4-rc.1', description: 'A resolver of a test' },
  })
  expect(text).not.toContain(api.home)
  expect((await api.call('GET', '/api/resolvers/hello')).json.name).toBe('hello')
  expect(await api.call('GET', '/api/resolvers/hullo')).toMatchObject({
    status: 404,
    json: { code: 'resolver_unknown' },
  })
  const ids = ({ json: form }: Answer) => form.components.map((one: { id: string }) => one.id)
  expect(ids(await api.call('GET', '/api/resolvers/tour/schema'))).not.toContain('inscription')
  const params = encodeURIComponent(JSON.stringify({ plaque: true }))
  expect(ids(await api.call('GET', `/api/resolvers/tour/schema?params=${params}`))).toContain('inscription')
  expect(await api.call('GET', '/api/resolvers/tour/schema?params={bad')).toMatchObject({
    status: 422,
    json: { detail: 'Invalid JSON in params', code: 'invalid_json' },
  })
  expect((await api.call('GET', '/api/resolvers/tour/schema?params=[1]')).status).toBe(422)
  expect((await api.call('GET', '/api/resolvers/asks-once/schema')).text).toBe('null')
  const module = await api.call('GET', '/api/resolvers/shown/viewport.js')
  expect(module.headers.get('content-type')).toContain('text/javascript')
  expect(module.text).toContain('import')
  expect((await api.call('GET', '/api/resolvers/hello/viewport.js')).status).toBe(404)
})

// verifies: R9
test('a list is newest first in pages that link to the next, filtered, and finds by reference', async () => {
  for (let n = 0; n < 5; n += 1) await api.create('exits-zero')
  const all = (await api.call('GET', '/api/instances?limit=500')).json
  const seen: string[] = []
  let path: string | undefined = '/api/instances?limit=2&resolver=exits-zero'
  while (path !== undefined) {
    const page = await api.call('GET', path)
    expect(page.status).toBe(200)
    expect(page.json.length).toBeLessThanOrEqual(2)
    seen.push(...page.json.map((one: { instance_id: string }) => one.instance_id))
    path = /^<([^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1]
    if (path !== undefined) expect(path).toContain('resolver=exits-zero')
  }
  const wanted = all.filter((one: { resolver: string }) => one.resolver === 'exits-zero')
  expect(seen).toEqual(wanted.map((one: { instance_id: string }) => one.instance_id))
  expect(seen.length).toBeGreaterThanOrEqual(5)
  const ended = (await api.call('GET', '/api/instances?status=failed,cancelled&status=completed')).json
  expect(ended.every((one: { status: string }) => ['failed', 'cancelled', 'completed'].includes(one.status))).toBe(true)
  for (const bad of ['limit=0', 'limit=501', 'limit=x', 'status=odd']) {
    expect((await api.call('GET', `/api/instances?${bad}`)).status, bad).toBe(422)
  }
  expect(await api.call('GET', '/api/instances?cursor=zzz')).toMatchObject({
    status: 400,
    json: { code: 'cursor_unknown' },
  })
  const id = seen[0] as string
  expect((await api.call('GET', `/api/instances?reference=${id.slice(0, 10)}`)).json).toMatchObject([
    { instance_id: id },
  ])
  expect((await api.call('GET', '/api/instances?reference=@last')).json).toHaveLength(1)
  expect((await api.call('GET', '/api/instances?reference=zzzz')).status).toBe(404)
})

// verifies: R9
test('the name of an instance is set and removed', async () => {
  const id = await api.create('exits-zero')
  const renamed = await api.call('PATCH', `/api/instances/${id}`, { body: { name: 'the second' } })
  expect(renamed).toMatchObject({ status: 200, json: { name: 'the second' } })
  expect((await api.call('GET', `/api/instances/${id}`)).json.name).toBe('the second')
  expect((await api.call('PATCH', `/api/instances/${id}`, { body: { name: null } })).json.name).toBeNull()
  for (const body of [{}, { name: 1 }, { name: 'x'.repeat(201) }, { name: 'a', status: 'completed' }, []]) {
    expect((await api.call('PATCH', `/api/instances/${id}`, { body })).status, JSON.stringify(body)).toBe(422)
  }
})

test('stderr, export, host, attending, pruning and the doctor answer', async () => {
  const id = await api.create('asks-once')
  await api.until(id, 'awaiting_input')
  const at = `/api/instances/${id}`
  expect((await api.call('GET', `${at}/host`)).json).toEqual({ attended: true })
  expect((await api.call('POST', `${at}/attend`)).status).toBe(204)
  const stderr = await api.call('GET', `${at}/stderr`, { token: api.tokens.run })
  expect(stderr.status).toBe(200)
  expect(stderr.headers.get('content-type')).toContain('text/plain')
  const archive = await fetch(`${api.url}${at}/export`, { headers: { authorization: `Bearer ${api.tokens.read}` } })
  expect(archive.headers.get('content-type')).toBe('application/gzip')
  expect(gunzipSync(Buffer.from(await archive.arrayBuffer())).toString('latin1')).toContain(`resolve-${id}/record.json`)
  await api.call('DELETE', at)
  await api.until(id, 'cancelled')
  const planned = await api.call('POST', '/api/prune', { body: { older_than_ms: 0, dry_run: true } })
  expect(planned).toMatchObject({ status: 200, json: { dry_run: true } })
  expect((await api.call('GET', at)).status).toBe(200)
  const rows = await api.call('GET', '/api/doctor')
  expect(rows.json.map((row: { check: string }) => row.check)).toContain('home')
  expect((await api.call('POST', '/api/doctor', { body: { fix: false } })).status).toBe(200)
})

// verifies: R7
test('an archive holds only what its reader may know: no local paths, and stderr for the scope run only', async () => {
  const id = await api.create('asks-once')
  await api.until(id, 'awaiting_input')
  const archiveFor = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(`${api.url}/api/instances/${id}/export`, { headers })
    return gunzipSync(Buffer.from(await answer.arrayBuffer())).toString('latin1')
  }
  const [read, run] = [await archiveFor(api.tokens.read), await archiveFor(api.tokens.run)]
  expect(read).toContain(`resolve-${id}/journal`)
  expect(read).not.toContain(`resolve-${id}/stderr`)
  expect(run).toContain(`resolve-${id}/stderr`)
  for (const archive of [read, run]) expect(archive).not.toContain(api.home)
  await api.call('DELETE', `/api/instances/${id}`)
})

// verifies: R7
test('the error of a host in another process is not passed on to the client', async () => {
  const refusesTypes = plainResolver(
    'await me.sleep(60000)',
    { name: 'refuses-types' },
    `delete me.on['resolver.getMessageTypes']
process.stdin.on('data', (bytes) => {
  for (const line of String(bytes).split('\\n').filter(Boolean)) {
    const { id, method } = JSON.parse(line)
    const error = { code: -32000, message: 'lost /secret/place' }
    if (method === 'resolver.getMessageTypes') print(JSON.stringify({ jsonrpc: '2.0', id, error }) + '\\n')
  }
})`,
  )
  const other = await openApi([refusesTypes], {})
  const elsewhere = await platformOn(other.home)
  try {
    const { instance_id: id } = await elsewhere.create({ resolver: 'refuses-types', input: {} })
    await other.until(id, 'running')
    const { status, json } = await other.call('GET', `/api/instances/${id}/message-types`)
    expect({ status, json }).toEqual({
      status: 502,
      json: { detail: 'The resolver answered resolver.getMessageTypes with an error.', code: 'resolver_refused' },
    })
    await elsewhere.stop(id, { force: true })
    await elsewhere.over(id)
  } finally {
    await elsewhere.close()
    await other.close()
  }
})

// verifies: S-AUTH-01 R37
test('each scope permits its routes, and without a token every route is refused', async () => {
  const id = await api.create('exits-zero')
  const at = `/api/instances/${id}`
  const table = [
    ...[
      ['GET', at, 'read'],
      ['GET', `${at}/data`, 'read'],
      ['GET', '/api/openapi.json', 'read'],
    ],
    ...[
      ['GET', `${at}/stderr`, 'run'],
      ['POST', '/api/instances', 'run'],
      ['DELETE', at, 'run'],
      ['PATCH', at, 'run'],
    ],
    ...[
      ['GET', '/api/doctor', 'admin'],
      ['POST', '/api/prune', 'admin'],
    ],
  ] as [string, string, 'read' | 'run' | 'admin'][]
  const scopes = ['read', 'run', 'admin'] as const
  for (const [method, path, needs] of table) {
    const anonymous = await api.call(method, path, { token: null })
    expect(anonymous, path).toMatchObject({ status: 401, json: { code: 'token_missing' } })
    expect(anonymous.headers.get('www-authenticate')).toBe('Bearer')
    for (const scope of scopes) {
      const { json, status } = await api.call(method, path, { token: api.tokens[scope] })
      const isLet = scopes.indexOf(scope) >= scopes.indexOf(needs)
      expect(json?.code === 'scope_missing' && status === 403, `${scope} ${method} ${path}`).toBe(!isLet)
    }
  }
  const body = { resolver: 'exits-zero', input: {}, executor: 'local' }
  expect((await api.call('POST', '/api/instances', { body, token: api.tokens.run })).status).toBe(403)
  expect((await api.call('POST', '/api/instances', { body })).status).toBe(202)
  expect((await api.call('GET', '/api/nothing', { token: null })).status).toBe(401)
  expect((await api.call('GET', '/api/nothing')).json.code).toBe('route_unknown')
  expect((await api.call('GET', '/api/auth/status', { token: null })).status).toBe(200)
  expect((await api.call('GET', '/api/health', { token: null })).json).toEqual({ status: 'ok' })
})

test('a token of one instance cannot learn that another instance exists', async () => {
  const [mine, other] = [await api.create('exits-zero'), await api.create('exits-zero')]
  const token = await api.tokenOf(mine)
  expect((await api.call('GET', `/api/instances/${mine}`, { token })).status).toBe(200)
  const [foreign, unknown] = [
    await api.call('GET', `/api/instances/${other}`, { token }),
    await api.call('GET', '/api/instances/ffffffffffff', { token }),
  ]
  expect(foreign.status).toBe(404)
  expect(foreign.text.replaceAll(other, 'ID')).toBe(unknown.text.replaceAll('ffffffffffff', 'ID'))
  expect((await api.call('DELETE', `/api/instances/${other}`, { token })).status).toBe(404)
  const listed = (await api.call('GET', '/api/instances', { token })).json
  expect(listed.map((one: { instance_id: string }) => one.instance_id)).toEqual([mine])
  expect((await api.call('GET', `/api/instances?reference=${other}`, { token })).status).toBe(404)
  expect((await api.call('GET', `/api/instances?reference=@last`, { token })).json[0].instance_id).toBe(mine)
  expect((await api.call('POST', '/api/instances', { token, body: { resolver: 'hello', input: {} } })).status).toBe(403)
  expect((await api.call('GET', '/api/resolvers', { token })).status).toBe(403)
})

test('every answer carries the security headers for browsers', async () => {
  const answers = [
    await api.call('GET', '/api/instances'),
    await api.call('GET', '/api/instances', { token: null }),
    await api.call('GET', '/nothing'),
    await api.call('GET', '/api/%ff'),
    await api.call('GET', '/'),
  ]
  for (const { headers } of answers) {
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
      'x-frame-options': 'DENY',
    })
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect([...headers.keys()].filter((name) => name.startsWith('access-control') || name === 'set-cookie')).toEqual([])
  }
  expect((await api.call('GET', '/', { token: null })).text).toContain('/api/openapi.json')
})

test('no request of this file caused a fault', () => {
  expect(api.faults.filter((fault) => (fault as { code?: string }).code === 'bug')).toEqual([])
  expect(api.faults.every((fault) => typeof (fault as { code?: unknown }).code === 'string')).toBe(true)
})

function payloadFor(schema: { components: { id: string; type: string; options?: { value: string }[] }[] }) {
  return Object.fromEntries(
    schema.components.map(({ id, type, options }) => {
      if (type === 'checkbox') return [id, true]
      return [id, type === 'select' ? options?.[0]?.value : 'yes']
    }),
  )
}
