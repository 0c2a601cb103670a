/** The validator's listening ports and requests over HTTP, against servers that behave and servers that do not. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { served, startValidator } from './program.ts'

interface Answer {
  status: number | null
  body: string
  truncated: boolean
  error: string | null
  duration_ms: number
  headers: [string, string][]
}

const GET = { method: 'GET', path: '/', query: {}, headers: {}, body: null }
const usual = { addresses: ['127.0.0.1', '::1'], timeout_ms: 5_000, max_bytes: 1024 * 1024, follow_redirects: false }

async function ask(port: number, request: object = {}, more: object = {}): Promise<Answer> {
  return await startValidator().call<Answer>('http', { request: { ...GET, ...request }, port, ...usual, ...more })
}

test('what listens is told, and the validator itself does not', async () => {
  const port = await served((_, response) => response.end())
  const { ports } = await startValidator().call<{ ports: object[] }>('listening', {})
  expect(ports).toContainEqual({ port, address: '127.0.0.1' })
})

test('a request arrives as it was asked, and its answer is told', async () => {
  const port = await served(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    response.writeHead(201, { 'x-seen': request.headers['x-a'] ?? '' })
    response.end(`${request.method} ${request.url} ${text}`)
  })
  const asked = { method: 'POST', path: '/a/../b é', query: { q: 'x y' }, headers: { 'X-A': '1' }, body: 'grün' }
  const answer = await ask(port, asked)
  expect(answer).toMatchObject({ status: 201, body: 'POST /a/../b%20%C3%A9?q=x+y grün', truncated: false, error: null })
  expect(answer.headers).toContainEqual(['x-seen', '1'])
})

test('a path with a host, a backslash or a line end is refused', async () => {
  const port = await served((_, response) => response.end())
  for (const path of ['//host/', '/\\host', '/a\r\nX: 1', 'a', 'http://host/'])
    await expect(ask(port, { path })).rejects.toThrow('observation_refused')
  await expect(ask(port, { headers: { a: 'b\r\nc: d' } })).rejects.toThrow('observation_refused')
})

test('a body over the limit is cut off and flagged, also where its text takes more room in a frame', async () => {
  const port = await served((_, response) => {
    const more = () => response.destroyed || response.write(Buffer.alloc(65_536)) || response.once('drain', next)
    const next = () => setImmediate(() => more() && next())
    next()
  })
  const answer = await ask(port)
  expect(answer).toMatchObject({ status: 200, truncated: true, error: null })
  expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(4 * 1024 * 1024)
})

test('one byte a second ends at the time limit', async () => {
  const port = await served((_, response) => {
    const timer = setInterval(() => response.write('x'), 200)
    response.on('close', () => clearInterval(timer))
  })
  const answer = await ask(port, {}, { timeout_ms: 900 })
  expect(answer).toMatchObject({ status: 200, error: 'timeout', truncated: true })
  expect(answer.duration_ms).toBeLessThan(2_000)
})

test('headers over the limit, no HTTP at all, and a connection that is closed have their reasons', async () => {
  const raw = async (text: string) => {
    const server = createServer((socket) => socket.on('error', () => {}).once('data', () => socket.end(text)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const { error } = await ask(port)
    server.close()
    return error
  }
  expect(await raw(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(200_000)}\r\n\r\n`)).toBe('too_large')
  expect(await raw('hello\r\n\r\n')).toBe('malformed')
  expect(await raw('')).toBe('reset')
  expect((await ask(1)).error).toBe('refused')
})

test('redirects of the same origin are followed five times, others are the answer', async () => {
  const port = await served((request, response) => {
    const at = Number(request.url?.slice(1))
    if (request.url === '/away') response.writeHead(302, { location: 'http://example.org/' }).end()
    else if (at > 0) response.writeHead(302, { location: `/${at - 1}` }).end()
    else response.end('there')
  })
  const more = { follow_redirects: true }
  expect(await ask(port, { path: '/5' }, more)).toMatchObject({ status: 200, body: 'there' })
  expect(await ask(port, { path: '/6' }, more)).toMatchObject({ status: 302 })
  expect(await ask(port, { path: '/5' })).toMatchObject({ status: 302 })
  expect(await ask(port, { path: '/away' }, more)).toMatchObject({ status: 302, error: null })
})

test('a probe tells the status, or why there is none', async () => {
  const port = await served((_, response) => response.writeHead(503).end())
  const { call } = startValidator()
  expect(await call('probe', { port, path: '/' })).toEqual({ status: 503, error: null })
  expect(await call('probe', { port: 1, path: '/' })).toEqual({ status: null, error: 'refused' })
})
