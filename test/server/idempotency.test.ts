/** One effect and one answer for a key, however often and however closely it is sent, and whatever dies between (R11). */
import { execFileSync, spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { IdempotencyKeys } from '../../src/core/index.ts'
import { IDEMPOTENCY_KEEP_MS } from '../../src/core/limits.ts'
import { temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Api, openApi } from './api.ts'

let api: Api

const chatty = plainResolver('await me.sleep(60000)', { name: 'chatty' })
/** It says that it was asked for its form, and answers when it may. */
const marks = mkdtempSync(join(tmpdir(), 'resolve-slow-'))
const [asked, mayAnswer] = [join(marks, 'asked'), join(marks, 'may-answer')]
const slow = plainResolver(
  'me.finish({ status: "completed" })',
  { name: 'slow' },
  `me.on['resolver.getInstantiationSchema'] = () => {
     fs.writeFileSync(${JSON.stringify(asked)}, '')
     while (!fs.existsSync(${JSON.stringify(mayAnswer)})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
     return null
   }`,
)
const scope = ['token', 'POST', '/api/instances']

beforeAll(async () => {
  api = await openApi(['exits-zero', 'asks-once', 'checkpoints', chatty, slow])
})

afterAll(async () => await api.close())

const post = (path: string, key: string, body?: unknown, token = api.tokens.admin) =>
  api.call('POST', path, { headers: { 'idempotency-key': key }, token, ...(body === undefined ? {} : { body }) })

const count = async () => (await api.call('GET', '/api/instances?limit=500')).json.length as number
const hello = (name: string) => ({ resolver: 'hello', input: { name } })

// verifies: R11
test('the same key and body repeat the first answer, byte for byte', async () => {
  const before = await count()
  const first = await post('/api/instances', 'k1', hello('Ada'))
  await api.until(first.json.instance_id, 'completed')
  const again = await post('/api/instances', 'k1', hello('Ada'))
  expect([again.status, again.text]).toEqual([202, first.text])
  expect(again.headers.get('location')).toBe(first.headers.get('location'))
  expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'))
  expect([first, again].map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true'])
  expect(await count()).toBe(before + 1)
})

test('the same key with another body is refused, and so is a malformed key', async () => {
  await post('/api/instances', 'k2', hello('Ada'))
  const before = await count()
  expect(await post('/api/instances', 'k2', hello('Bob'))).toMatchObject({ status: 409, json: { code: 'key_reused' } })
  for (const key of ['', 'x'.repeat(257)]) {
    expect((await post('/api/instances', key, hello('Ada'))).json.code, key).toBe('request_malformed')
  }
  expect(await count()).toBe(before)
})

test('a key belongs to its token and its path', async () => {
  const mine = await post('/api/instances', 'k3', hello('Ada'))
  const theirs = await post('/api/instances', 'k3', hello('Ada'), api.tokens.run)
  expect(theirs.status).toBe(202)
  expect(theirs.json.instance_id).not.toBe(mine.json.instance_id)
  expect((await post('/api/resolvers/hello/check', 'k3', { input: {} })).status).toBe(200)
})

test('twenty simultaneous requests with one key have one effect and one answer', async () => {
  const before = await count()
  const tries = await Promise.all(Array.from({ length: 20 }, () => post('/api/instances', 'k4', hello('Ada'))))
  expect(new Set(tries.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect(tries[0]?.status).toBe(202)
  expect(await count()).toBe(before + 1)
  const id = await api.create('chatty')
  await api.until(id, 'running')
  const body = { message_type: 'note', payload: { text: 'once' } }
  const sent = await Promise.all(Array.from({ length: 20 }, () => post(`/api/instances/${id}/messages`, 'k4', body)))
  expect(new Set(sent.map(({ text }) => text))).toEqual(new Set(['{"accepted":true,"number":1}']))
  expect((await api.call('GET', `/api/instances/${id}/messages`)).json).toHaveLength(1)
  await post(`/api/instances/${id}/stop`, 'k4', { force: true })
})

test('a retry while the first request still runs gets its answer, not a second effect', async () => {
  const before = await count()
  const body = { resolver: 'slow', input: {} }
  const gone = new AbortController()
  const first = fetch(`${api.url}/api/instances`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${api.tokens.admin}`,
      'idempotency-key': 'k13',
    },
    signal: gone.signal,
  })
  const refused = expect(first).rejects.toThrow()
  await expect.poll(() => existsSync(asked)).toBe(true)
  gone.abort()
  await refused
  const repeated = post('/api/instances', 'k13', body)
  writeFileSync(mayAnswer, '')
  const again = await repeated
  expect(again.status).toBe(202)
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(await count()).toBe(before + 1)
})

test('a refusal is repeated like an answer; a malformed request is not recorded', async () => {
  const refused = await post('/api/instances', 'k5', { resolver: 'nobody', input: {} })
  expect(refused.status).toBe(404)
  expect((await post('/api/instances', 'k5', { resolver: 'nobody', input: {} })).text).toBe(refused.text)
  expect((await post('/api/instances', 'k6', { input: {} })).status).toBe(422)
  expect((await post('/api/instances', 'k6', hello('Ada'))).status).toBe(202)
})

test('an answer without a body is repeated without one', async () => {
  const id = await api.create('asks-once')
  await api.until(id, 'awaiting_input')
  const [request] = (await api.call('GET', `/api/instances/${id}/input-requests`)).json
  const payload = Object.fromEntries(request.schema.components.map((one: { id: string }) => [one.id, 'yes']))
  const at = `/api/instances/${id}/input-requests/${request.id}`
  expect((await post(at, 'k7', payload)).status).toBe(204)
  const again = await post(at, 'k7', payload)
  expect([again.status, again.text]).toEqual([204, ''])
  expect((await post(at, 'k8', payload)).json.code).toBe('already_answered')
})

test('after a crash between effect and answer the retry answers the same instance and creates no second one', async () => {
  // The claim as a server leaves it that dies right after the effect.
  await post('/api/instances', 'k9', hello('Ada'))
  const before = await count()
  const { file, kept } = newestClaim(api.home)
  writeFileSync(file, JSON.stringify({ ...kept, answer: null }))
  const again = await post('/api/instances', 'k9', hello('Ada'))
  expect(again).toMatchObject({ status: 202, json: { instance_id: kept.instance_id } })
  expect(await count()).toBe(before)
  // Before the effect: it has it now.
  const early = { ...kept, answer: null, instance_id: 'abcdefabcdef' }
  writeFileSync(file, JSON.stringify(early))
  expect((await post('/api/instances', 'k9', hello('Ada'))).json.instance_id).toBe('abcdefabcdef')
  expect(await count()).toBe(before + 1)
})

test('after a crash between effect and answer a message is not sent twice, and the retry of a stop is not refused', async () => {
  const id = await api.create('chatty')
  await api.until(id, 'running')
  const at = `/api/instances/${id}`
  const body = { message_type: 'note', payload: { text: 'once' } }
  const first = await post(`${at}/messages`, 'k10', body)
  forget(api.home)
  expect((await post(`${at}/messages`, 'k10', body)).json).toEqual(first.json)
  expect((await api.call('GET', `${at}/messages`)).json).toHaveLength(1)
  await post(`${at}/stop`, 'k11', { force: true })
  await api.until(id, 'cancelled')
  forget(api.home)
  expect(await post(`${at}/stop`, 'k11', { force: true })).toMatchObject({ status: 200, json: { status: 'cancelled' } })
  expect(await post(`${at}/stop`, 'k12', { force: true })).toMatchObject({ status: 409 })
})

test('the claim of a key is on disk before the effect begins, also for a process killed at once', async () => {
  const home = temporaryHome()
  const program = `
    import { IdempotencyKeys } from ${JSON.stringify(join(import.meta.dirname, '../../src/core/store/idempotency.ts'))}
    const claim = await new IdempotencyKeys(${JSON.stringify(home)}).claim({ scope: ${JSON.stringify(scope)}, key: 'k', body: { a: 1 } })
    process.stdout.write(claim.instanceId)
    process.kill(process.pid, 'SIGKILL')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program])
  let told = ''
  for await (const chunk of child.stdout) told += chunk
  expect(told).toMatch(/^[0-9a-f]{12}$/)
  const claim = await new IdempotencyKeys(home).claim({ scope, key: 'k', body: { a: 1 } })
  expect(claim).toMatchObject({ instanceId: told, isRetry: true })
})

test('a released claim goes to the next request; a held claim makes the others wait', async () => {
  const keys = new IdempotencyKeys(temporaryHome())
  const call = { scope, key: 'k', body: null }
  const first = await keys.claim(call)
  if ('status' in first) throw new Error('nothing was answered yet')
  const order: string[] = []
  const second = keys.claim(call).then((claim) => {
    order.push('second')
    return claim
  })
  await new Promise((resolve) => setTimeout(resolve, 50))
  order.push('released')
  first.release()
  const served = await second
  expect(order).toEqual(['released', 'second'])
  if ('status' in served) throw new Error('nothing was answered yet')
  expect([served.instanceId, served.key]).toEqual([first.instanceId, first.key])
  await served.answer({ status: 200, location: null, body: '{}' })
  served.release()
  expect(await keys.claim(call)).toEqual({ status: 200, location: null, body: '{}' })
})

test('keys expire after a day and are removed, their files are private, and a truncated one is tolerated', async () => {
  const home = temporaryHome()
  const keys = new IdempotencyKeys(home)
  const call = { scope, key: 'k', body: null }
  const claim = await keys.claim(call)
  if ('status' in claim) throw new Error('nothing was answered yet')
  await claim.answer({ status: 200, location: null, body: '{}' })
  claim.release()
  const folder = join(home, 'idempotency')
  const [name] = readdirSync(folder) as [string]
  expect(readdirSync(folder)).toHaveLength(1)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  await keys.sweep()
  expect(readdirSync(folder)).toHaveLength(1)
  const kept = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  const old = new Date(Date.now() - IDEMPOTENCY_KEEP_MS - 60_000)
  writeFileSync(join(folder, name), JSON.stringify({ ...kept, since: old.toISOString() }))
  const fresh = await keys.claim(call)
  expect(fresh).toMatchObject({ isRetry: false })
  if (!('status' in fresh)) fresh.release()
  writeFileSync(join(folder, name), '{"body":')
  const cut = await keys.claim(call)
  expect(cut).toMatchObject({ isRetry: false })
  if (!('status' in cut)) cut.release()
  writeFileSync(join(folder, '.half.tmp'), 'x')
  for (const file of readdirSync(folder)) utimesSync(join(folder, file), old, old)
  await keys.sweep()
  expect(readdirSync(folder)).toEqual([])
})

test('a server without space for the key answers 507 before any effect', async () => {
  const home = temporaryHome()
  mkdirSync(join(home, 'idempotency'))
  execFileSync('rmdir', [join(home, 'idempotency')])
  writeFileSync(join(home, 'idempotency'), 'in the way')
  await expect(new IdempotencyKeys(home).claim({ scope, key: 'k', body: null })).rejects.toMatchObject({
    code: 'home_unusable',
    httpStatus: 507,
  })
})

function claims(home: string): { file: string; kept: { instance_id: string; answer: unknown; since: string } }[] {
  const folder = join(home, 'idempotency')
  return readdirSync(folder).map((name) => {
    const file = join(folder, name)
    return { file, kept: JSON.parse(readFileSync(file, 'utf8')) }
  })
}

function newestClaim(home: string) {
  const [newest] = claims(home).sort((a, b) => (a.kept.since < b.kept.since ? 1 : -1))
  if (newest === undefined) throw new Error('no key was claimed')
  return newest
}

/** As a server leaves it that died before it kept its last answer. */
function forget(home: string): void {
  const { file, kept } = newestClaim(home)
  writeFileSync(file, JSON.stringify({ ...kept, answer: null }))
}
