/** What is compressed for a client that takes gzip, and what never is: answers that may hold a new token, streams that follow. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { acceptsGzip } from '../../src/server/http/compression.ts'
import { GrowingJournal, parse, type StreamServer, serveJournal } from '../support/event-stream.ts'
import { type Api, openApi } from './api.ts'

const GZIP = { 'accept-encoding': 'gzip' }

/** The bytes as they were sent; `fetch` would decode them. */
async function sent(url: string, headers: Record<string, string> = {}, method = 'GET') {
  const [response] = (await once(get(url, { headers, method, agent: false }), 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { headers: response.headers, bytes: Buffer.concat(chunks) }
}

test('gzip is sent to a client that names it or takes any coding, and not to one that refuses it', () => {
  for (const header of ['gzip', 'deflate, gzip;q=0.5', '*', 'br, GZIP']) expect(acceptsGzip(header)).toBe(true)
  for (const header of [undefined, '', 'br', 'gzip;q=0', 'gzip; q=0.000, *', '*;q=0', 'gzipped']) {
    expect(acceptsGzip(header)).toBe(false)
  }
})

let journal: GrowingJournal
let server: StreamServer

beforeEach(async () => {
  journal = new GrowingJournal()
  server = await serveJournal(journal)
})

afterEach(async () => {
  await server.close()
  expect(server.feeds.size).toBe(0)
})

test('a replay is compressed, and holds the same events', async () => {
  journal.add(5_000)
  journal.finish()
  const plain = await sent(`${server.url}?follow=false`)
  const zipped = await sent(`${server.url}?follow=false`, GZIP)
  expect(plain.headers['content-encoding']).toBeUndefined()
  expect(zipped.headers['content-encoding']).toBe('gzip')
  expect(zipped.bytes.length).toBeLessThan(plain.bytes.length / 10)
  expect(gunzipSync(zipped.bytes).equals(plain.bytes)).toBe(true)
  expect(server.streams.sent).toBe(2 * 5_001)
})

test('a stream that follows is not compressed', async () => {
  journal.add(500)
  journal.finish()
  const { headers, bytes } = await sent(server.url, GZIP)
  expect(headers['content-encoding']).toBeUndefined()
  expect(bytes.toString()).toContain('{"type":"done"}')
})

test('a compressed replay whose reader leaves releases its journal', async () => {
  journal.add(20_000, (n) => ({ n, text: Math.sin(n).toString(36).repeat(40) }))
  const [response] = (await once(get(`${server.url}?follow=false`, { headers: GZIP, agent: false }), 'response')) as [
    IncomingMessage,
  ]
  response.on('error', () => {})
  await once(response, 'data')
  response.destroy()
  await expect.poll(() => server.streams.size).toBe(0)
})

test('a history is read in pages: each ends after as many events as were asked for', async () => {
  journal.add(2_500)
  journal.finish()
  const seen: string[] = []
  for (let pages = 0; pages < 10; pages += 1) {
    const { bytes } = await sent(`${server.url}?follow=false&limit=1000&after=${seen.length}`, GZIP)
    const { messages } = parse(gunzipSync(bytes).toString())
    seen.push(...messages.map(({ id }) => id ?? ''))
    if (messages.length < 1_000) break
  }
  expect(seen).toEqual(Array.from({ length: 2_501 }, (_, index) => String(index + 1)))
  const one = await sent(`${server.url}?limit=1`)
  expect(parse(one.bytes.toString()).messages.map(({ id }) => id)).toEqual(['1'])
})

test('a long answer to GET is compressed, a short one and an answer to another method are not (threats WEB-13)', async () => {
  const api: Api = await openApi()
  try {
    const headers = { ...GZIP, authorization: `Bearer ${api.tokens.admin}` }
    const long = await sent(`${api.url}/api/openapi.json`, headers)
    expect(long.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
    expect(Number(long.headers['content-length'])).toBe(long.bytes.length)
    expect(JSON.parse(gunzipSync(long.bytes).toString())).toHaveProperty('openapi')
    const plain = await sent(`${api.url}/api/openapi.json`, { authorization: `Bearer ${api.tokens.admin}` })
    expect(plain.headers['content-encoding']).toBeUndefined()
    const short = await sent(`${api.url}/api/instances`, headers)
    expect(short.headers['content-encoding']).toBeUndefined()
    const id = await api.create('hello', { name: 'Ada '.repeat(400) })
    const body = { name: 'renamed' }
    const posted = await api.call('PATCH', `/api/instances/${id}`, { body, headers: GZIP })
    expect(posted.status).toBe(200)
    expect(posted.text.length).toBeGreaterThan(1_024)
    expect(posted.headers.get('content-encoding')).toBeNull()
  } finally {
    await api.close()
  }
})
