/** Who may: one well-formed token in its place, its scope, its instance (R37, R38; S-AUTH-01, S-AUTH-02; threats WEB-5, WEB-6, WEB-12). */
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers, SCOPES, type Scope } from '../../src/core/protocol/http.ts'
import { type Route, type Served, serveHome } from './served.ts'

let served: Served
let mine: string
let foreign: string
let token: string
let revoked: string
let expired: string
const tokens = {} as Record<Scope, string>

beforeAll(async () => {
  served = await serveHome()
  mine = await served.newInstance()
  foreign = await served.newInstance()
  for (const scope of SCOPES) tokens[scope] = (await served.tokens.create({ name: scope, scope })).token
  token = tokens.read
  const taken = await served.tokens.create()
  revoked = taken.token
  await served.tokens.revoke(taken.entry.id)
  expired = (await served.tokens.create({ expiresMs: 1 })).token
  await sleep(5)
})

afterAll(() => served.end())

const bearer = (text: string) => `Authorization: Bearer ${text}`

test('a token in the header is accepted, with its scheme in any case (S-AUTH-01)', async () => {
  const lines = [bearer(token), `authorization: bearer ${token}`, `AUTHORIZATION:   BEARER  ${token}  `]
  for (const line of lines) expect((await served.ask('/api/instances', [line])).status, line).toBe(200)
})

/** What each is, its header lines, and the address where it is no plain one. */
const MALFORMED: readonly [string, () => string[], (() => string)?][] = [
  ['nothing', () => []],
  ['an empty header', () => ['Authorization:']],
  ['the scheme alone', () => ['Authorization: Bearer']],
  ['the scheme and white space', () => ['Authorization: Bearer    ']],
  ['white space alone', () => ['Authorization:   \t ']],
  ['the token without a scheme', () => [`Authorization: ${token}`]],
  ['no space after the scheme', () => [`Authorization: Bearer${token}`]],
  ['a tab after the scheme', () => [`Authorization: Bearer\t${token}`]],
  ['another scheme', () => [`Authorization: Token ${token}`]],
  ['Basic, the token as password', () => [`Authorization: Basic ${Buffer.from(`a:${token}`).toString('base64')}`]],
  ['the word nothing', () => [bearer('nothing')]],
  ['the word undefined', () => [bearer('undefined')]],
  ['the word null', () => [bearer('null')]],
  ['a quoted token', () => [bearer(`"${token}"`)]],
  ['something after the token', () => [bearer(`${token} x`)]],
  ['two tokens in one header', () => [bearer(`${token}, Bearer ${token}`)]],
  ['the header twice', () => [bearer(token), bearer(token)]],
  ['a wrong header before a right one', () => [bearer('nothing'), bearer(token)]],
  ['a wrong header after a right one', () => [bearer(token), 'authorization: Bearer nothing']],
  ['an empty header after a right one', () => [bearer(token), 'Authorization:']],
  ['a token cut short', () => [bearer(token.slice(0, -1))]],
  ['a token with one letter more', () => [bearer(`${token}A`)]],
  ['a token in capitals', () => [bearer(token.toUpperCase())]],
  ['the id of a token', () => [bearer(token.slice(5, 13))]],
  ['a token that was revoked', () => [bearer(revoked)]],
  ['a token that expired', () => [bearer(expired)]],
  ['letters beyond ASCII', () => [bearer(`${token}\u00e9`)]],
  ['a header for proxies', () => [`Proxy-Authorization: Bearer ${token}`]],
  ['a header of another name', () => [`X-Auth-Token: ${token}`, `X-API-Key: ${token}`]],
  ['a cookie', () => [`Cookie: token=${token}; authorization=Bearer ${token}`]],
  ['the query of a route that takes none', () => [], () => `/api/instances?token=${token}`],
  ['the query under another name', () => [], () => `/api/instances/${mine}/events?access_token=${token}`],
  ['the query of the events route, in capitals', () => [], () => `/api/instances/${mine}/events?TOKEN=${token}`],
  ['an empty token in the query', () => [], () => `/api/instances/${mine}/events?token=`],
  ['a wrong token in the query', () => [], () => `/api/instances/${mine}/events?token=nothing`],
  ['the scheme too in the query', () => [], () => `/api/instances/${mine}/events?token=Bearer%20${token}`],
  ['the token twice in the query', () => [], () => `/api/instances/${mine}/events?token=${token}&token=${token}`],
  ['a list in the query', () => [], () => `/api/instances/${mine}/events?token[]=${token}`],
  ['a list that is one object', () => [], () => `/api/instances/${mine}/events?token[0]=${token}`],
  ['a header and a query', () => [bearer(token)], () => `/api/instances/${mine}/events?token=${token}`],
  ['a wrong header and a right query', () => [bearer('x')], () => `/api/instances/${mine}/events?token=${token}`],
  ['an empty header and a right query', () => ['Authorization:'], () => `/api/instances/${mine}/events?token=${token}`],
  ['the query in the path', () => [], () => `/api/instances/${mine}/events%3Ftoken=${token}`],
  ['the query after a fragment', () => [], () => `/api/instances/${mine}/events#?token=${token}`],
]

test.each(MALFORMED)('%s is refused with 401 and the accepted scheme (R37, WEB-5)', async (_, lines, target) => {
  const answer = await served.ask(target?.() ?? '/api/instances', lines())
  expect(answer.status, answer.text).toBe(401)
  expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  expect(['token_missing', 'token_refused']).toContain(answer.body['code'])
  expect(answer.text).not.toContain(token)
})

test('only the events route takes the token as a query parameter (S-AUTH-02)', async () => {
  const events = await served.ask(`/api/instances/${mine}/events?follow=false&token=${token}`)
  expect([events.status, events.headers.get('content-type')]).toEqual([200, expect.stringContaining('event-stream')])
  const routes = served.routes.filter(({ url, needs }) => needs !== 'none' && !url.endsWith('/events'))
  expect(routes.length).toBeGreaterThan(25)
  for (const route of routes) {
    const { status } = await served.ask(`${filled(route, mine)}?token=${tokens.admin}`, [], { method: route.method })
    expect([route.method, route.url, status]).toEqual([route.method, route.url, 401])
  }
})

test('every route of the API asks for a token, but the three that R37 names', () => {
  const open = served.routes.filter(({ url, needs }) => url.startsWith('/api') && needs === 'none')
  expect(open.map(({ method, url }) => `${method} ${url}`).toSorted()).toEqual([
    'GET /api/auth/status',
    'GET /api/health',
    'POST /api/auth/verify',
  ])
})

test('an unknown route asks for a token too, so that routes cannot be guessed', async () => {
  expect((await served.ask('/api/nothing')).status).toBe(401)
  expect((await served.ask('/api/nothing', [bearer(token)])).status).toBe(404)
  expect((await served.ask('/api/instances', [], { method: 'PUT' })).status).toBe(401)
})

test('every route refuses the scopes below its own with 403, and no others (R38)', async () => {
  const guarded = served.routes.filter(({ needs }) => needs !== 'none')
  expect(new Set(guarded.map(({ needs }) => needs))).toEqual(new Set(SCOPES))
  for (const route of guarded) {
    for (const scope of SCOPES) {
      const isEnough = covers(scope, route.needs as Scope)
      // Of no instance that is there, and with a body that is refused: nothing happens.
      const answer = await served.ask(filled(route, 'ffffffffffff'), [bearer(tokens[scope]), 'Content-Type: text/x'], {
        ...{ method: route.method, body: route.method === 'GET' ? undefined : 'x' },
      } as { method: string; body?: string })
      const at = `${scope} ${route.method} ${route.url}: ${answer.text.slice(0, 200)}`
      if (isEnough) expect([401, 403], at).not.toContain(answer.status)
      else expect([answer.status, answer.body['code']], at).toEqual([403, 'scope_missing'])
    }
  }
})

test('the scope read never permits a change', () => {
  const reading = served.routes.filter(({ method, needs, url }) => method !== 'GET' && needs === 'read' && url !== '*')
  // Checking an input creates nothing, and the token of a viewport is stored nowhere and opens less.
  expect(reading.map(({ method, url }) => `${method} ${url}`).toSorted()).toEqual([
    'POST /api/instances/:id/viewport-token',
    'POST /api/resolvers/:name/check',
  ])
})

test('for a token of one instance every other instance is unknown (WEB-12)', async () => {
  const { token: narrow } = await served.tokens.create({ scope: 'run', instance: mine })
  const routes = served.routes.filter(({ url }) => url.startsWith('/api/instances/:id'))
  expect(routes.length).toBeGreaterThan(15)
  for (const route of routes) {
    const ask = async (id: string) => {
      const lines = [bearer(narrow), 'Content-Type: application/json']
      const { status, text, headers } = await served.ask(filled(route, id), lines, {
        ...(route.method === 'GET' || route.method === 'DELETE' ? {} : { body: '{}' }),
        method: route.method,
      })
      headers.delete('date')
      return { status, text: text.replaceAll(id, 'ID'), headers: [...headers] }
    }
    const known = await ask(foreign)
    expect(known.status, `${route.method} ${route.url}`).toBe(404)
    expect(known).toEqual(await ask('ffffffffffff'))
  }
  expect((await served.ask(`/api/instances/${mine}`, [bearer(narrow)])).body['instance_id']).toBe(mine)
})

test('a token of one instance lists only that one, and is refused elsewhere (WEB-12)', async () => {
  const { token: narrow } = await served.tokens.create({ scope: 'read', instance: mine })
  const listed = async (query = '') => {
    const { status, text } = await served.ask(`/api/instances${query}`, [bearer(narrow)])
    return status === 200 ? (JSON.parse(text) as { instance_id: string }[]).map(({ instance_id: id }) => id) : status
  }
  expect(await listed()).toEqual([mine])
  expect(await listed('?limit=500')).toEqual([mine])
  expect(await listed('?resolver=hello')).toEqual([])
  expect(await listed(`?reference=${foreign}`)).toBe(404)
  expect(await listed('?reference=@last')).toEqual([mine])
  const elsewhere = served.routes.filter(
    ({ url, needs, narrows }) => needs !== 'none' && !narrows && !url.startsWith('/api/instances/:id'),
  )
  expect(elsewhere.length).toBeGreaterThan(5)
  for (const route of elsewhere) {
    const { status } = await served.ask(filled(route, mine), [bearer(narrow)], { method: route.method })
    expect([route.method, route.url, status]).toEqual([route.method, route.url, 403])
  }
})

test('a token for a viewport reads its instance, and ends with the token that asked for it (UI-3)', async () => {
  const { token: own, entry } = await served.tokens.create({ scope: 'admin' })
  const target = `/api/instances/${mine}/viewport-token`
  const made = await served.ask(target, [bearer(own)], { method: 'POST' })
  expect(made.status, made.text).toBe(200)
  const frame = made.body['token'] as string
  expect(Date.parse(made.body['expires_at'] as string) - Date.now()).toBeLessThanOrEqual(60 * 60_000)
  const status = async (path: string, given = frame, method = 'GET') =>
    (await served.ask(`/api${path}`, [bearer(given)], { method })).status
  expect(await status(`/instances/${mine}/data`)).toBe(200)
  expect(await status(`/instances/${foreign}`)).toBe(404)
  expect(await status(`/instances/${foreign}/viewport-token`, frame, 'POST')).toBe(404)
  expect(await status(`/instances/${mine}/viewport-token`, frame, 'POST')).toBe(401)
  expect(await status(`/instances/${mine}/stop`, frame, 'POST')).toBe(403)
  expect(await status('/resolvers')).toBe(403)
  expect(readdirSync(served.home).some((name) => name.endsWith('.json') && isIn(name, frame.slice(-43)))).toBe(false)
  const [, id, , expiry, signature] = frame.split('_') as [string, string, string, string, string]
  const forged = [
    `rslf_${id}_${foreign}_${expiry}_${signature}`,
    `rslf_${id}_${mine}_${Number(expiry) + 1}_${signature}`,
    `rslf_00000000_${mine}_${expiry}_${signature}`,
    `rslf_${id}_${mine}_${expiry}_${'A'.repeat(43)}`,
  ]
  for (const text of forged) expect(await status(`/instances/${mine}`, text), text).toBe(401)
  await served.tokens.revoke(entry.id)
  expect(await status(`/instances/${mine}`)).toBe(401)
})

const isIn = (name: string, text: string) => readFileSync(join(served.home, name), 'utf8').includes(text)

test('a token that is revoked is refused by the next request, on a connection that is open already (R38)', async () => {
  const { token: short, entry } = await served.tokens.create({ scope: 'read' })
  const read = () => fetch(`${served.url}/api/instances`, { headers: { authorization: `Bearer ${short}` } })
  expect((await read()).status).toBe(200)
  await served.tokens.revoke(entry.id)
  const after = await read()
  expect([after.status, await after.json()]).toEqual([401, expect.objectContaining({ code: 'token_refused' })])
})

test('a body of 5 GB without a token is answered with 401 at once, and not read (WEB-6)', async () => {
  const before = process.memoryUsage().rss
  const socket = connect(served.port, '127.0.0.1')
  socket.on('error', () => {})
  let heard = ''
  let sent = 0
  const answered = new Promise<void>((done) => {
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1')
      if (heard.includes('\r\n\r\n')) done()
    })
  })
  const closed = new Promise<void>((done) => socket.once('close', () => done()))
  const lines = ['POST /api/instances HTTP/1.1', `Host: 127.0.0.1:${served.port}`, 'Content-Type: application/json']
  socket.write([...lines, `Content-Length: ${5 * 1024 ** 3}`, '', ''].join('\r\n'))
  const piece = Buffer.alloc(256 * 1024, 0x20)
  const pour = async () => {
    while (!socket.destroyed && sent < 256 * 1024 ** 2) {
      sent += piece.length
      if (!socket.write(piece)) await Promise.race([new Promise((done) => socket.once('drain', done)), closed])
    }
  }
  const pouring = pour()
  await answered
  expect(heard).toMatch(/^HTTP\/1\.1 401 /)
  await Promise.race([closed, pouring])
  socket.destroy()
  expect(sent).toBeLessThan(64 * 1024 ** 2)
  expect(process.memoryUsage().rss - before).toBeLessThan(96 * 1024 ** 2)
})

/** The address of a route, about this instance. */
function filled({ url }: Route, id: string): string {
  const names: Record<string, string> = { id, name: 'hello', rid: 'gate' }
  return url.replace(/:(\w+)/g, (_, name: string) => names[name] ?? 'x').replace('*', 'x')
}
