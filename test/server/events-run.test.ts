/** A whole run seen over HTTP: readers whose connections are cut, callers that act, and at the end everything fits together. */
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installedFile } from '../../src/core/files/installation.ts'
import { type LocalPlatform, openLocalPlatform } from '../../src/core/platform/local/local.ts'
import { ownerAccess } from '../../src/server/access/access.ts'
import { noGuard } from '../../src/server/access/guard.ts'
import { buildApp } from '../../src/server/app.ts'
import { cuttingProxy, DONE, parse, seeded } from '../support/event-stream.ts'
import { temporaryHome } from '../support/instances.ts'
import { soundInstance } from '../support/invariants.ts'
import type { Exchange } from '../support/invariants-http.ts'
import type { StreamConnection } from '../support/invariants-streams.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let home: string
let platform: LocalPlatform
let app: FastifyInstance
let port: number
const exchanges: Exchange[] = []

beforeAll(async () => {
  home = temporaryHome()
  const builtins = dirname(dirname(installedFile('resolvers/hello/resolver.js') as string))
  platform = await openLocalPlatform({ home, builtins })
  const behaviour = `
    for (let n = 0; n < 150; n += 1) { me.emit('plain.tick', { n, pad: 'é'.repeat(n % 90) }); if (n % 10 === 0) await sleep(5) }
    const answer = await me.ask('q', 'Which?')
    me.emit('plain.answered', answer)
    while (me.messages.length < 2) await sleep(10)
    for (let n = 0; n < 150; n += 1) me.emit('plain.tock', { n })
    me.finish({ status: 'completed', output: 'ok' })`
  await (await platform.catalog()).add(plainResolver(behaviour).dir, { cwd: home })
  app = await buildApp({ platform, access: ownerAccess, guard: noGuard })
  await app.listen({ port: 0, host: '127.0.0.1' })
  port = (app.server.address() as AddressInfo).port
})

afterAll(async () => {
  await app.close()
  await platform.close()
})

/** Sends a request and writes down what was sent and answered. */
async function call(method: string, path: string, sent?: unknown): Promise<Exchange> {
  const from = Date.now()
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    ...(sent === undefined ? {} : { body: JSON.stringify(sent), headers: { 'content-type': 'application/json' } }),
  })
  const text = await response.text()
  let body: unknown = text
  try {
    body = JSON.parse(text)
  } catch {
    // Some answers have no body.
  }
  const exchange = { method, path, sent, status: response.status, body, from, to: Date.now() }
  exchanges.push(exchange)
  return exchange
}

/** Follows an instance to its end however often it is cut; what counts as seen is what came whole. */
async function followPast(proxyPort: number, id: string): Promise<StreamConnection[]> {
  const connections: StreamConnection[] = []
  for (let after = 0; ; ) {
    let text = ''
    let isWhole = true
    try {
      const response = await fetch(`http://127.0.0.1:${proxyPort}/api/instances/${id}/events`, {
        headers: { 'last-event-id': String(after) },
      })
      const decoder = new TextDecoder()
      for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
    } catch {
      isWhole = false
    }
    const { messages } = parse(text)
    connections.push({ after, isWhole, frames: messages.map(({ id: seq, data }) => ({ id: seq, data })) })
    if (messages.at(-1)?.data === DONE) return connections
    after = Number(messages.at(-1)?.id ?? after)
  }
}

// verifies: R15-SSE S-EVT-01
test('with readers that are cut and callers that act, the journal, the files and all streams are consistent (reliability, Invariants)', async () => {
  const random = seeded(7)
  const proxy = await cuttingProxy(port, () => 500 + Math.floor(random() * 12_000))
  const { status, body } = await call('POST', '/api/instances', { resolver: 'plain', input: { a: 1 } })
  expect(status).toBe(202)
  const { instance_id: id } = body as { instance_id: string }
  const own = `/api/instances/${id}`
  const readers = [1, 2, 3].map(() => followPast(proxy.port, id))
  const until = async (wanted: string) => {
    for (;;) {
      const record = await call('GET', own)
      if ((record.body as { status: string }).status === wanted) return
      await sleep(20)
    }
  }
  await until('awaiting_input')
  await call('POST', `${own}/input-requests/q`, { which: 'this' })
  await call('POST', `${own}/input-requests/q`, { which: 'that' })
  await call('POST', `${own}/messages`, { message_type: 'note', payload: {} })
  await call('POST', `${own}/messages`, { message_type: 'note', payload: { text: 'one' } })
  await call('POST', `${own}/messages`, { message_type: 'note', payload: { text: 'two' } })
  await call('GET', `${own}/data/none`)
  await call('GET', `${own}/events?after=99999`)
  await until('completed')
  const streams = await Promise.all(readers)
  proxy.close()
  expect(proxy.cuts()).toBeGreaterThan(5)
  expect(exchanges.map((exchange) => exchange.status)).toEqual(expect.arrayContaining([202, 204, 409, 422, 404, 400]))
  soundInstance(home, id, { streams, answers: exchanges })
})
