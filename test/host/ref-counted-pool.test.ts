/** What is kept warm for the next is ended by the last who leaves it, and never under the hands of somebody who came later (threats B3). */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Keepable, RefCountedPool } from '../../src/core/host/inquiry/ref-counted-pool.ts'

const WAIT_MS = 150

class Stove implements Keepable {
  isOver = false
  isClosed = false

  async close(): Promise<void> {
    this.isOver = true
    this.isClosed = true
  }
}

function stoves() {
  const opened: Stove[] = []
  const warm = new RefCountedPool<Stove>()
  const use = <T>(work: (stove: Stove, isShared: () => boolean) => Promise<T>) => {
    const open = async () => {
      const stove = new Stove()
      opened.push(stove)
      return stove
    }
    return warm.use('it', WAIT_MS, open, ({ thing, isShared }) => work(thing, isShared))
  }
  return { warm, opened, use }
}

test('an entry that two users release at once is not closed while a third uses it', async () => {
  const { opened, use } = stoves()
  const both = Promise.withResolvers<void>()
  const two = [use(() => both.promise), use(() => both.promise)]
  both.resolve()
  await Promise.all(two)
  await sleep(WAIT_MS / 2)
  const seen = await use(async (stove) => {
    await sleep(WAIT_MS * 2)
    return stove.isClosed
  })
  expect(seen).toBe(false)
  expect(opened).toHaveLength(1)
  await sleep(WAIT_MS * 2)
  expect(opened[0]?.isClosed).toBe(true)
})

test('a closed entry is replaced for the next user, and its end does not close the replacement', async () => {
  const { opened, use } = stoves()
  const gate = Promise.withResolvers<void>()
  const shared = use(async (stove, isShared) => {
    await gate.promise
    return [stove.isClosed, isShared()]
  })
  await use(async (stove) => {
    stove.isOver = true
  })
  const isTheNextClosed = use(async (next) => {
    gate.resolve()
    await sleep(WAIT_MS * 2)
    return next.isClosed
  })
  expect(await shared).toEqual([false, true])
  expect(await isTheNextClosed).toBe(false)
  expect(opened).toHaveLength(2)
  expect(opened[0]?.isClosed).toBe(true)
})

test('closing the pool closes every entry', async () => {
  const { warm, opened, use } = stoves()
  await use(async () => {})
  await warm.close()
  expect(opened.map((stove) => stove.isClosed)).toEqual([true])
})
