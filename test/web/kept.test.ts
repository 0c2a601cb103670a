/** Runs that have ended are kept in the browser: a second visit moves no event, and nothing is left after the session. */
import type { CDPSession, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventsOf, type KeptPage, type KeptRun, RUNS_MAX, runsToForget } from '../../src/web/api/kept-runs.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import {
  callerOf,
  createInstance,
  newToken,
  openContext,
  type Server,
  signedIn,
  startServer,
  untilStatus,
} from './stand.ts'
import { describePage } from './support.ts'

const run = (id: string, more: Partial<KeptRun> = {}): KeptRun => ({
  ...{ id, created: 'then', last: 3, chars: 10, used: 0 },
  ...more,
})
const pages: KeptPage[] = [
  { id: 'a', first: 1, text: '["one","two"]' },
  { id: 'a', first: 3, text: '["three"]' },
]
const now = { created: 'then', last: 3 }

test('kept events are those of the run that the server has, whole and in order, or none', () => {
  expect(eventsOf(run('a'), pages, now)).toEqual(['one', 'two', 'three'])
  expect(eventsOf(undefined, pages, now)).toBeUndefined()
  expect(eventsOf(run('a'), pages, { ...now, created: 'later' })).toBeUndefined()
  expect(eventsOf(run('a'), pages, { ...now, last: 4 })).toBeUndefined()
  expect(eventsOf(run('a'), pages.slice(0, 1), now)).toBeUndefined()
  expect(eventsOf(run('a'), pages.slice(1), now)).toBeUndefined()
  expect(eventsOf(run('a'), [pages[0] as KeptPage, { id: 'a', first: 3, text: '["thr' }], now)).toBeUndefined()
  expect(eventsOf(run('a'), [pages[0] as KeptPage, { id: 'a', first: 3, text: '{}' }], now)).toBeUndefined()
})

test('the runs that were shown longest ago make room', () => {
  const many = Array.from({ length: RUNS_MAX + 2 }, (_, index) => run(`${index}`, { used: index }))
  expect(runsToForget(many).sort()).toEqual(['0', '1'])
  const large = [
    run('old', { used: 1, chars: 40e6 }),
    run('mid', { used: 2, chars: 80e6 }),
    run('new', { used: 3, chars: 30e6 }),
  ]
  expect(runsToForget(large)).toEqual(['mid'])
})

const EVENTS = 3_000

const counter = plainResolver(
  `
  for (let n = 1; n <= ${EVENTS}; n += 1) me.emit('counter.tick', { n, text: 'the part with the number ' + n + ' was read and checked' })
  me.emit('resolver:completed', { outcome: 'success', summary: 'counted', duration_s: 0, artifact_count: 0 })
  me.finish({ status: 'completed', output: 'counted' })
`,
  { name: 'counter' },
)

/** Counts the bytes that answers of the API about one instance had on the wire. */
async function meter(page: Page, part: string): Promise<() => Promise<{ requests: string[]; bytes: number }>> {
  const client: CDPSession = await page.context().newCDPSession(page)
  await client.send('Network.enable')
  const found = new Map<string, string>()
  let bytes = 0
  client.on('Network.requestWillBeSent', ({ requestId, request }) => {
    if (request.url.includes(part)) found.set(requestId, request.url)
  })
  client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (found.has(requestId)) bytes += encodedDataLength
  })
  return async () => {
    // The browser tells the length of an answer a moment after the page has read it.
    await new Promise((resolve) => setTimeout(resolve, 500))
    const seen = { requests: [...found.values()], bytes }
    found.clear()
    bytes = 0
    return seen
  }
}

const keptRuns = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<number>((resolve, reject) => {
        const opened = indexedDB.open('resolve.events', 1)
        opened.onerror = () => reject(opened.error)
        opened.onsuccess = () => {
          const stores = [...opened.result.objectStoreNames]
          if (stores.length === 0) return resolve(0)
          const count = opened.result.transaction(stores).objectStore('pages').count()
          count.onsuccess = () => {
            opened.result.close()
            resolve(count.result)
          }
        }
      }),
  )

describePage('a run of 3,000 events that has ended', () => {
  let server: Server

  beforeAll(async () => {
    server = await startServer([counter])
  })

  afterAll(async () => {
    await server?.close()
  })

  test('is moved compressed at the first visit, not at all at the second, and forgotten at the sign-out', async () => {
    const token = await newToken(server.home)
    const call = callerOf(server, token)
    const id = await createInstance(call, 'counter')
    await untilStatus(call, id, 'completed')
    const { context, complaints } = await openContext()
    const page = await signedIn(context, server, token)
    const read = await meter(page, `/instances/${id}`)

    await page.goto(`${server.url}/instances/${id}/timeline`)
    await page.locator('[data-connection="ended"]').first().waitFor()
    const first = await read()
    expect(first.requests.some((url) => url.includes('/events'))).toBe(true)
    const plain = (await (await fetch(`${server.url}/api/instances/${id}/events?follow=false&token=${token}`)).text())
      .length
    expect(first.bytes).toBeGreaterThan(plain / 100)
    expect(first.bytes).toBeLessThan(plain / 5)
    await expect.poll(() => keptRuns(page)).toBe(2)

    await page.goto(`${server.url}/inbox`)
    await page.goto(`${server.url}/instances/${id}/timeline`)
    await page.locator('[data-connection="ended"]').first().waitFor()
    const second = await read()
    expect(second.requests.filter((url) => url.includes('/events'))).toEqual([])
    expect(second.bytes).toBeLessThan(6_000)
    await page.getByText(`the number ${EVENTS} was read`).first().waitFor()
    process.stderr.write(`first visit ${first.bytes} bytes of ${plain}, second ${second.bytes}\n`)

    await page.getByRole('button', { name: /account and appearance/ }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: /Sign in/ }).waitFor()
    await expect.poll(() => keptRuns(page)).toBe(0)
    expect(complaints).toEqual([])
    await context.close()
  })
})
