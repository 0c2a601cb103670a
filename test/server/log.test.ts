/** The log: a line a request, whatever becomes of it; nothing secret in any. */
import { fastify, LogController } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { listen } from '../../src/server/http/listen.ts'
import { type LogOptions, openLog } from '../../src/server/observe/log.ts'
import { observe, withoutSecrets } from '../../src/server/observe/observe.ts'
import { exchange, open } from './raw.ts'

const TOKEN = `rslv_0123abcd_${'S'.repeat(43)}`
const closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function start(options: LogOptions = {}) {
  const lines: string[] = []
  const log = openLog({ ...options, write: (line) => lines.push(line) })
  const observation = observe([log.requests])
  const app = fastify({ loggerInstance: log.logger, logController: new LogController({ disableRequestLogging: true }) })
  observation.watch(app as never)
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request) => {
    if (request.headers.authorization !== undefined) Object.assign(request, { caller: { tokenId: '0123abcd' } })
  })
  app.get('/api/instances/:id', async () => ({ ok: true }))
  app.get('/fails', async (request, reply) => {
    request.log.error({ err: new TypeError('internal detail') }, 'a fault of ours')
    return await reply.code(500).send({ detail: 'x' })
  })
  app.get('/slow', () => new Promise(() => {}))
  const listening = await listen(app as never, { host: '127.0.0.1', port: 0, observe: observation.begin })
  closers.push(() => listening.close())
  const requests = () => lines.filter((line) => line.includes('"method"')).map((line) => JSON.parse(line))
  return { ...listening, lines, requests }
}

test('a request is one line of JSON: time, level, id, method, path, route, status, ms, bytes, token id, instance', async () => {
  const { url, lines, requests } = await start()
  await fetch(`${url}/api/instances/0123456789ab`, { headers: { authorization: `Bearer ${TOKEN}` } })
  await expect.poll(() => lines.length).toBe(1)
  expect(requests()).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      id: 'req-1',
      method: 'GET',
      path: '/api/instances/0123456789ab',
      route: '/api/instances/:id',
      status: 200,
      ms: expect.any(Number),
      bytes: expect.any(Number),
      token: '0123abcd',
      instance: '0123456789ab',
      msg: 'request',
    },
  ])
  expect(requests()[0].bytes).toBeGreaterThan(10)
})

test.each([
  ['in the query (WEB-4, K8s CVE-2019-11250)', `/api/instances/x?token=${TOKEN}&after=1`],
  ['in an escaped query', `/api/instances/x%3Ftoken=${TOKEN}`],
  ['twice escaped', `/api/instances/x%3Ftoken%3D${TOKEN}`],
  ['as a segment', `/api/${TOKEN}/x`],
  ['as the user of an absolute address', `http://me:${TOKEN}@x/api/instances/x`],
])('a token %s appears in no line', async (_, target) => {
  const { port, lines } = await start({ level: 'debug' })
  await exchange(
    port,
    `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
  )
  await expect.poll(() => lines.length).toBe(1)
  expect(lines.join('')).not.toContain('SSSS')
  expect(lines.join('')).toContain('"path":"/api/')
})

test('a token or a code in a sentence is cut too', () => {
  expect(withoutSecrets(`x ${TOKEN} y http://h/#code=abc-DEF_1 z`)).toBe('x rslv_0123abcd_… y http://h/#code=… z')
})

test('unknown routes, badly encoded requests and aborted requests are logged too', async () => {
  const { port, lines, requests } = await start()
  await exchange(port, 'GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  await exchange(port, 'GET /%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  await expect.poll(() => lines.length).toBe(2)
  const socket = await open(port)
  socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  setTimeout(() => socket.destroy(), 50)
  await expect.poll(() => lines.length).toBe(3)
  expect(requests()).toMatchObject([
    { path: '/nowhere', route: null, status: 404 },
    { path: '/%ff', route: null, status: 400 },
    { path: '/slow', route: '/slow', cut: true },
  ])
})

test('control characters in an address are refused by the parser', async () => {
  const { port, lines } = await start({ human: true })
  expect(await exchange(port, 'GET /\x9b31m\x85 HTTP/1.1\r\nHost: x\r\n\r\n')).toContain('HTTP/1.1 400')
  expect(lines).toEqual([])
})

test('a bug is logged with its stack, which the client does not see', async () => {
  const { url, lines } = await start()
  expect(await (await fetch(`${url}/fails`)).text()).not.toContain('internal detail')
  await expect.poll(() => lines.length).toBe(2)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'error',
    msg: 'a fault of ours',
    err: { type: 'TypeError', stack: expect.stringContaining('log.test.ts') },
  })
  expect(JSON.parse(lines[1] ?? '')).toMatchObject({ level: 'error', status: 500 })
})

test('on a terminal a request is logged as a short line', async () => {
  const { url, lines } = await start({ human: true })
  await fetch(`${url}/api/instances/x`)
  await expect.poll(() => lines.length).toBe(1)
  expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d GET \/api\/instances\/x 200 [\d.]+ ms\n$/)
})

test('the log level decides what is written', async () => {
  const { url, lines } = await start({ level: 'error' })
  await fetch(`${url}/api/instances/x`)
  await fetch(`${url}/fails`)
  await expect.poll(() => lines.length).toBe(2)
  expect(lines.every((line) => JSON.parse(line).level === 'error')).toBe(true)
})
