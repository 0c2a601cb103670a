/** What the pool keeps is closed after its last user, never under a user that came later, and never given to a user of another version. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  type Keepable,
  type PoolTerms,
  RefCountedPool,
  type Use,
} from '../../src/core/host/inquiry/ref-counted-pool.ts'

const IDLE_MS = 150

class Thing implements Keepable {
  isOver = false
  isClosed = false

  async close(): Promise<void> {
    this.isOver = true
    this.isClosed = true
  }
}

function things() {
  const opened: Thing[] = []
  const pool = new RefCountedPool<Thing>()
  const use = <T>(work: (use: Use<Thing>) => Promise<T>, terms: Partial<PoolTerms> = {}) => {
    const open = async () => {
      const thing = new Thing()
      opened.push(thing)
      return thing
    }
    return pool.use('it', { version: '1', idleMs: IDLE_MS, ...terms }, open, work)
  }
  return { pool, opened, use }
}

const nothing = async () => {}

test('an entry that two users release at once is not closed while a third uses it', async () => {
  const { opened, use } = things()
  const both = Promise.withResolvers<void>()
  const two = [use(() => both.promise), use(() => both.promise)]
  both.resolve()
  await Promise.all(two)
  await sleep(IDLE_MS / 2)
  const seen = await use(async ({ thing }) => {
    await sleep(IDLE_MS * 2)
    return thing.isClosed
  })
  expect(seen).toBe(false)
  expect(opened).toHaveLength(1)
  await sleep(IDLE_MS * 2)
  expect(opened[0]?.isClosed).toBe(true)
})

test('a closed entry is replaced for the next user, and its end does not close the replacement', async () => {
  const { opened, use } = things()
  const gate = Promise.withResolvers<void>()
  const shared = use(async ({ thing, others }) => {
    await gate.promise
    return [thing.isClosed, others()]
  })
  await use(async ({ thing }) => {
    thing.isOver = true
  })
  const isTheNextClosed = use(async ({ thing }) => {
    gate.resolve()
    await sleep(IDLE_MS * 2)
    return thing.isClosed
  })
  expect(await shared).toEqual([false, 'meanwhile'])
  expect(await isTheNextClosed).toBe(false)
  expect(opened).toHaveLength(2)
  expect(opened[0]?.isClosed).toBe(true)
})

test('a user is told whether others used the entry before, or at the same time', async () => {
  const { use } = things()
  const others = async (it: Use<Thing>) => it.others()
  expect(await use(others)).toBe('none')
  expect(await use(others)).toBe('before')
  const gate = Promise.withResolvers<void>()
  const first = use(() => gate.promise)
  expect(await use(others)).toBe('meanwhile')
  gate.resolve()
  await first
})

test('another version is another entry; the old one is closed when its last user releases it', async () => {
  const { opened, use } = things()
  const gate = Promise.withResolvers<void>()
  const first = use(() => gate.promise)
  await use(nothing, { version: '2' })
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([false, false])
  gate.resolve()
  await first
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, false])
  await use(nothing, { version: '3' })
  await expect.poll(() => opened.map(({ isClosed }) => isClosed)).toEqual([true, true, false])
})

test('an entry older than its TTL gets no new users, and is closed when the last one releases it', async () => {
  const { opened, use } = things()
  const ageMs = IDLE_MS
  // However often it is used meanwhile, another one takes its place.
  while (opened.length < 2) await use(() => sleep(10), { idleMs: 10_000, ageMs })
  await expect.poll(() => opened.every(({ isClosed }) => isClosed)).toBe(true)
})

test('an entry that may not be kept is closed before its user goes on', async () => {
  const { opened, use } = things()
  await use(nothing, { idleMs: 0 })
  expect(opened[0]?.isClosed).toBe(true)
})

test('a closed pool closes every entry, also those released afterwards', async () => {
  const { pool, opened, use } = things()
  await use(nothing)
  await pool.close()
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([true])
  await use(nothing)
  expect(opened.map(({ isClosed }) => isClosed)).toEqual([true, true])
})
