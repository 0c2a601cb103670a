/** Hostile requests: each is refused in our words, none is a fault, and the server goes on as before (R7; threats WEB-1, WEB-6, WEB-8). */
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { HTTP_BODY_MAX_BYTES, INPUT_MAX_BYTES } from '../../src/core/limits.ts'
import { type Api, type CallOptions, openApi } from './api.ts'
import { exchange } from './raw.ts'

let api: Api
let id: string

beforeAll(async () => {
  api = await openApi(['asks-once', 'exits-zero'])
  id = await api.create('asks-once')
  await api.until(id, 'awaiting_input')
})

afterAll(async () => await api.close())

afterEach(async () => {
  expect(api.faults.filter((fault) => !(fault instanceof Error) || fault instanceof TypeError)).toEqual([])
  expect((await api.call('GET', '/api/health', { token: null })).status).toBe(200)
})

const JSON_TYPE = { 'content-type': 'application/json' }
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const create = (input: string) => `{"resolver":"hello","input":${input}}`

const BODIES: [string, CallOptions, number, string][] = [
  ['cut JSON', { raw: '{"resolver":', headers: JSON_TYPE }, 422, 'invalid_json'],
  ['no JSON', { raw: 'resolver=hello', headers: JSON_TYPE }, 422, 'invalid_json'],
  ['single quotes', { raw: "{'resolver':'hello'}", headers: JSON_TYPE }, 422, 'invalid_json'],
  ['NaN', { raw: create('{"a":NaN}'), headers: JSON_TYPE }, 422, 'invalid_json'],
  ['a trailing comma', { raw: create('{"a":1,}'), headers: JSON_TYPE }, 422, 'invalid_json'],
  ['two documents', { raw: `${create('{}')}${create('{}')}`, headers: JSON_TYPE }, 422, 'invalid_json'],
  ['a raw NUL', { raw: `{"resolver":"hel\u0000lo","input":{}}`, headers: JSON_TYPE }, 422, 'invalid_json'],
  [
    'bytes that are no UTF-8',
    { raw: new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), headers: JSON_TYPE },
    422,
    'invalid_json',
  ],
  ['UTF-16', { raw: new Uint8Array(Buffer.from(create('{}'), 'utf16le')), headers: JSON_TYPE }, 422, 'invalid_json'],
  ['an overlong encoding', { raw: new Uint8Array([0x22, 0xc0, 0xaf, 0x22]), headers: JSON_TYPE }, 422, 'invalid_json'],
  ['deep JSON', { raw: create(nested(70)), headers: JSON_TYPE }, 422, 'request_invalid'],
  [
    'very deep JSON',
    { raw: create('['.repeat(200_000) + ']'.repeat(200_000)), headers: JSON_TYPE },
    422,
    'request_invalid',
  ],
  ['deep JSON that is cut', { raw: '['.repeat(200_000), headers: JSON_TYPE }, 422, 'invalid_json'],
  [
    '__proto__ as a key',
    { raw: create('{"__proto__":{"polluted":true}}'), headers: JSON_TYPE },
    422,
    'request_invalid',
  ],
  [
    '__proto__ at the top',
    { raw: '{"__proto__":{"resolver":"hello","input":{}}}', headers: JSON_TYPE },
    422,
    'request_invalid',
  ],
  ['__proto__ in disguise', { raw: create('{"\\u005f_proto__":1}'), headers: JSON_TYPE }, 422, 'request_invalid'],
  ['nothing', { raw: '', headers: JSON_TYPE }, 422, 'request_invalid'],
  ['null', { raw: 'null', headers: JSON_TYPE }, 422, 'request_invalid'],
  ['a list', { raw: '[]', headers: JSON_TYPE }, 422, 'request_invalid'],
  ['a number', { raw: '1e400', headers: JSON_TYPE }, 422, 'request_invalid'],
  ['input as text', { raw: '{"resolver":"hello","input":"{}"}', headers: JSON_TYPE }, 422, 'request_invalid'],
  ['input as a list', { raw: '{"resolver":"hello","input":[]}', headers: JSON_TYPE }, 422, 'request_invalid'],
  [
    'the resolver as an object',
    { raw: '{"resolver":{"$ne":1},"input":{}}', headers: JSON_TYPE },
    422,
    'request_invalid',
  ],
  [
    'a number that is not made a text',
    { raw: '{"resolver":1,"input":{}}', headers: JSON_TYPE },
    422,
    'request_invalid',
  ],
  [
    'another executor',
    { raw: '{"resolver":"hello","input":{},"executor":"root"}', headers: JSON_TYPE },
    422,
    'request_invalid',
  ],
  [
    'a path as the resolver',
    { raw: '{"resolver":"../../etc","input":{}}', headers: JSON_TYPE },
    404,
    'resolver_unknown',
  ],
  [
    'constructor as the resolver',
    { raw: '{"resolver":"constructor","input":{}}', headers: JSON_TYPE },
    404,
    'resolver_unknown',
  ],
  [
    'a long name',
    { raw: `{"resolver":"${'x'.repeat(100_000)}","input":{}}`, headers: JSON_TYPE },
    404,
    'resolver_unknown',
  ],
  [
    'a form',
    { raw: 'resolver=hello', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    'media_type_refused',
  ],
  ['text', { raw: create('{}'), headers: { 'content-type': 'text/plain' } }, 415, 'media_type_refused'],
  [
    'several parts',
    { raw: '--x--', headers: { 'content-type': 'multipart/form-data; boundary=x' } },
    415,
    'media_type_refused',
  ],
  [
    'a suffix type',
    { raw: create('{}'), headers: { 'content-type': 'application/vnd.x+json' } },
    415,
    'media_type_refused',
  ],
  ['a type that is none', { raw: create('{}'), headers: { 'content-type': ';;;' } }, 415, 'media_type_refused'],
  [
    'another charset',
    { raw: create('{}'), headers: { 'content-type': 'application/json; charset=utf-7' } },
    415,
    'media_type_refused',
  ],
  [
    'a compressed body',
    { raw: create('{}'), headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } },
    415,
    'media_type_refused',
  ],
  [
    'an input over its limit',
    { raw: create(`{"a":"${'x'.repeat(INPUT_MAX_BYTES)}"}`), headers: JSON_TYPE },
    413,
    'input_too_large',
  ],
  [
    'a body over its limit',
    { raw: create(`{"a":"${'x'.repeat(HTTP_BODY_MAX_BYTES)}"}`), headers: JSON_TYPE },
    413,
    'input_too_large',
  ],
]

// verifies: R7
test.each(BODIES)('POST /instances with %s', async (_, options, status, code) => {
  const answer = await api.call('POST', '/api/instances', options)
  expect(answer).toMatchObject({ status, json: { code } })
  expect(Object.keys(answer.json).every((key) => ['detail', 'code', 'hint'].includes(key))).toBe(true)
  expect(answer.text).not.toContain(api.home)
  expect(answer.text).not.toMatch(/\n\s+at |node_modules/)
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
})

// verifies: R36
test('keys that only look dangerous are kept unchanged', async () => {
  const input = { name: 'Ada', constructor: { prototype: 1 }, toString: 'x', 'a\u0000b': '\ud83d\ude00', $ref: '#' }
  const made = await api.call('POST', '/api/instances', { body: { resolver: 'hello', input } })
  expect(made.status).toBe(202)
  expect(made.json.input).toEqual(input)
  const long = { ...JSON_TYPE, 'content-type': 'Application/JSON;charset="UTF-8"' }
  expect((await api.call('POST', '/api/instances', { raw: create('{"name":"x"}'), headers: long })).status).toBe(202)
})

test('an input of the largest size is accepted', async () => {
  const text = 'x'.repeat(INPUT_MAX_BYTES - 100)
  const made = await api.call('POST', '/api/instances', { body: { resolver: 'exits-zero', input: { text } } })
  expect(made.status).toBe(202)
  expect((await api.call('GET', `/api/instances/${made.json.instance_id}`)).json.input.text).toHaveLength(text.length)
})

test.each([
  ['a long id', `/api/instances/${'a'.repeat(8_000)}`, 404],
  ['a traversing id', '/api/instances/..%2f..%2fetc', 404],
  ['an id with a NUL', '/api/instances/%00', 404],
  ['upper case', '/api/instances/ABCDEF012345', 404],
  ['__proto__', '/api/instances/__proto__', 404],
  ['no id', '/api/instances/', 404],
  ['a long request id', `/api/instances/ID/input-requests/${'a'.repeat(8_000)}`, 404],
  ['a traversing request id', '/api/instances/ID/input-requests/..%2f..%2fconfig', 404],
  ['__proto__ as a request', '/api/instances/ID/input-requests/__proto__', 404],
  ['a traversing resolver', '/api/resolvers/..%2f..%2fetc', 404],
  ['__proto__ as a resolver', '/api/resolvers/__proto__', 404],
  ['constructor as a resolver', '/api/resolvers/constructor/schema', 404],
  ['params that are deep', `/api/resolvers/hello/schema?params=${'['.repeat(3_000)}${']'.repeat(3_000)}`, 422],
  ['params twice', '/api/resolvers/hello/schema?params={}&params={}', 422],
  ['params with __proto__', '/api/resolvers/hello/schema?params={%22__proto__%22:1}', 422],
  ['a limit that is no number', '/api/instances?limit=1e9', 422],
  ['a limit twice', '/api/instances?limit=1&limit=2', 422],
  ['a cursor with an injection', '/api/instances?cursor=2026-01-01T00:00:00.000Z%7C0123456789ab%0d%0aX: y', 400],
  ['brackets', '/api/instances?limit[$gt]=1', 200],
  ['__proto__ in the query', '/api/instances?__proto__[x]=1&__proto__=2', 200],
  ['an address that decodes to nothing', '/api/%c0%af', 400],
  ['a method without a route', '/api/resolvers/hello/check', 404],
  ['a double slash', '//api//instances', 404],
])('GET with %s', async (_, path, status) => {
  const answer = await api.call('GET', path.replace('ID', id))
  expect(answer.status, answer.text.slice(0, 300)).toBe(status)
  expect(answer.text).not.toContain(api.home)
})

test('unsupported methods are answered as unknown routes, and only with a token', async () => {
  for (const method of ['PUT', 'OPTIONS', 'TRACE', 'PROPFIND', 'FOO', 'CONNECT']) {
    const ask = (credentials: string) =>
      exchange(
        api.port,
        `${method} /api/instances HTTP/1.1\r\nHost: 127.0.0.1:${api.port}\r\n${credentials}Connection: close\r\n\r\n`,
      )
    const heard = await ask(`Authorization: Bearer ${api.tokens.admin}\r\n`)
    expect(heard, method).toMatch(/^HTTP\/1\.1 40[045]|^$/)
    expect(heard.toLowerCase()).not.toContain('access-control')
    expect(heard).not.toContain(api.home)
    expect(await ask('')).not.toMatch(/^HTTP\/1\.1 2/)
  }
})

test('a request from another page, or for another name, is refused before its token is looked at', async () => {
  const origin = { origin: 'http://evil.test' }
  expect(await api.call('GET', '/api/instances', { headers: origin })).toMatchObject({
    status: 403,
    json: { code: 'origin_refused' },
  })
  expect(await api.call('GET', '/', { headers: origin })).toMatchObject({ status: 403 })
  const heard = await exchange(api.port, 'GET /api/health HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n')
  expect(heard).toMatch(/^HTTP\/1\.1 421/)
  expect(heard).toContain('host_refused')
})

// verifies: R37
test('without a token no body is read: the answer comes before it, and the connection ends', async () => {
  const head = [
    ...['POST /api/instances HTTP/1.1', `Host: 127.0.0.1:${api.port}`, 'Content-Type: application/json'],
    ...['Content-Length: 5368709120', '', '{"resolver":'],
  ].join('\r\n')
  const heard = await exchange(api.port, head)
  expect(heard).toMatch(/^HTTP\/1\.1 401/)
  expect(heard.toLowerCase()).toContain('connection: close')
})

test('a body without a length is cut off at the limit', async () => {
  const heard = await new Promise<string>((resolve) => {
    const socket = connect(api.port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    socket.on('close', () => resolve(text))
    socket.on('error', () => {})
    const head = [
      ...['POST /api/instances HTTP/1.1', `Host: 127.0.0.1:${api.port}`, `Authorization: Bearer ${api.tokens.admin}`],
      ...['Content-Type: application/json', 'Transfer-Encoding: chunked', '', ''],
    ]
    socket.write(head.join('\r\n'))
    const chunk = 'x'.repeat(65_536)
    const more = () => {
      while (!socket.destroyed && socket.write(`10000\r\n${chunk}\r\n`)) if (text !== '') return
    }
    socket.on('drain', more)
    more()
  })
  expect(heard).toMatch(/^HTTP\/1\.1 413/)
  expect(heard).toContain('input_too_large')
})

test('bytes that are no HTTP are answered with an error, or the connection is closed', async () => {
  const host = `Host: 127.0.0.1:${api.port}`
  for (const bytes of [
    'hello\r\n\r\n',
    `GET /api/health HTTP/9.9\r\n${host}\r\n\r\n`,
    `GET /api/health HTTP/1.1\r\n${host}\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`,
    `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n\r\n`,
    `POST /api/instances HTTP/1.1\r\n${host}\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `POST /api/instances HTTP/1.1\r\n${host}\r\nContent-Length: -1\r\n\r\n`,
    `GET /api/health HTTP/1.1\r\n${host}\r\nBad Header: x\r\n\r\n`,
    `GET /api/hea lth HTTP/1.1\r\n${host}\r\n\r\n`,
  ]) {
    const heard = await exchange(api.port, bytes)
    expect(heard, bytes.slice(0, 60)).toMatch(/^HTTP\/1\.1 4\d\d/)
    expect(heard).toContain('"detail"')
  }
})
