/** Waiting requests for the log of an instance: how many one token may have, and the text format (threats WEB-6). */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LOG_WAITING_MAX, LOG_WAITING_OF_TOKEN_MAX } from '../../src/core/limits.ts'
import { followLog } from '../../src/terminal/follow/follow-log.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Api, openApi } from './api.ts'

const BEHAVIOUR = `
  print(JSON.stringify({ jsonrpc: '2.0', method: 'resolver.log', params: { level: 'info', message: 'one\\n2030-01-01T00:00:00.000Z error two\\u001b]0;x\\u0007' } }) + '\\n')
  await me.ask('q', '?')`

let api: Api
let id: string

beforeAll(async () => {
  api = await openApi([plainResolver(BEHAVIOUR, { name: 'waits' })])
  id = await api.create('waits')
  await api.until(id, 'awaiting_input')
})

afterAll(() => api.close())

test('the text format has no control characters, and one entry for each line of the log', async () => {
  const { text } = await api.call('GET', `/api/instances/${id}/logs?format=text&wait=20`)
  expect(text).toMatch(/^\S+ info one\n {4}2030-01-01T00:00:00\.000Z error two\n$/)
})

test('one token has a limited number of waiting requests', async () => {
  const { next } = await api.platform.logs(id)
  const gone = new AbortController()
  const ask = (token: string) =>
    fetch(`${api.url}/api/instances/${id}/logs?after=${next}&wait=20`, {
      headers: { authorization: `Bearer ${token}` },
      signal: gone.signal,
    })
  const asked = Array.from({ length: LOG_WAITING_OF_TOKEN_MAX + 1 }, () => ask(api.tokens.run))
  const refused = await Promise.race(asked)
  expect([refused.status, await refused.json()]).toEqual([429, expect.objectContaining({ code: 'too_many' })])
  gone.abort()
  await Promise.allSettled(asked)
  await expect
    .poll(
      async () =>
        (await api.call('GET', `/api/instances/${id}/logs?wait=1&after=${next}`, { token: api.tokens.run })).status,
    )
    .toBe(200)
})

test('a follower pauses when an empty answer comes at once', async () => {
  const { next } = await api.platform.logs(id)
  const gone = new AbortController()
  const options = { after: next, waitMs: 20_000, signal: gone.signal }
  const waiting = Array.from({ length: LOG_WAITING_MAX }, () => api.platform.logs(id, options))
  let reads = 0
  const counting = new Proxy(api.platform, {
    get: (target, name) => {
      if (name === 'logs') reads += 1
      const found = Reflect.get(target, name)
      return typeof found === 'function' ? found.bind(target) : found
    },
  })
  const left = AbortSignal.timeout(2_500)
  for await (const line of followLog(counting, id, { follow: true, after: next, signal: left })) expect(line).toBeNull()
  gone.abort()
  await Promise.all(waiting)
  expect(reads).toBeLessThan(6)
})
