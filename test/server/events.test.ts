import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { type ClientRequest, get, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { EventSource } from 'eventsource'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StreamLimits } from '../../src/server/http/sse.ts'
import {
  cuttingProxy,
  DONE,
  envelope,
  GrowingJournal,
  ID,
  parse,
  readStream,
  type StreamServer,
  seeded,
  serveJournal,
} from '../support/event-stream.ts'

let journal: GrowingJournal
let server: StreamServer

beforeEach(() => {
  journal = new GrowingJournal()
})

afterEach(async () => {
  await server.close()
  expect(server.streams.size).toBe(0)
  expect(server.feeds.size).toBe(0)
})

async function serve(limits: Partial<StreamLimits> = {}): Promise<void> {
  server = await serveJournal(journal, limits)
}

/** Opens a stream and leaves it open. */
async function open(url = server.url, headers: Record<string, string> = {}) {
  const client: ClientRequest = get(url, { headers, agent: false })
  client.on('error', () => {})
  const [response] = (await once(client, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  return { client, response }
}

const ids = (count: number, from = 1) => Array.from({ length: count }, (_, index) => String(from + index))

// verifies: S-EVT-01 R15-SSE
test('a finished instance is replayed, ended with done, and closed (R15)', async () => {
  journal.add(20)
  journal.finish()
  await serve()
  const { status, headers, messages, retry, text } = await readStream(server.url)
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  expect(headers.get('cache-control')).toBe('no-store')
  expect(headers.get('x-accel-buffering')).toBe('no')
  expect(headers.get('x-content-type-options')).toBe('nosniff')
  expect(retry).toBe(1_000)
  expect(messages.map((message) => message.data)).toEqual([...journal.texts, DONE])
  expect(messages.slice(0, -1).map((message) => message.id)).toEqual(ids(21))
  // The marker itself carries no id: the last one stays.
  expect(text.endsWith(`\n\ndata: ${DONE}\n\n`)).toBe(true)
})

test('replay begins after Last-Event-ID or ?after=, and the header wins when a browser comes back (R15)', async () => {
  journal.add(20)
  journal.finish()
  await serve()
  const after = async (query: string, headers: Record<string, string> = {}) => {
    const { messages } = await readStream(server.url + query, headers)
    return messages.map((message) => message.data)
  }
  const rest = (from: number) => [...journal.texts.slice(from), DONE]
  expect(await after('?after=7')).toEqual(rest(7))
  expect(await after('', { 'last-event-id': '19' })).toEqual(rest(19))
  expect(await after('?after=3', { 'last-event-id': '20' })).toEqual(rest(20))
  expect(await after('', { 'last-event-id': '' })).toEqual(rest(0))
  // All of it was seen before: only done is left to say.
  expect(await after('?after=21')).toEqual([DONE])
  expect(await after('?after=21&follow=false')).toEqual([])
})

test('a cursor that does not exist is refused, and no stream begins (R15)', async () => {
  journal.add(5)
  await serve()
  for (const query of [
    '?after=6',
    '?after=-1',
    '?after=1.5',
    '?after=abc',
    '?after=',
    '?after=99999999999999999999',
    '?after=0x1',
  ]) {
    const response = await fetch(server.url + query)
    expect([query, response.status, await response.json()]).toEqual([
      query,
      400,
      expect.objectContaining({ code: 'cursor_unknown' }),
    ])
  }
  const response = await fetch(server.url, { headers: { 'last-event-id': '6' } })
  expect(response.status).toBe(400)
})

test('follow=false ends after the last event, without done (R15)', async () => {
  journal.add(3)
  await serve()
  const { messages } = await readStream(`${server.url}?follow=false`)
  expect(messages.map((message) => message.data)).toEqual(journal.texts)
})

// verifies: S-RULE-06
test.each(['completed', 'failed', 'cancelled'])(
  'the stream of an instance that is %s ends with done',
  async (status) => {
    journal.add(1)
    await serve()
    const { response } = await open()
    let text = ''
    response.on('data', (bytes) => {
      text += bytes
    })
    await expect.poll(() => parse(text).messages.length).toBe(1)
    journal.finish(status)
    await once(response, 'end')
    expect(parse(text).messages.map((message) => message.data)).toEqual([...journal.texts, '{"type":"done"}'])
  },
)

test('events arrive as they happen, and done when the instance ends', async () => {
  journal.add(2)
  await serve()
  const { response } = await open()
  let text = ''
  response.on('data', (bytes) => {
    text += bytes
  })
  await expect.poll(() => parse(text).messages.length).toBe(2)
  journal.add(3)
  await expect.poll(() => parse(text).messages.length).toBe(5)
  journal.finish()
  await once(response, 'end')
  expect(parse(text).messages.map((message) => message.data)).toEqual([...journal.texts, DONE])
})

// verifies: S-RULE-06
test('a stream of a paused instance stays open until the instance is resumed', async () => {
  journal.move('paused')
  await serve()
  const { response } = await open()
  let text = ''
  response.on('data', (bytes) => {
    text += bytes
  })
  await sleep(300)
  journal.move('running')
  await expect.poll(() => parse(text).messages.length).toBe(2)
  expect(text).not.toContain('done')
  response.destroy()
  await expect.poll(() => server.streams.size).toBe(0)
})

// verifies: R15-SSE
test('a browser whose connection is cut at random bytes still has every event once and in order (R15, reliability F15)', async () => {
  const random = seeded(20_261_121)
  journal.add(300, (n) => ({ n, pad: 'é'.repeat(Math.floor(random() * 200)) }))
  await serve()
  const proxy = await cuttingProxy(server.port, () => 200 + Math.floor(random() * 9_000))
  const got: { id: string; data: string }[] = []
  const source = new EventSource(`http://127.0.0.1:${proxy.port}/api/instances/${ID}/events`, {
    // The hint is a second; a test has not that long.
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      const body = response.body?.pipeThrough(hurry())
      return new Response(body ?? null, { status: response.status, headers: response.headers })
    },
  })
  const ended = new Promise<void>((resolve, reject) => {
    source.onmessage = ({ data, lastEventId }) => {
      if (data !== DONE) got.push({ id: lastEventId, data })
      else resolve()
    }
    source.onerror = ({ code }) => {
      if (code !== undefined) reject(new Error(`the stream answered ${code}`))
    }
  })
  for (let round = 0; round < 30; round += 1) {
    await sleep(10)
    journal.add(10, (n) => ({ n, pad: 'é'.repeat(Math.floor(random() * 200)) }))
  }
  journal.finish()
  await ended
  source.close()
  proxy.close()
  expect(proxy.cuts()).toBeGreaterThan(10)
  expect(got.map(({ data }) => data)).toEqual(journal.texts)
  expect(got.map(({ id }) => id)).toEqual(ids(601))
})

/** Makes the hint to come back soon one to come back at once. */
function hurry(): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(bytes, controller) {
      const text = Buffer.from(bytes).toString('latin1')
      controller.enqueue(Buffer.from(text.replace('retry: 1000\n', 'retry: 5\n'), 'latin1'))
    },
  })
}

test('curl -N reads a stream to its end', async () => {
  journal.add(3)
  await serve()
  const curl = promisify(execFile)('curl', ['-sN', '--max-time', '10', server.url])
  await expect.poll(() => server.streams.size).toBe(1)
  journal.add(2)
  journal.finish()
  const { stdout } = await curl
  expect(parse(stdout).messages.map((message) => message.data)).toEqual([...journal.texts, DONE])
})

// verifies: R15-SSE
test('hostile lines stay whole for a reader that follows the standard exactly (threats WEB-10)', async () => {
  const lines = [
    envelope('x', { text: 'one\u2028two\u2029three\u0085four' }),
    envelope('x', {
      text: '\u0000\u001b[2J\u009b',
      '\ufeff': '\r\n\ndata: {"type":"done"}\n\nid: 9\nevent: evil\nretry: 1\n',
    }),
    `${envelope('data: ', {})}\t `,
    envelope('x', { text: 'z'.repeat(1024 * 1024 - 200) }),
    envelope(':', { text: 'id: 1' }),
  ]
  journal.addTexts(lines)
  // A raw return is legal between the tokens of JSON, and the end of a line to a reader of the stream.
  const raw = envelope('x', { type: 'done' }).replaceAll(',"', ',\r"').replaceAll('":', '":\r\r')
  journal.addTexts([raw])
  journal.finish()
  await serve()
  const { messages, text } = await readStream(server.url)
  expect(text).not.toContain('\r')
  expect(messages.map((message) => message.data)).toEqual([
    ...journal.texts.map((line) => line.replaceAll('\r', ' ')),
    DONE,
  ])
  expect(messages.every((message) => message.event === undefined)).toBe(true)
  expect(messages.slice(0, -1).map((message) => message.id)).toEqual(ids(journal.texts.length))
  for (const [index, message] of messages.slice(0, -1).entries()) {
    expect(JSON.parse(message.data)).toEqual(JSON.parse(journal.texts[index] as string))
  }
})

test('heartbeats come at their interval as comments, without an id (R15)', async () => {
  journal.add(1)
  await serve({ heartbeatMs: 100 })
  const { response } = await open()
  let text = ''
  response.on('data', (bytes) => {
    text += bytes
  })
  const began = performance.now()
  await expect.poll(() => parse(text).comments.length, { interval: 10, timeout: 5_000 }).toBeGreaterThan(4)
  expect(performance.now() - began).toBeGreaterThan(250)
  response.destroy()
  const { messages } = parse(text)
  expect(messages).toHaveLength(1)
  expect(text.match(/^id:/gm)).toHaveLength(1)
})

test('the number of readers of a token is limited; another one is accepted when one leaves (threats WEB-6)', async () => {
  journal.add(1)
  await serve({ readersPerToken: 3 })
  const mine = { 'x-token': 'mine' }
  const readers = await Promise.all([1, 2, 3].map(() => open(server.url, mine)))
  const refused = await fetch(server.url, { headers: mine })
  expect([refused.status, await refused.json()]).toEqual([429, expect.objectContaining({ code: 'too_many' })])
  const other = await open(server.url, { 'x-token': 'other' })
  const owners = await Promise.all([1, 2, 3, 4, 5].map(() => open()))
  expect([other, ...owners].map(({ response }) => response.statusCode)).toEqual([200, 200, 200, 200, 200, 200])
  readers[0]?.client.destroy()
  await expect.poll(() => server.streams.size).toBe(8)
  expect((await open(server.url, mine)).response.statusCode).toBe(200)
  // A refusal of any other kind counts for nothing.
  for (let n = 0; n < 5; n += 1) await fetch(`${server.url}?after=9`, { headers: { 'x-token': 'third' } })
  expect((await open(server.url, { 'x-token': 'third' })).response.statusCode).toBe(200)
})

/** A reader that asks and then takes nothing. */
function stall() {
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.pause()
  socket.write(`GET ${new URL(server.url).pathname} HTTP/1.1\r\nhost: x\r\n\r\n`)
  return socket
}

// verifies: R15-SSE
test('stalled readers are disconnected, memory stays flat, and others miss nothing (threats WEB-11)', async () => {
  journal.add(40_000, (n) => ({ n, pad: 'x'.repeat(1_000) }))
  await serve({ stallLimitMs: 3_000 })
  global.gc?.()
  const before = process.memoryUsage().rss
  const stalled = Array.from({ length: 20 }, stall)
  await expect.poll(() => server.streams.size).toBe(20)
  let most = 0
  await expect
    .poll(
      () => {
        most = Math.max(most, process.memoryUsage().rss - before)
        return server.streams.size
      },
      { timeout: 10_000 },
    )
    .toBe(0)
  // 20 readers of 44 MB: kept for each of them it would be more than 800.
  expect(most).toBeLessThan(200 * 1024 * 1024)
  for (const socket of stalled) socket.destroy()
  journal.finish()
  const { messages } = await readStream(server.url)
  expect(messages).toHaveLength(40_002)
})

test('a slow reader that reads now and then stays connected, and gets everything', async () => {
  journal.add(12_000, (n) => ({ n, pad: 'x'.repeat(1_000) }))
  journal.finish()
  await serve({ stallLimitMs: 1_000 })
  const { response } = await open()
  let text = ''
  let taken = 0
  for await (const bytes of response) {
    text += bytes
    taken += bytes.length
    if (taken > 3_000_000) {
      taken = 0
      // Four such rests are longer than the limit, none of them is.
      await sleep(400)
    }
  }
  expect(parse(text).messages.at(-1)?.data).toBe(DONE)
  expect(parse(text).messages).toHaveLength(12_002)
})

test('a journal of fifty thousand events is replayed completely', async () => {
  for (let n = 0; n < 50; n += 1) journal.add(1_000)
  journal.finish()
  await serve()
  const { messages } = await readStream(server.url)
  expect(messages).toHaveLength(50_002)
  expect(messages.at(-2)?.id).toBe('50001')
  const tail = await readStream(`${server.url}?after=49990`)
  expect(tail.messages).toHaveLength(12)
})

test('a reader that disconnects leaves no stream open', async () => {
  journal.add(1)
  await serve()
  const readers = await Promise.all(Array.from({ length: 30 }, () => open()))
  expect(server.streams.size).toBe(30)
  expect(server.feeds.size).toBe(1)
  for (const { client } of readers) client.destroy()
  await expect.poll(() => server.streams.size).toBe(0)
  await expect.poll(() => server.feeds.size).toBe(0)
})

test('when the server closes, streams end cleanly and without done; a reader continues at the next server', async () => {
  journal.add(5)
  await serve()
  const { response } = await open()
  let text = ''
  response.on('data', (bytes) => {
    text += bytes
  })
  await expect.poll(() => parse(text).messages.length).toBe(5)
  const begin = Date.now()
  const [, ended] = await Promise.all([server.close(), once(response, 'end').then(() => response.complete)])
  expect(ended).toBe(true)
  expect(Date.now() - begin).toBeLessThan(3_000)
  expect(text).not.toContain('done')
  journal.finish()
  await serve()
  const { messages } = await readStream(server.url, { 'last-event-id': '5' })
  expect(messages.map((message) => message.data)).toEqual([journal.texts[5], DONE])
})

test('a stalled reader does not delay the closing of the server', async () => {
  journal.add(20_000, () => ({ pad: 'x'.repeat(1_000) }))
  await serve()
  const socket = stall()
  await expect.poll(() => server.streams.size).toBe(1)
  await sleep(300)
  const begin = Date.now()
  await server.close()
  expect(Date.now() - begin).toBeLessThan(3_000)
  socket.destroy()
})

test('HEAD opens no stream', async () => {
  await serve()
  const client = request(server.url, { method: 'HEAD' }).end()
  const [response] = (await once(client, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(404)
})
