/** Exports that are under way at once: how many a server sends, to one token and to all (threats WEB-6). */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ResolveError } from '../../src/core/errors.ts'
import { EXPORTS_OF_TOKEN_MAX } from '../../src/core/limits.ts'
import { Places } from '../../src/server/request/places.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Api, openApi } from './api.ts'

/** More than sockets hold, and it cannot be made smaller: its archive waits for a reader. */
const BEHAVIOUR = `
  const { randomBytes } = await import('node:crypto')
  fs.mkdirSync(root + '/data', { recursive: true })
  fs.writeFileSync(root + '/data/large.bin', randomBytes(24 << 20))
  me.finish({ status: 'completed' })`

let api: Api
let id: string

beforeAll(async () => {
  api = await openApi([plainResolver(BEHAVIOUR, { name: 'large' })])
  id = await api.create('large')
  await api.until(id, 'completed')
})

afterAll(() => api.close())

test('one token has a limited number of exports; another token is served, and a reader that leaves makes room', async () => {
  const ask = (token: string, gone: AbortController) =>
    fetch(`${api.url}/api/instances/${id}/export`, {
      headers: { authorization: `Bearer ${token}` },
      signal: gone.signal,
    })
  // Their bodies are not read.
  const readers = Array.from({ length: EXPORTS_OF_TOKEN_MAX }, () => new AbortController())
  const held = await Promise.all(readers.map((gone) => ask(api.tokens.read, gone)))
  expect(held.map(({ status }) => status)).toEqual(readers.map(() => 200))
  const next = new AbortController()
  const refused = await ask(api.tokens.read, next)
  expect([refused.status, await refused.json()]).toEqual([429, expect.objectContaining({ code: 'too_many' })])
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
  const other = await ask(api.tokens.run, next)
  expect([other.status, other.headers.get('retry-after')]).toEqual([200, null])
  expect((await other.arrayBuffer()).byteLength).toBeGreaterThan(24 << 20)

  readers[0]?.abort()
  await expect
    .poll(
      async () => {
        const tried = new AbortController()
        const { status } = await ask(api.tokens.read, tried)
        tried.abort()
        return status
      },
      { timeout: 30_000, interval: 100 },
    )
    .toBe(200)
  for (const gone of readers) gone.abort()
})

test('places are bounded for all callers together, and a place is given back once', () => {
  const places = new Places('exports', { ofToken: 2, all: 3 })
  const leave = places.enter('a')
  places.enter('a')
  expect(() => places.enter('a')).toThrow(ResolveError)
  places.enter(null)
  expect(() => places.enter('b')).toThrow('Too many exports at the same time; the limit is 3.')
  leave()
  leave()
  places.enter('b')
  expect(() => places.enter(null)).toThrow(ResolveError)
})
