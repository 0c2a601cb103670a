/** Servers that are none, or that lie: every answer that is not our API is told as such, and nothing is taken for whole that is not. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { openRemotePlatform } from '../../src/core/platform/remote/remote.ts'
import type { JournalEvent } from '../../src/core/protocol/journal.ts'

const ID = '0123456789ab'
const TOKEN = 'rslv_00000000_a-token-that-stays-secret'

const closers: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function answering(listener: RequestListener) {
  const server = createServer(listener)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const platform = openRemotePlatform({ url, token: TOKEN, waitLimitMs: 600 })
  closers.push(async () => {
    await platform.close()
    server.closeAllConnections()
    await new Promise<void>((done) => server.close(() => done()))
  })
  return { platform, url }
}

async function collect(events: AsyncIterable<JournalEvent>): Promise<JournalEvent[]> {
  const all: JournalEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

const envelope = (n: number) =>
  JSON.stringify({
    schema_version: 1,
    event_type: 'a.b',
    instance_id: ID,
    data: { n },
    timestamp: '2026-01-01T00:00:00.000Z',
  })

const stream =
  (...parts: string[]): RequestListener =>
  (_, answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const part of parts) answer.write(part)
    answer.end()
  }

test.each<[string, number, RequestListener]>([
  ['server_strange', 10, (_, answer) => answer.setHeader('content-type', 'text/html').end('<p>Hello</p>')],
  ['server_strange', 10, (_, answer) => answer.end('[{"instance_id": 7}]')],
  ['server_strange', 10, (_, answer) => answer.writeHead(204).end()],
  ['server_strange', 10, (_, answer) => answer.writeHead(404).end('{"detail":"Not Found"}')],
  ['server_strange', 10, (_, answer) => answer.writeHead(404).end('{"detail":"No route","code":"route_unknown"}')],
  ['server_strange', 10, (_, answer) => answer.writeHead(302, { location: '/elsewhere' }).end()],
  ['server_strange', 10, (request) => request.socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
  ['server_unreachable', 10, (request) => request.socket.destroy()],
  ['shutting_down', 10, (_, answer) => answer.writeHead(503).end('<h1>Bad gateway</h1>')],
  ['token_refused', 4, (_, answer) => answer.writeHead(401).end('<h1>Who are you?</h1>')],
  ['token_refused', 4, (_, answer) => answer.writeHead(403).end('no')],
  [
    'scope_missing',
    4,
    (_, answer) => answer.writeHead(403).end('{"detail":"This needs more.","code":"scope_missing"}'),
  ],
])('a strange answer to list ends with %s, exit code %i', async (code, exitCode, listener) => {
  const { platform } = await answering(listener)
  const error = await platform.list({ limit: 1 }).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code, exitCode })
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(TOKEN)
  expect(inspect(platform, { depth: 10, showHidden: true })).not.toContain(TOKEN)
})

const record = {
  ...{ instance_id: ID, name: null, resolver: 'x', resolver_version: '1.0.0', status: 'completed', input: {} },
  ...{ output: null, error: null, supports_resume: false, resolver_state: null, phase: null, pending_inputs: 0 },
  ...{ created_at: '', updated_at: '', ended_at: null, parent_id: null },
}

test('a record with unknown additional fields is accepted', async () => {
  const { platform } = await answering((_, answer) => answer.end(JSON.stringify([{ ...record, later: 1 }])))
  expect(await platform.find('0123')).toBe(ID)
})

test.each([
  { ...record, instance_id: `${ID}\u001b]0;title\u0007` },
  { ...record, instance_id: '/../../elsewhere' },
  { ...record, name: {} },
  { ...record, pending_inputs: -1 },
  { ...record, created_at: undefined },
])('a record of another shape is refused, so that it reaches no terminal and names no file (%#)', async (strange) => {
  const { platform } = await answering((_, answer) => answer.end(JSON.stringify([strange])))
  await expect(platform.find('0123')).rejects.toMatchObject({ code: 'server_strange' })
})

const entry = {
  ...{ name: 'x', version: '1.0.0', description: '', supports_resume: false, kind: 'builtin', source: null },
  ...{ commit: null, ref: null, dir: null, manifest: { command: [] }, added_at: '' },
}

test('an entry of a catalog is taken as it is', async () => {
  const { platform } = await answering((_, answer) => answer.end(JSON.stringify(entry)))
  expect(await platform.resolver('x')).toEqual({ ...entry, source: '', dir: '' })
})

test.each([
  { ...entry, name: 'x\u001b[31m' },
  { ...entry, version: '\u009b31m' },
  { ...entry, kind: '\u202e' },
  { ...entry, commit: '\u001b[2J' },
  { ...entry, manifest: {} },
])('an entry of a catalog of another shape is refused (%#)', async (strange) => {
  const { platform } = await answering((_, answer) => answer.end(JSON.stringify(strange)))
  await expect(platform.resolver('x')).rejects.toMatchObject({ code: 'server_strange' })
})

test('a refusal whose messages are no texts is refused', async () => {
  const { platform } = await answering((_, answer) =>
    answer.writeHead(422).end('{"detail":"Validation failed","errors":[{}]}'),
  )
  await expect(platform.create({ resolver: 'x', input: {} })).rejects.toMatchObject({ code: 'server_strange' })
})

test('events that end with the connection may be cut: they are not taken as complete', async () => {
  const { platform } = await answering(({ socket }) => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close'
    socket.end(`${head}\r\n\r\nid: 1\ndata: ${envelope(1)}\n\nid: 2\nda`)
  })
  await expect(collect(platform.events(ID))).rejects.toMatchObject({ code: 'server_strange' })
})

test('the token is sent to the server only: redirects are not followed', async () => {
  let asked = 0
  const elsewhere = await answering((_, answer) => {
    asked += 1
    answer.end('[]')
  })
  const { platform } = await answering((_, answer) =>
    answer.writeHead(307, { location: `${elsewhere.url}/api/instances` }).end(),
  )
  await expect(platform.list()).rejects.toMatchObject({ code: 'server_strange' })
  expect(asked).toBe(0)
})

// verifies: R11
test('every retry of a call carries the same key, and another call another key (R11)', async () => {
  const seen: IncomingMessage[] = []
  const { platform } = await answering((request, answer) => {
    seen.push(request)
    if (seen.length % 2 === 1) request.socket.destroy()
    else answer.writeHead(202).end('{"accepted":true,"number":1}')
  })
  const actor = { actor: 'Ada', via: 'cli' } as const
  await platform.message(ID, 'note', {}, actor)
  await platform.message(ID, 'note', {}, actor)
  await platform.message(ID, 'note', {}, { ...actor, key: 'chosen' })
  const keys = seen.map(({ headers }) => headers['idempotency-key'])
  expect(keys).toHaveLength(6)
  expect([keys[0], keys[2], keys[4]]).toEqual([keys[1], keys[3], keys[5]])
  expect(keys[0]).not.toBe(keys[2])
  expect(keys[4]).toBe('chosen')
  expect(seen[0]?.headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'resolve-door': 'cli' })
  // Believed on an owner's socket alone, and so sent to no other.
  expect(seen[0]?.headers['resolve-actor']).toBeUndefined()
})

test('a cancel whose first answer was lost is no error if it had its effect', async () => {
  let tries = 0
  const { platform } = await answering((request, answer) => {
    tries += 1
    if (tries === 1) return void request.socket.destroy()
    if (request.method === 'DELETE') {
      return void answer.writeHead(409).end(JSON.stringify({ detail: 'It has ended.', code: 'invalid_state' }))
    }
    answer.end(JSON.stringify({ ...record, status: 'cancelled' }))
  })
  expect((await platform.cancel(ID)).status).toBe('cancelled')
})

test('a file shorter than its announced size is an error', async () => {
  const { platform } = await answering((_, answer) => {
    answer.writeHead(200, { 'content-length': '1000' })
    answer.write('x'.repeat(400), () => answer.destroy())
  })
  const { stream: bytes } = await platform.data(ID, 'a.txt')
  const read = async () => {
    for await (const _ of bytes);
  }
  await expect(read()).rejects.toMatchObject({ code: 'server_unreachable' })
})

test('a file or an archive whose answer does not say where it ends is refused', async () => {
  const { platform } = await answering((request) => {
    request.socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nsome bytes')
  })
  await expect(platform.export(ID)).rejects.toMatchObject({ code: 'server_strange' })
  await expect(platform.data(ID, 'a.txt')).rejects.toMatchObject({ code: 'server_strange' })
})

test('an answer without an end is cut off at a limit', async () => {
  const { platform } = await answering((_, answer) => {
    const more = () => {
      while (!answer.destroyed && answer.write('x'.repeat(1_000_000)));
      if (!answer.destroyed) answer.once('drain', more)
    }
    more()
  })
  await expect(platform.list()).rejects.toMatchObject({ code: 'server_strange' })
})

// verifies: S-EVT-13
test('events: the bytes of the envelope are kept, repeated events are skipped, and the end marker ends the stream', async () => {
  const text = `{"schema_version":1, "event_type":"a.b","instance_id":"${ID}","data":{"é":"\\u0041"},"timestamp":"x"}`
  const one = `id: 1\ndata: ${text}\n\n`
  const { platform } = await answering(stream(': hello\n\n', one, one, 'data: {"type":"done"}\n\n'))
  const events = await collect(platform.events(ID, { follow: true }))
  expect(events).toEqual([{ seq: 1, sourceEnd: null, text, event: JSON.parse(text) }])
})

// verifies: S-EVT-13
test('events: event_type says what an event is, and type only where there is none: {type: done} ends, an event with a field type does not', async () => {
  const odd = `{"schema_version":1,"event_type":"a.b","type":"done","instance_id":"${ID}","data":{},"timestamp":"x"}`
  const marked = stream(`id: 1\ndata: ${odd}\n\n`, `id: 2\ndata: ${envelope(2)}\n\n`, 'data: {"type":"done"}\n\n')
  const { platform } = await answering(marked)
  const events = await collect(platform.events(ID, { follow: true }))
  expect(events.map(({ seq, event }) => [seq, event.event_type])).toEqual([
    [1, 'a.b'],
    [2, 'a.b'],
  ])
  // Nothing after the mark is read.
  const more = await answering(stream('data: {"type":"done"}\n\n', `id: 1\ndata: ${envelope(1)}\n\n`))
  expect(await collect(more.platform.events(ID, { follow: true }))).toEqual([])
})

test.each([
  '{"type":"done"}',
  '{"event_type":"done"}',
  '{"event_type":"done","schema_version":1,"data":{}}',
  '{"type": "done", "status": "completed"}',
])('events: the end marker %s ends the stream', async (marker) => {
  const { platform } = await answering(stream(`id: 1\ndata: ${envelope(1)}\n\n`, `data: ${marker}\n\n`))
  const events = await collect(platform.events(ID, { follow: true }))
  expect(events.map(({ seq }) => seq)).toEqual([1])
})

test.each([
  ['a gap', `id: 1\ndata: ${envelope(1)}\n\nid: 3\ndata: ${envelope(3)}\n\n`],
  ['an event without a number', `data: ${envelope(1)}\n\n`],
  ['what is no event', 'id: 1\ndata: {"hello":"world"}\n\n'],
  ['what is no JSON', 'id: 1\ndata: hello\n\n'],
  ['an event without an end', `id: 1\ndata: ${'x'.repeat(6_000_000)}`],
])('events: %s is an error, and no event after it is given', async (_, body) => {
  const { platform } = await answering(stream(body))
  const seen: JournalEvent[] = []
  const read = async () => {
    for await (const event of platform.events(ID, { follow: true })) seen.push(event)
  }
  await expect(read()).rejects.toMatchObject({ code: 'server_strange', exitCode: 10 })
  expect(seen.length).toBeLessThan(2)
})

test('events: a stream that ends without the end marker is opened again, and fails if nothing more comes', async () => {
  let asked = 0
  const { platform } = await answering((request, answer) => {
    asked += 1
    if (asked === 1) return stream(`id: 1\ndata: ${envelope(1)}\n\n`)(request, answer)
    if (asked === 2) expect(request.headers['last-event-id']).toBe('1')
    request.socket.destroy()
  })
  await expect(collect(platform.events(ID, { follow: true }))).rejects.toMatchObject({ code: 'server_unreachable' })
  expect(asked).toBeGreaterThan(2)
})

test('events: without follow the stream ends after the last event; a number beyond it is waited for, as locally', async () => {
  const { platform } = await answering((request, answer) => {
    const { searchParams } = new URL(request.url ?? '', 'http://x')
    if (searchParams.has('after')) return void answer.writeHead(400).end('{"detail":"No such","code":"cursor_unknown"}')
    stream(`id: 1\ndata: ${envelope(1)}\n\nid: 2\ndata: ${envelope(2)}\n\n`)(request, answer)
  })
  expect(await collect(platform.events(ID))).toHaveLength(2)
  expect(await collect(platform.events(ID, { after: 9 }))).toEqual([])
})

test.each([
  ['http://127.0.0.1:1', /the connection was refused/],
  ['http://no-such-host.invalid', /no host has that name|can't be looked up now/],
])('%s is reported as a sentence', async (url, reason) => {
  const platform = openRemotePlatform({ url })
  await expect(platform.resolvers()).rejects.toMatchObject({
    code: 'server_unreachable',
    message: expect.stringMatching(reason),
  })
  await expect(collect(platform.events(ID, { follow: true }))).rejects.toMatchObject({ code: 'server_unreachable' })
  await platform.close()
})

test('an invalid address or token is refused before anything is sent', () => {
  for (const url of ['', 'x', 'ftp://x', 'http://a:b@x', 'http://x/?q', 'http://x/#h']) {
    expect(() => openRemotePlatform({ url }), url).toThrow(expect.objectContaining({ code: 'usage' }))
  }
  expect(() => openRemotePlatform({ url: 'http://x', token: 'two words' })).toThrow(
    expect.objectContaining({ code: 'usage' }),
  )
  expect(() => openRemotePlatform({ url: 'https://x/prefix/', token: ' padded\n' })).not.toThrow()
})

test('a prefix of the server stands before every path', async () => {
  const paths: string[] = []
  const { url } = await answering((request, answer) => {
    paths.push(request.url ?? '')
    answer.end('[]')
  })
  const platform = openRemotePlatform({ url: `${url}/tools/resolve/` })
  await platform.resolvers()
  await platform.close()
  expect(paths).toEqual(['/tools/resolve/api/resolvers'])
})
