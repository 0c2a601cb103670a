/** Sign-in links: a code is worth one token, once, for a quarter of an hour (R38), and what a token opens can be asked (R9). */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openTokens, type Tokens } from '../../src/core/index.ts'
import { openSignIn } from '../../src/server/access/sign-in.ts'
import { type Served, serveHome } from './served.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

describe('codes', () => {
  let home: string
  let tokens: Tokens
  let now: number
  const clock = () => now

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'resolve-sign-in-'))
    now = Date.parse('2026-01-01T00:00:00Z')
    tokens = openTokens(home, { now: clock })
  })

  afterEach(() => rmSync(home, { recursive: true, force: true }))

  test('the first start makes an admin token, which the first sign-in code gives (R38)', async () => {
    const signIn = await openSignIn(tokens, { now: clock })
    const [first] = tokens.list()
    expect(first).toMatchObject({ name: 'sign-in', scope: 'admin', instance: null })
    const code = signIn.code()
    expect(Buffer.from(code, 'base64url').length).toBeGreaterThanOrEqual(16)
    const { token, entry } = await signIn.redeem(code)
    expect(entry).toEqual(first)
    expect(tokens.verify(token)).toEqual(first)
    expect(tokens.list()).toHaveLength(1)
    expect(Date.parse(entry.expires_at as string) - now).toBe(30 * DAY_MS)
    await signIn.close()
    expect(tokens.verify(token)).toEqual(first)
  })

  test('a later start makes a token only when its code is redeemed', async () => {
    await tokens.create()
    const signIn = await openSignIn(tokens, { now: clock })
    const code = signIn.code()
    expect(tokens.list()).toHaveLength(1)
    const { token, entry } = await signIn.redeem(code)
    expect(tokens.list()).toHaveLength(2)
    expect(tokens.verify(token)).toEqual(entry)
    expect(entry).toMatchObject({
      name: 'sign-in',
      scope: 'admin',
      expires_at: new Date(now + 30 * DAY_MS).toISOString(),
    })
    await signIn.close()
  })

  test('a first token that was never fetched is removed, so that the next start is the first again', async () => {
    const signIn = await openSignIn(tokens, { now: clock })
    const code = signIn.code()
    await signIn.close()
    expect(tokens.list()).toEqual([])
    await expect(signIn.redeem(code)).rejects.toMatchObject({ code: 'code_refused' })
  })

  test('a home whose tokens have all expired is treated as new', async () => {
    await tokens.create({ expiresMs: 1 })
    now += 1
    const signIn = await openSignIn(tokens, { now: clock })
    expect(tokens.list()).toHaveLength(2)
    await signIn.close()
  })

  test('a code works once, also for two simultaneous requests', async () => {
    await tokens.create()
    const signIn = await openSignIn(tokens, { now: clock })
    const code = signIn.code()
    const both = await Promise.allSettled([signIn.redeem(code), signIn.redeem(code), signIn.redeem(code)])
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    await expect(signIn.redeem(code)).rejects.toMatchObject({ code: 'code_refused', httpStatus: 401 })
    expect(tokens.list()).toHaveLength(2)
  })

  test('a code is good for 15 minutes', async () => {
    await tokens.create()
    const signIn = await openSignIn(tokens, { now: clock })
    const [one, two] = [signIn.code(), signIn.code()]
    now += 15 * MINUTE_MS - 1
    await signIn.redeem(one)
    now += 1
    await expect(signIn.redeem(two)).rejects.toMatchObject({ code: 'code_refused' })
  })

  test('after ten wrong codes within a minute codes are refused until the minute is over', async () => {
    const signIn = await openSignIn(tokens, { now: clock })
    const code = signIn.code()
    const wrong = ['', ' ', code.slice(1), `${code}x`, code.toUpperCase(), code.toLowerCase(), 'null', '1', '2', '3']
    for (const guess of wrong) await expect(signIn.redeem(guess)).rejects.toMatchObject({ code: 'code_refused' })
    await expect(signIn.redeem(code)).rejects.toMatchObject({ code: 'too_many', httpStatus: 429 })
    now += MINUTE_MS
    expect((await signIn.redeem(code)).entry.scope).toBe('admin')
    await signIn.close()
  })

  test('a code whose token cannot be made is not used up', async () => {
    await tokens.create()
    const signIn = await openSignIn(tokens, { now: clock })
    const code = signIn.code()
    const file = join(home, 'tokens.json')
    const whole = readFileSync(file)
    writeFileSync(file, '{')
    await expect(signIn.redeem(code)).rejects.toMatchObject({ code: 'tokens_broken' })
    writeFileSync(file, whole)
    expect((await signIn.redeem(code)).entry.name).toBe('sign-in')
  })
})

describe('over HTTP', () => {
  let served: Served

  beforeEach(async () => {
    served = await serveHome()
  })

  afterEach(() => served.end())

  const verify = (body: unknown, lines: readonly string[] = ['Content-Type: application/json']) =>
    served.ask('/api/auth/verify', lines, { method: 'POST', body: JSON.stringify(body) })
  const status = (...lines: string[]) => served.ask('/api/auth/status', lines)

  test('a code is exchanged for a token of the API, and is stored in no file', async () => {
    const answer = await verify({ code: served.signIn.code() })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      token: expect.stringMatching(/^rslv_/),
      scope: 'admin',
      name: 'sign-in',
      instance: null,
      expires_at: expect.stringMatching(/^\d{4}-.+Z$/),
    })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const token = String(answer.body['token'])
    expect((await served.ask('/api/instances', [`Authorization: Bearer ${token}`])).status).toBe(200)
    expect(readFileSync(join(served.home, 'tokens.json'), 'utf8')).not.toContain(token)
  })

  test('a code works once, with an Idempotency-Key too: the token is not stored for a retry', async () => {
    const code = served.signIn.code()
    const lines = ['Content-Type: application/json', 'Idempotency-Key: again']
    expect((await verify({ code }, lines)).status).toBe(200)
    const again = await verify({ code }, lines)
    expect([again.status, again.body['code'], again.headers.get('www-authenticate')]).toEqual([
      401,
      'code_refused',
      'Bearer',
    ])
  })

  test('signing in with a token answers its scope, and makes no token', async () => {
    const { token, entry } = await served.tokens.create({ name: 'ada', scope: 'run', expiresMs: DAY_MS })
    const before = served.tokens.list().length
    expect(await verify({ token })).toMatchObject({
      status: 200,
      body: { scope: 'run', name: 'ada', instance: null, expires_at: entry.expires_at },
    })
    expect(served.tokens.list()).toHaveLength(before)
    for (const wrong of ['x', ` ${token}`, `${token} `, `${token}\n`, `Bearer ${token}`, token.slice(1)]) {
      const answer = await verify({ token: wrong })
      expect([answer.status, answer.body['code']], JSON.stringify(wrong)).toEqual([401, 'token_refused'])
    }
  })

  test.each([
    ['nothing', {}],
    ['both', { code: 'a', token: 'b' }],
    ['an empty code', { code: '' }],
    ['a list', { code: ['a'] }],
    ['a number', { token: 1 }],
    ['no object', 'code'],
    ['null', null],
    ['a code without end', { code: 'a'.repeat(100_000) }],
  ])('signing in with %s is refused with 422', async (_, body) => {
    expect((await verify(body)).status).toBe(422)
  })

  test('the status answers the scope of the token, and also without a token (R37)', async () => {
    const instance = await served.newInstance()
    const { token } = await served.tokens.create({ name: 'ada', scope: 'read', instance })
    expect(await status(`Authorization: Bearer ${token}`)).toMatchObject({
      status: 200,
      body: { authenticated: true, scope: 'read', name: 'ada', instance, expires_at: null },
    })
    const anonymous = { authenticated: false, scope: null, name: null, instance: null, expires_at: null }
    for (const lines of [[], ['Authorization: Bearer x'], ['Authorization:'], [`Cookie: token=${token}`]]) {
      const answer = await status(...lines)
      expect([answer.status, answer.body]).toEqual([200, anonymous])
    }
    const twice = await served.ask(`/api/auth/status?token=${token}`)
    expect(twice.body).toEqual(anonymous)
  })

  test('another page cannot try codes', async () => {
    const lines = ['Content-Type: application/json', 'Origin: http://evil.test']
    const answer = await verify({ code: served.signIn.code() }, lines)
    expect([answer.status, answer.body['code']]).toEqual([403, 'origin_refused'])
  })
})
