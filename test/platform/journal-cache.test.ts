/** Reading many and large journals in a process with many readers: once, in parts, and always as the journal is now. */
import { copyFileSync, existsSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { JournalCache } from '../../src/core/platform/journal/journal-cache.ts'
import { type InstancePaths, instancePaths } from '../../src/core/store/home.ts'
import { readJournal } from '../../src/core/store/journal-projection.ts'
import { JournalWriter } from '../../src/core/store/journal-writer.ts'
import { temporaryHome } from '../support/instances.ts'
import { platformOn } from '../support/platforms.ts'
import { seedHome } from '../support/seeded-home.ts'

let home: string
let paths: InstancePaths
let cache: JournalCache

beforeEach(async () => {
  home = temporaryHome()
  const [id = ''] = await seedHome(home, 1)
  paths = instancePaths(home, id)
  cache = new JournalCache()
})

function append(count: number, pad = ''): void {
  const writer = JournalWriter.open(paths.journal)
  const event = { schema_version: 1, instance_id: 'x', timestamp: '2026-01-01T00:00:00.000Z' }
  const lines = Array.from({ length: count }, (_, n) => ({
    text: JSON.stringify({ ...event, event_type: 'resolver:phase', data: { name: `phase ${n}`, pad } }),
    sourceEnd: null,
  }))
  writer.append(lines)
  writer.close()
}

const storyNow = () => readJournal(paths.journal).story

test('a large journal is read once for all its readers, and others get their turn meanwhile', async () => {
  append(20_000, 'x'.repeat(1_000))
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const reads = await Promise.all(Array.from({ length: 8 }, () => cache.read(paths.journal)))
  isOver = true
  expect(turns).toBeGreaterThan(2)
  expect(new Set(reads.map(({ story }) => story)).size).toBe(1)
  expect(reads[0]?.story).toEqual(storyNow())
})

/** The processor time of this thread, which does not grow while other processes keep the machine busy. */
function ranMs(before?: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

test('to adopt an instance, to check, to show and to prune it, a large journal is read in parts as well', async () => {
  append(30_000, 'x'.repeat(1_000))
  const id = storyNow().creation.instance_id
  const before = process.threadCpuUsage()
  storyNow()
  const atOnceMs = ranMs(before)
  const platform = await platformOn(home)
  // The first check also loads programs, and that takes a turn of its own.
  await platform.health()
  /** How long others waited for their turn at most, while this thread worked. */
  const longestTurn = async (work: () => Promise<unknown>) => {
    let longest = 0
    let isOver = false
    let last = process.threadCpuUsage()
    const look = () => {
      longest = Math.max(longest, ranMs(last))
      last = process.threadCpuUsage()
      if (!isOver) setImmediate(look)
    }
    setImmediate(look)
    await work()
    isOver = true
    return longest
  }
  const works: [string, () => Promise<unknown>][] = [
    ['adopt', () => platform.rename(id, 'large')],
    [
      'show',
      () => {
        rmSync(paths.record)
        return platform.record(id)
      },
    ],
    ['check', () => platform.health()],
    ['prune', () => platform.prune({ older_than_ms: 0 })],
  ]
  for (const [what, work] of works) expect(await longestTurn(work), what).toBeLessThan(atOnceMs / 2)
  await platform.close()
  expect(existsSync(paths.root)).toBe(false)
})

test('after a journal has grown, only what was added is read', async () => {
  const { story } = await cache.read(paths.journal)
  append(3)
  expect((await cache.read(paths.journal)).story).toBe(story)
  expect(story).toEqual(storyNow())
  // A torn line is read once it is whole, or replaced by another.
  writeFileSync(paths.journal, '99\t-\t{"torn', { flag: 'a' })
  expect((await cache.read(paths.journal)).story).toEqual(story)
  append(1)
  expect((await cache.read(paths.journal)).story).toEqual(storyNow())
})

test('a journal that was replaced or cut is read anew, and one that cannot be read is not kept', async () => {
  append(3)
  const { story } = await cache.read(paths.journal)
  copyFileSync(paths.journal, `${paths.journal}.copy`)
  renameSync(`${paths.journal}.copy`, paths.journal)
  append(1)
  const again = await cache.read(paths.journal)
  expect(again.story).not.toBe(story)
  expect(again.story).toEqual(storyNow())
  truncateSync(paths.journal, 0)
  await expect(cache.read(paths.journal)).rejects.toMatchObject({ code: 'journal_broken' })
  await expect(cache.read(paths.journal)).rejects.toMatchObject({ code: 'journal_broken' })
})
