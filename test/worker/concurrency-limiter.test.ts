/** How many processes strangers can make a resolver's form start. */
import { readFileSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Inquiries } from '../../src/core/host/inquiry/inquiries.ts'
import { INQUIRIES_AT_ONCE } from '../../src/core/limits.ts'
import type { CatalogEntry } from '../../src/core/protocol/catalog.ts'
import { ConcurrencyLimiter } from '../../src/core/worker/concurrency-limiter.ts'
import { plainResolver } from '../support/plain-resolver.ts'

test('a limited number run at once for each key, the others wait in order', async () => {
  const turns = new ConcurrencyLimiter('things', { atOnce: 2, waiting: 2 })
  const first = await turns.take('a')
  const second = await turns.take('a')
  const order: number[] = []
  const third = turns.take('a').then((leave) => [order.push(3), leave] as const)
  const fourth = turns.take('a').then((leave) => [order.push(4), leave] as const)
  await expect(turns.take('a')).rejects.toMatchObject({ code: 'too_many', httpStatus: 429 })
  const other = await turns.take('b')
  first()
  first()
  const [, leaveThird] = await third
  expect(order).toEqual([3])
  second()
  const [, leaveFourth] = await fourth
  for (const leave of [leaveThird, leaveFourth, other]) leave()
  for (const leave of [await turns.take('a'), await turns.take('a')]) leave()
})

test('of many inquiries to a resolver that hangs only a limited number of processes run', async () => {
  const { dir, name } = plainResolver('', { name: 'hangs' }, "delete me.on['resolver.getInstantiationSchema']")
  const manifest = JSON.parse(readFileSync(`${dir}/manifest.json`, 'utf8'))
  const inquiries = new Inquiries(dir)
  const opened: (() => void)[] = []
  const entry = { name, dir, manifest } as CatalogEntry
  const all = Array.from({ length: 20 }, () =>
    inquiries.ask(entry, 'local', () => new Promise<void>((done) => opened.push(done))),
  )
  await expect.poll(() => opened.length).toBe(INQUIRIES_AT_ONCE)
  // No further process is started while all of them hang.
  await sleep(100)
  expect(opened).toHaveLength(INQUIRIES_AT_ONCE)
  for (let closed = 0; closed < all.length; closed += 1) {
    await expect.poll(() => opened.length).toBeGreaterThan(closed)
    opened[closed]?.()
  }
  await Promise.all(all)
  await inquiries.close()
  rmSync(dir, { recursive: true })
})

test('a wait that is aborted ends at once, takes no turn, and the others keep theirs', async () => {
  const turns = new ConcurrencyLimiter('things', { atOnce: 1, waiting: 5 })
  const leave = await turns.take('a')
  const controller = new AbortController()
  const aborted = turns.take('a', controller.signal)
  const next = turns.take('a')
  controller.abort()
  const leaveNothing = await aborted
  leaveNothing()
  const early = await Promise.race([next, sleep(20).then(() => 'waits')])
  expect(early).toBe('waits')
  leave()
  const leaveNext = await next
  leaveNext()
  expect(await turns.take('a', AbortSignal.abort())).toBeTypeOf('function')
})
