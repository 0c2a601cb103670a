import { copyFileSync, mkdirSync, renameSync, rmdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type HeldFeed, JournalFeeds } from '../../src/core/platform/journal/journal-feed.ts'
import { envelope, GrowingJournal } from '../support/event-stream.ts'

let journal: GrowingJournal
let feeds: JournalFeeds
let held: HeldFeed[]

beforeEach(() => {
  journal = new GrowingJournal()
  feeds = new JournalFeeds()
  held = []
})

afterEach(() => {
  for (const { release } of held) release()
})

function hold() {
  const one = feeds.hold(journal.path, {
    ensureHost: async () => {
      journal.attended += 1
    },
    hasEnded: () => journal.hasEnded,
  })
  held.push(one)
  return one.feed
}

const frame = (seq: number) => `id: ${seq}\ndata: ${journal.texts[seq - 1]}\n\n`
const frames = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => frame(from + n)).join('')

function readAll(after = 0) {
  const feed = hold()
  let text = ''
  let offset = feed.cursor(after)
  for (let page = feed.read(offset); page !== undefined; page = feed.read(offset)) {
    text += page.frames.toString('utf8')
    offset = page.next
    if (page.isFinal) break
  }
  return text
}

test('a page holds each line byte for byte, with its number as id (R15, architecture, decision 1)', () => {
  journal.addTexts([envelope('a.b', { 'ü\u2028': '\u0000 \u001b' }), '{ "odd" :  1.0e3, "odd": 2 }'])
  journal.add(3)
  const feed = hold()
  const page = feed.read(feed.cursor(0))
  expect(page?.frames.toString('utf8')).toBe(frames(1, 5))
  expect(page).toMatchObject({ lastSeq: 5, isFinal: false })
  expect(feed.read(page?.next ?? 0)).toBeUndefined()
})

test('reading begins after any number, and a number that does not exist is refused (R15)', () => {
  journal.add(500, (n) => ({ pad: 'x'.repeat((n * 37) % 900) }))
  const feed = hold()
  for (const after of [0, 1, 2, 63, 250, 498, 499]) expect(readAll(after)).toBe(frames(after + 1, 500))
  expect(feed.read(feed.cursor(500))).toBeUndefined()
  for (const bad of [501, 1e9, -1, 0.5, Number.NaN, 2 ** 60]) {
    expect(() => feed.cursor(bad)).toThrow(expect.objectContaining({ code: 'cursor_unknown' }))
  }
})

test('a journal without events has a beginning and no lines', () => {
  const feed = hold()
  expect(feed.read(feed.cursor(0))).toBeUndefined()
  expect(() => feed.cursor(1)).toThrow(expect.objectContaining({ code: 'cursor_unknown' }))
})

test('private lines are in no page, and a reader behind them waits for the next event (R15)', async () => {
  const secret = { kind: 'answer', request_id: 'q', payload: { x: 'hush' }, actor: 'ada', via: 'http', at: '' } as const
  for (let n = 0; n < 30; n += 1) {
    journal.writer.appendPrivate({ ...secret, payload: { x: `hush ${'x'.repeat(n * 1_000)}` } })
    journal.add(1)
  }
  for (let n = 0; n < 30; n += 1) journal.writer.appendPrivate({ ...secret, payload: { x: 'y'.repeat(9_000) } })
  const feed = hold()
  for (const after of [0, 1, 17, 29]) expect(readAll(after)).toBe(frames(after + 1, 30))
  const offset = feed.cursor(30)
  expect(feed.read(offset)).toBeUndefined()
  let news = 0
  const stop = feed.follow(() => {
    news += 1
  })
  journal.add(1)
  await expect.poll(() => news).toBeGreaterThan(0)
  expect(feed.read(offset)?.frames.toString('utf8')).toBe(frame(31))
  stop()
})

test('pages are bounded, and a line longer than a page comes whole (R16)', () => {
  journal.add(400, () => ({ pad: 'x'.repeat(1_000) }))
  journal.add(1, () => ({ pad: 'y'.repeat(1024 * 1024) }))
  journal.add(1)
  const feed = hold()
  const sizes: number[] = []
  let offset = feed.cursor(0)
  for (let page = feed.read(offset); page !== undefined; page = feed.read(offset)) {
    sizes.push(page.frames.length)
    offset = page.next
  }
  const [longest] = sizes.toSorted((a, b) => b - a)
  expect(longest).toBeGreaterThan(1024 * 1024)
  expect(sizes.filter((size) => size > 80 * 1024)).toEqual([longest])
  expect(readAll()).toBe(frames(1, 402))
})

test('readers at the same position share one read', () => {
  journal.add(10)
  const [one, other] = [hold(), hold()]
  expect(other).toBe(one)
  expect(one.read(one.cursor(0))).toBe(other.read(other.cursor(0)))
})

test('an unfinished line is not shown until it is finished (reliability F10)', () => {
  journal.add(2)
  journal.tear()
  expect(readAll()).toBe(frames(1, 2))
  expect(() => hold().cursor(3)).toThrow(expect.objectContaining({ code: 'cursor_unknown' }))
})

test('the page with the final move says so, and nothing is shown after it', () => {
  journal.add(2)
  journal.move('awaiting_input')
  journal.addTexts([envelope('x.y', { text: '"platform.instance.status_changed" "completed"' })])
  journal.finish()
  journal.add(1)
  const feed = hold()
  const page = feed.read(feed.cursor(0))
  expect(page).toMatchObject({ lastSeq: 5, isFinal: true })
  expect(feed.hasEnded).toBe(true)
})

test('followers are notified of new events, also when the file watch reports nothing, and of an end without events', async () => {
  const feed = hold()
  let news = 0
  const stop = feed.follow(() => {
    news += 1
  })
  journal.add(1)
  await expect.poll(() => news).toBeGreaterThan(0)
  expect(feed.hasEnded).toBe(false)
  journal.hasEnded = true
  await expect.poll(() => feed.hasEnded).toBe(true)
  stop()
})

test('a followed instance is attended for all its readers together, at most once in two seconds', async () => {
  const feed = hold()
  const stops = Array.from({ length: 20 }, () => feed.follow(() => {}))
  await expect.poll(() => journal.attended).toBe(1)
  for (const stop of stops) stop()
  // Longer than the two seconds between two calls: without a follower there is no second one.
  await sleep(2_200)
  expect(journal.attended).toBe(1)
})

test('a journal that was frozen and goes on in another file is followed there (on-disk, The journal)', async () => {
  journal.add(3)
  const feed = hold()
  let offset = feed.cursor(3)
  const stop = feed.follow(() => {})
  copyFileSync(journal.path, `${journal.path}.new`)
  renameSync(`${journal.path}.new`, journal.path)
  const { JournalWriter } = await import('../../src/core/store/journal-writer.ts')
  const writer = JournalWriter.open(journal.path)
  writer.append([{ text: envelope('a.b', {}), sourceEnd: null }])
  writer.close()
  await expect.poll(() => feed.read(offset)?.lastSeq).toBe(4)
  offset = 1e9
  expect(() => feed.read(offset)).toThrow(expect.objectContaining({ code: 'journal_broken' }))
  stop()
})

test('the last reader closes the journal, and a second release of one reader is ignored', () => {
  const instance = { ensureHost: async () => {}, hasEnded: () => false }
  const [one, other] = [feeds.hold(journal.path, instance), feeds.hold(journal.path, instance)]
  one.release()
  one.release()
  expect(feeds.size).toBe(1)
  other.release()
  expect(feeds.size).toBe(0)
})

test('a page may hold events newer than the last look, and the next page continues after them (R15)', () => {
  journal.add(1)
  const feed = hold()
  const offset = feed.cursor(0)
  journal.add(1)
  const page = feed.read(offset)
  expect(page?.frames.toString('utf8')).toBe(frames(1, 2))
  expect(feed.read(page?.next ?? 0)).toBeUndefined()
  journal.add(1)
  feed.cursor(0)
  expect(feed.read(page?.next ?? 0)?.frames.toString('utf8')).toBe(frame(3))
})

test('a reader that starts as events arrive does not delay the waiting ones (R15)', async () => {
  const feed = hold()
  let told = 0
  feed.follow(() => {
    told += 1
  })
  for (let n = 1; n <= 20; n += 1) {
    const before = told
    journal.add(1)
    // The bell has not rung yet; this look comes first.
    feed.cursor(0)
    await vi.waitFor(() => expect(told).toBeGreaterThan(before), { timeout: 5_000 })
  }
})

test('a directory in place of the journal for a while ends neither the reading nor the process', {
  timeout: 90_000,
}, async () => {
  const feed = hold()
  const offset = feed.cursor(0)
  const stop = feed.follow(() => {})
  renameSync(journal.path, `${journal.path}.aside`)
  mkdirSync(journal.path)
  // Longer than the time between two looks at it; an uncaught exception there fails this file.
  await sleep(2_500)
  rmdirSync(journal.path)
  renameSync(`${journal.path}.aside`, journal.path)
  const before = journal.attended
  await vi.waitFor(() => expect(journal.attended).toBeGreaterThan(before), { timeout: 30_000 })
  journal.add(1)
  await vi.waitFor(() => expect(feed.read(offset)?.lastSeq).toBe(1))
  stop()
})

test('a feed that is closed while a host is sought for its instance does not look at its journal again', async () => {
  const faults: unknown[] = []
  const onFault = (error: unknown) => void faults.push(error)
  process.on('unhandledRejection', onFault)
  let found: (() => void) | undefined
  const ensureHost = () =>
    new Promise<void>((done) => {
      found = done
    })
  const { feed, release } = feeds.hold(journal.path, { ensureHost, hasEnded: () => journal.hasEnded })
  const stop = feed.follow(() => {})
  await vi.waitFor(() => expect(found).toBeDefined(), { timeout: 30_000 })
  stop()
  release()
  journal.hasEnded = true
  found?.()
  await sleep(20)
  process.off('unhandledRejection', onFault)
  expect(faults).toEqual([])
})
