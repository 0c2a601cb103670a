/** The port: limits on connections, answers to what is no request, errors of binding, and a close that lets requests finish. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fastify } from 'fastify'
import { afterEach, expect, test } from 'vitest'
import { type Listening, type ListenOptions, listen } from '../../src/server/http/listen.ts'
import { exchange, open, parseAnswer } from './raw.ts'

const closers: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function start(
  options: Partial<ListenOptions> = {},
): Promise<Listening & { finish: () => void; begun: Promise<void>; held: () => number }> {
  const app = fastify()
  let finish = () => {}
  let begin = () => {}
  let holding = 0
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const held = new Promise<void>((resolve) => {
    finish = resolve
  })
  app.get('/', async () => ({ here: true }))
  app.get('/held', async () => {
    holding += 1
    begin()
    await held
    return { finished: true }
  })
  app.get('/stream', (_, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' })
    reply.raw.write('data: 1\n\n')
    streams.add(() => reply.raw.end('data: last\n\n'))
    begin()
  })
  const streams = new Set<() => void>()
  app.addHook('preClose', async () => {
    for (const end of streams) end()
  })
  const listening = await listen(app, { host: '127.0.0.1', port: 0, ...options })
  closers.push(() => listening.close())
  return { ...listening, finish, begun, held: () => holding }
}

test('port 0 takes a free port, and the address names it', async () => {
  const { url, port } = await start()
  expect(port).toBeGreaterThan(0)
  expect(url).toBe(`http://127.0.0.1:${port}`)
  expect(await (await fetch(url)).json()).toEqual({ here: true })
})

test('an address in use is reported as such', async () => {
  const { port } = await start()
  await expect(start({ port })).rejects.toMatchObject({
    code: 'address_taken',
    message: `Can't listen on 127.0.0.1:${port}: another program listens on it.`,
  })
})

test.each(['192.0.2.1', 'no-such-host.invalid'])(
  '%s, which is no address of this machine, is refused',
  async (host) => {
    await expect(start({ host })).rejects.toMatchObject({ code: 'address_refused' })
  },
)

test.each([
  ['garbage', 'GARBAGE\r\n\r\n', 400, 'request_malformed'],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'request_malformed'],
  [
    'two lengths',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    400,
    'request_malformed',
  ],
  [
    'a length beside chunks (smuggling)',
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
    'request_malformed',
  ],
  ['a bare CR in a header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\rc: d\r\n\r\n', 400, 'request_malformed'],
  ['headers over 16 KiB', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(17 * 1024)}\r\n\r\n`, 431, 'headers_too_large'],
  ['an address over 16 KiB', `GET /${'a'.repeat(17 * 1024)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers_too_large'],
])(
  '%s is answered with an error of the catalogue, and the connection closed (R7, WEB-6)',
  async (_, bytes, status, code) => {
    const told: string[] = []
    const { port } = await start({ onRefused: (error) => told.push(error.code) })
    const answer = parseAnswer(await exchange(port, bytes))
    expect(answer).toMatchObject({ status, body: { code } })
    expect(Object.keys(answer.body).sort()).toEqual(
      answer.body['hint'] === undefined ? ['code', 'detail'] : ['code', 'detail', 'hint'],
    )
    expect(answer.headers).toContain('connection: close')
    expect(JSON.stringify(answer.body)).not.toMatch(/node:|\bat |HPE_/)
    expect(told).toEqual([code])
  },
)

test('headers that never end are cut off with 408 (WEB-6)', async () => {
  const { port } = await start({ limits: { headersMs: 200, requestMs: 300, lookMs: 50 } })
  expect(parseAnswer(await exchange(port, 'GET / HTTP/1.1\r\nHost: x\r\n'))).toMatchObject({
    status: 408,
    body: { code: 'request_slow' },
  })
})

test('an idle connection is closed', async () => {
  const { port } = await start({ limits: { idleMs: 200 } })
  const socket = await open(port)
  socket.resume()
  await once(socket, 'close')
})

test('connections over the limit are dropped, and the others go on (WEB-6)', async () => {
  const { port, url } = await start({ limits: { connections: 2 } })
  const [one, two] = [await open(port), await open(port)]
  const third = await open(port)
  third.on('error', () => {})
  third.resume()
  await once(third, 'close')
  one.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  expect(String(await once(one, 'data'))).toContain('200 OK')
  one.destroy()
  two.destroy()
  await expect
    .poll(() =>
      fetch(url).then(
        (answer) => answer.status,
        () => 0,
      ),
    )
    .toBe(200)
})

test('a close lets a request finish, accepts no new one, and closes the connection after the answer', async () => {
  const { url, port, finish, begun, close } = await start()
  const kept = await open(port)
  const answer = exchange(port, 'GET /held HTTP/1.1\r\nHost: x\r\n\r\n')
  await begun
  let isClosed = false
  const closed = close().then(() => {
    isClosed = true
  })
  await once(kept.resume(), 'close')
  await expect(fetch(url)).rejects.toThrow()
  await sleep(50)
  expect(isClosed).toBe(false)
  finish()
  const { status, headers, body } = parseAnswer(await answer)
  expect({ status, body }).toEqual({ status: 200, body: { finished: true } })
  expect(headers).toContain('connection: close')
  await closed
})

test('a close ends the streams of the app', async () => {
  const { port, close, begun } = await start()
  const heard = exchange(port, 'GET /stream HTTP/1.1\r\nHost: x\r\n\r\n')
  await begun
  await close()
  expect(await heard).toContain('data: last')
})

test('a close ends after a limit, whatever is still open', async () => {
  const { port, close, begun } = await start({ limits: { closeMs: 200 } })
  const answer = exchange(port, 'GET /held HTTP/1.1\r\nHost: x\r\n\r\n').catch((error: Error) => error.message)
  await begun
  await close()
  await answer
})

test('a request on an open connection during the close is not begun', async () => {
  const { port, close, begun, finish } = await start()
  const socket = await open(port)
  const heard: string[] = []
  socket.on('data', (chunk) => heard.push(String(chunk)))
  socket.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\n')
  await begun
  const closed = close()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await sleep(50)
  const gone = once(socket, 'close')
  finish()
  await Promise.all([closed, gone])
  const text = heard.join('')
  expect(text).toContain('"finished":true')
  expect(text).not.toContain('"here":true')
})

test('connections that send nothing do not shut others out: a request above the limit takes the place of the oldest (WEB-6)', async () => {
  const { port, url } = await start({ limits: { connections: 20 } })
  const silent = await Promise.all(Array.from({ length: 20 }, () => open(port)))
  let cut = 0
  for (const socket of silent) {
    socket.on('error', () => {})
    socket.on('close', () => {
      cut += 1
    })
    socket.resume()
  }
  for (let n = 0; n < 5; n += 1) {
    const answer = await exchange(port, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    expect(answer).toContain('200 OK')
  }
  expect(cut).toBeLessThanOrEqual(5)
  for (const socket of silent) socket.destroy()
  expect((await fetch(url)).status).toBe(200)
})

test('more silent connections than limit and reserve still let a request through (WEB-6)', async () => {
  const { port } = await start({ limits: { connections: 10 } })
  const silent = await Promise.all(Array.from({ length: 200 }, () => open(port)))
  for (const socket of silent) socket.on('error', () => {})
  const answer = await exchange(port, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  expect(answer).toContain('200 OK')
  for (const socket of silent) socket.destroy()
})

test('where every connection has a request under way, one more is dropped, and those go on (WEB-6)', async () => {
  const { port, finish, held: holding } = await start({ limits: { connections: 2 } })
  const held = [1, 2].map(() => exchange(port, 'GET /held HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'))
  // One whose request is not read yet would be a silent connection, and lose its place.
  await expect.poll(holding).toBe(2)
  await expect(
    exchange(port, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').then((said) => {
      if (said === '') throw new Error('dropped')
    }),
  ).rejects.toThrow()
  finish()
  for (const one of held) expect(await one).toContain('finished')
})
