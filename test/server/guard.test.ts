/** From where: our own names, our own origin, no page of another site (R37; threats WEB-1, WEB-2). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hostGuard } from '../../src/server/access/guard.ts'
import { type Served, serveHome } from './served.ts'

let served: Served
let bearer: string

beforeAll(async () => {
  served = await serveHome({ boundHost: '192.0.2.7', allowedHosts: ['Box.example', 'proxy.example:8443'] })
  bearer = `Authorization: Bearer ${(await served.tokens.create({ scope: 'admin' })).token}`
})

afterAll(() => served.end())

/** With PORT for the one that is listened on. */
const lined = (lines: readonly string[]) => lines.map((line) => line.replaceAll('PORT', String(served.port)))
const ask = (lines: readonly string[], target = '/api/instances', method = 'GET') =>
  served.ask(target.replaceAll('PORT', String(served.port)), lined([...lines, bearer]), { method })

describe('Host', () => {
  test.each([
    '127.0.0.1:PORT',
    'localhost:PORT',
    'LocalHost:PORT',
    '[::1]:PORT',
    '192.0.2.7:PORT',
    'box.example',
    'box.example:PORT',
    'box.example:443',
    'proxy.example:8443',
  ])('%s is accepted', async (host) => {
    expect((await ask([`Host: ${host}`])).status).toBe(200)
  })

  test.each([
    'evil.test',
    'evil.test:PORT',
    '127.0.0.1',
    'localhost',
    'localhost:1',
    'localhost:0PORT',
    'localhost.:PORT',
    'localhost.evil.test:PORT',
    'evil.test#localhost:PORT',
    'evil.test@localhost:PORT',
    'localhost:PORT@evil.test',
    'localhost:PORT:PORT',
    'localhost:PORT, evil.test',
    'localhost:PORT/',
    'localhost :PORT',
    '127.1:PORT',
    '2130706433:PORT',
    '0x7f000001:PORT',
    '127.0.0.2:PORT',
    '0.0.0.0:PORT',
    '[::]:PORT',
    '[::ffff:127.0.0.1]:PORT',
    '[0:0:0:0:0:0:0:1]:PORT',
    '::1:PORT',
    'proxy.example',
    'proxy.example:443',
    'sub.box.example',
    'box.example:',
    'box.example:123456',
    '',
    '*',
  ])('%j is refused before anything else is checked (WEB-2)', async (host) => {
    for (const [target, method] of [
      ['/api/instances', 'GET'],
      ['/api/health', 'GET'],
      ['/', 'GET'],
      ['/nothing', 'GET'],
      ['/api/auth/verify', 'POST'],
    ] as const) {
      const answer = await ask([`Host: ${host}`], target, method)
      expect([answer.status, answer.body['code']], `${method} ${target}`).toEqual([421, 'host_refused'])
    }
  })

  test('no Host header and two of them are refused', async () => {
    const refused = [
      await ask(['-host']),
      await ask(['Host: 127.0.0.1:PORT', 'Host: 127.0.0.1:PORT']),
      await ask(['Host: 127.0.0.1:PORT', 'Host: evil.test']),
      await ask(['Host: evil.test', 'host: 127.0.0.1:PORT']),
    ]
    expect(refused.map(({ status }) => status)).toEqual([421, 421, 421, 421])
  })

  test('a target that names a host itself is refused, because it would win over the header', async () => {
    const targets = ['http://evil.test/api/instances', 'HTTP://evil.test/', 'http://127.0.0.1:PORT/api/health']
    for (const target of targets) {
      const answer = await ask(['Host: 127.0.0.1:PORT'], target)
      expect([answer.status, answer.body['code']], target).toEqual([400, 'request_malformed'])
    }
    expect((await ask(['Host: 127.0.0.1:PORT'], 'evil.test:PORT')).status).toBe(400)
  })

  test('an allowed host must be a name', () => {
    for (const name of ['', ' ', 'http://box', 'box/', 'a b', 'box:', 'user@box', '*.example', 'box:port']) {
      expect(() => hostGuard({ allowedHosts: [name] }), name).toThrow(expect.objectContaining({ code: 'usage' }))
    }
    expect(() => hostGuard({ allowedHosts: ['::1', '[::1]:80', 'fe80::1', 'a-b.c_d'] })).not.toThrow()
  })
})

describe('Origin', () => {
  test.each([
    ['127.0.0.1:PORT', 'http://127.0.0.1:PORT'],
    ['localhost:PORT', 'http://localhost:PORT'],
    ['[::1]:PORT', 'http://[::1]:PORT'],
    ['box.example', 'https://box.example'],
    ['box.example', 'http://box.example'],
    ['proxy.example:8443', 'https://proxy.example:8443'],
    // A proxy that does not pass the Host on.
    ['127.0.0.1:PORT', 'https://box.example'],
  ])('to %s, %s is accepted', async (host, origin) => {
    expect((await ask([`Host: ${host}`, `Origin: ${origin}`])).status).toBe(200)
  })

  test.each([
    ['127.0.0.1:PORT', 'http://evil.test'],
    ['127.0.0.1:PORT', 'http://127.0.0.1:1'],
    ['127.0.0.1:PORT', 'http://127.0.0.1'],
    ['127.0.0.1:PORT', 'http://localhost:PORT'],
    ['localhost:PORT', 'http://127.0.0.1:PORT'],
    ['127.0.0.1:PORT', 'http://127.0.0.1:PORT.evil.test'],
    ['127.0.0.1:PORT', 'http://127.0.0.1:PORT@evil.test'],
    ['127.0.0.1:PORT', 'http://127.0.0.1:PORT/'],
    ['127.0.0.1:PORT', 'http://127.0.0.1:PORT http://evil.test'],
    ['127.0.0.1:PORT', 'https://box.example:3000'],
    ['127.0.0.1:PORT', 'null'],
    ['127.0.0.1:PORT', ''],
    ['127.0.0.1:PORT', '*'],
    ['127.0.0.1:PORT', 'file://'],
    ['127.0.0.1:PORT', 'chrome-extension://127.0.0.1:PORT'],
    ['box.example', 'http://box.example:3000'],
    ['box.example', 'https://sub.box.example'],
    ['proxy.example:8443', 'https://proxy.example'],
  ])('to %s, %j is refused (WEB-1)', async (host, origin) => {
    for (const [target, method] of [
      ['/api/instances', 'GET'],
      ['/api/instances', 'POST'],
      ['/api/auth/verify', 'POST'],
      ['/api/health', 'GET'],
      ['/', 'GET'],
    ] as const) {
      const answer = await ask([`Host: ${host}`, `Origin: ${origin}`], target, method)
      expect([answer.status, answer.body['code']], `${method} ${target}`).toEqual([403, 'origin_refused'])
    }
  })

  test('two Origin headers are refused, even if both are accepted alone', async () => {
    const ours = 'Origin: http://127.0.0.1:PORT'
    expect((await ask([ours, ours])).status).toBe(403)
    expect((await ask([ours, 'origin: http://evil.test'])).status).toBe(403)
  })
})

describe('Sec-Fetch-Site', () => {
  test.each(['same-origin', 'none'])('%s reaches the API', async (site) => {
    expect((await ask([`Sec-Fetch-Site: ${site}`])).status).toBe(200)
  })

  test.each(['cross-site', 'same-site', 'Same-Origin', '', 'what-comes-next', 'same-origin, cross-site'])(
    '%j is refused (WEB-1)',
    async (site) => {
      for (const target of [
        '/api/instances',
        '/api/health',
        '/%61pi/health',
        '/a%70i/instances',
        '/api/nothing',
        '/api',
      ]) {
        const answer = await ask([`Sec-Fetch-Site: ${site}`], target)
        expect([answer.status, answer.body['code']], target).toEqual([403, 'origin_refused'])
      }
    },
  )

  test('two Sec-Fetch-Site headers are refused if one is foreign', async () => {
    expect((await ask(['Sec-Fetch-Site: same-origin', 'sec-fetch-site: cross-site'])).status).toBe(403)
  })

  test('a link on another site may lead to the page', async () => {
    const lines = ['Sec-Fetch-Site: cross-site', 'Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: document']
    expect((await ask(lines, '/')).status).toBe(200)
  })
})

test('no answer carries a CORS header, and a preflight fails (R37)', async () => {
  const origin = 'Origin: http://127.0.0.1:PORT'
  const preflight = ['Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: authorization']
  const answers = [
    await ask([origin]),
    await ask([origin, ...preflight], '/api/instances', 'OPTIONS'),
    await ask(['Origin: http://evil.test', ...preflight], '/api/instances', 'OPTIONS'),
    await ask([origin], '/'),
    await ask(['Host: evil.test']),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 403, 200, 421])
  for (const { headers } of answers) {
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(headers.get('set-cookie')).toBeNull()
  }
})

test('a form of another page cannot send a body that is read: it must be JSON', async () => {
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    const answer = await served.ask('/api/instances', [bearer, `Content-Type: ${type}`], {
      method: 'POST',
      body: '{"resolver":"hello","input":{}}',
    })
    expect([answer.status, answer.body['code']], type).toEqual([415, 'media_type_refused'])
  }
})
