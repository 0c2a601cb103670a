/** The index of a home changes what a list costs, never what it says. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listInstances } from '../../src/core/platform/local/list-instances.ts'
import { LiveInstances } from '../../src/core/platform/local/live-instances.ts'
import type { InstanceFilter } from '../../src/core/platform/platform.ts'
import { STATUSES } from '../../src/core/protocol/status.ts'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import { InstanceIndex } from '../../src/core/store/instance-index.ts'
import { readIndex, writeIndex } from '../../src/core/store/instance-index-file.ts'
import { temporaryHome } from '../support/instances.ts'
import { platformOn } from '../support/platforms.ts'
import { seedHome } from '../support/seeded-home.ts'

const COUNT = 120
let home: string
let index: string

beforeAll(async () => {
  home = temporaryHome()
  index = join(home, 'index')
  await seedHome(home, COUNT)
  rest(home)
  await listInstances(home, {})
})

afterAll(() => fs.rmSync(home, { recursive: true }))

/** Its files are believed to rest two seconds after the last change. */
function rest(of: string): void {
  const until = Math.max(...instanceIds(of).map((id) => fs.statSync(instancePaths(of, id).record).ctimeMs)) + 2_100
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Math.max(0, until - Date.now()))
}

async function pagesOf(filter: InstanceFilter): Promise<string[]> {
  // Each page by a process of its own, as it were.
  const pages: string[] = []
  let cursor: string | null = null
  do {
    const page = await listInstances(home, { ...filter, ...(cursor === null ? {} : { cursor }) })
    pages.push(JSON.stringify(page.records))
    cursor = page.cursor
  } while (cursor !== null)
  return pages
}

const FILTERS: InstanceFilter[] = [
  { limit: 50 },
  { limit: 40, resolver: 'tour' },
  { limit: 500, status: ['completed', 'paused'] },
  { limit: 7, status: ['running', 'failed'] },
]

/** The same with the index that lies there, and with none. */
async function expectSameLists(): Promise<void> {
  for (const filter of FILTERS) {
    const withIndex = await pagesOf(filter)
    if (fs.existsSync(index)) fs.renameSync(index, `${home}-index`)
    const without = await pagesOf(filter)
    fs.rmSync(index, { force: true, recursive: true })
    if (fs.existsSync(`${home}-index`)) fs.renameSync(`${home}-index`, index)
    expect(withIndex, JSON.stringify(filter)).toEqual(without)
  }
}

test('a list of many instances writes an index, and a list from the index is the same', async () => {
  const entries = readIndex(home)
  expect(new Set(entries.map(({ id }) => id))).toEqual(new Set(instanceIds(home)))
  expect(new Set(entries.map(({ status }) => status))).toEqual(new Set(['completed', 'failed', 'cancelled', 'paused']))
  expect(entries.every(({ fingerprint }) => fingerprint !== '-')).toBe(true)
  expect(fs.statSync(index).mode & 0o777).toBe(0o600)
  await expectSameLists()
})

test('with an index no instance is read for a list, without one each is', async () => {
  const readsFor = async (filter: InstanceFilter) => {
    const index = new InstanceIndex(home)
    let reads = 0
    const read = index.read.bind(index)
    index.read = (id) => {
      reads += 1
      return read(id)
    }
    await listInstances(home, filter, index)
    return reads
  }
  expect(await readsFor({ limit: 10 })).toBe(0)
  expect(await readsFor({ limit: 10, resolver: 'tour' })).toBe(0)
  const kept = fs.readFileSync(index)
  fs.rmSync(index)
  expect(await readsFor({ limit: 10 })).toBe(COUNT)
  fs.writeFileSync(index, kept)
})

test('whatever happens to instances or to the index, lists are the same as without an index', async () => {
  const ids = instanceIds(home)
  const one = fc.nat(COUNT - 1).map((n) => ids[n] as string)
  const toIndex = fc.oneof(
    fc.record({
      what: fc.constantFrom('index byte' as const, 'index cut' as const),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      bit: fc.nat(7),
    }),
    fc.record({ what: fc.constant('index is a directory' as const) }),
  )
  const toInstance = fc.record({
    what: fc.constantFrom('removed', 'journal cut', 'record gone', 'record garbage', 'record older', 'record older'),
    id: one,
  })
  const damages = fc.tuple(fc.option(toIndex, { freq: 3 }), fc.array(toInstance, { minLength: 2, maxLength: 6 }))
  await fc.assert(
    fc.asyncProperty(damages, async ([indexDamage, instanceDamages]) => {
      const before = fs.readFileSync(index)
      // Only what is damaged is put back from a copy: what rests must be seen to rest.
      const touched = new Set(instanceDamages.map(({ id }) => id))
      const saved = `${home}-saved`
      for (const id of touched) fs.cpSync(instancePaths(home, id).root, join(saved, id), { recursive: true })
      try {
        for (const one of instanceDamages) inflict(one)
        if (indexDamage !== null) inflict(indexDamage)
        await expectSameLists()
      } finally {
        for (const id of touched) {
          fs.rmSync(instancePaths(home, id).root, { recursive: true, force: true })
          fs.renameSync(join(saved, id), instancePaths(home, id).root)
        }
        fs.rmSync(index, { recursive: true, force: true })
        fs.writeFileSync(index, before)
      }
    }),
    { numRuns: Number(process.env['RESOLVE_TEST_RUNS'] ?? 12) },
  )
})

interface Damage {
  what: string
  at?: number
  bit?: number
  id?: string
}

function inflict({ what, at = 0, bit = 0, id = '' }: Damage): void {
  const { root, journal, record } = instancePaths(home, id)
  if (what.startsWith('index is')) {
    fs.rmSync(index, { recursive: true, force: true })
    if (what.endsWith('directory')) fs.mkdirSync(join(index, 'planted'), { recursive: true })
    return
  }
  if (what.startsWith('index')) {
    if (!fs.statSync(index, { throwIfNoEntry: false })?.isFile()) return
    const bytes = fs.readFileSync(index)
    const place = Math.floor(at * (bytes.length - 1))
    bytes[place] = (bytes[place] ?? 0) ^ (1 << bit)
    fs.writeFileSync(index, what === 'index cut' ? bytes.subarray(0, place) : bytes)
    return
  }
  if (!fs.existsSync(record)) return
  if (what === 'removed') fs.rmSync(root, { recursive: true })
  if (what === 'journal cut') fs.truncateSync(journal, Math.floor(fs.statSync(journal).size / 2))
  if (what === 'record gone') fs.rmSync(record)
  if (what === 'record garbage') fs.writeFileSync(record, '{"garbage')
  if (what !== 'record older') return
  // As after a restore: it had not ended yet when it was kept.
  const lines = fs.readFileSync(journal, 'utf8').split('\n').slice(0, 5)
  fs.writeFileSync(journal, `${lines.join('\n')}\n`)
  fs.rmSync(record)
}

test('an index with one flipped bit, wherever it is, is discarded', async () => {
  const kept = fs.readFileSync(index)
  const text = kept.toString('latin1')
  const entries = ['tour', 'completed', '|', '2026', ':'].map((part) => text.indexOf(part, text.length / 2))
  for (const at of [0, 20, ...entries, text.length - 1]) {
    const bytes = Buffer.from(kept)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    fs.writeFileSync(index, bytes)
    expect(readIndex(home), `byte ${at}`).toEqual([])
  }
  fs.writeFileSync(index, kept)
})

test('a forged index with false entries is discarded', async () => {
  const instances = new InstanceIndex(home)
  const entries = [...(await instances.newestFirst(() => undefined))]
  const [oldest, newest] = [entries.at(-1), entries[0]]
  expect(oldest?.order).not.toBe(newest?.order)
  // The newest said to be the oldest.
  const falseOnes = entries.map((place) =>
    place === newest ? { ...place, order: `2020-01-01T00:00:00.000Z|${place.id}` } : place,
  )
  const kept = fs.readFileSync(index)
  writeIndex(home, falseOnes)
  expect(readIndex(home)).toHaveLength(COUNT)
  const page = await listInstances(home, {})
  expect(page.records.map((record) => record.instance_id)).toEqual(entries.map(({ id }) => id))
  fs.writeFileSync(index, kept)
})

test('the supervisor finds the same instances with the index as without, and does not read ended ones again', async () => {
  const withIndex = await new LiveInstances(home).look()
  const kept = fs.readFileSync(index)
  fs.rmSync(index)
  const without = await new LiveInstances(home).look()
  expect(withIndex).toEqual(without)
  expect(Object.keys(withIndex.counts).every((status) => (STATUSES as readonly string[]).includes(status))).toBe(true)
  fs.writeFileSync(index, kept)
})

test('a small home has no index', async () => {
  const small = temporaryHome()
  await seedHome(small, 20)
  await listInstances(small, {})
  await new LiveInstances(small).look()
  expect(fs.readdirSync(small).sort()).toEqual(['instances', 'resolvers'])
  fs.rmSync(small, { recursive: true })
})

// verifies: S-FIND-02
test('an instance that has ended is found by the name and the labels that it got since the index was written', async () => {
  const { records } = await listInstances(home, { status: ['completed'], limit: 1 })
  const id = records[0]?.instance_id as string
  const lists = new InstanceIndex(home)
  const found = async (filter: InstanceFilter) =>
    (await listInstances(home, filter, lists)).records.map((record) => record.instance_id)
  expect(await found({ name: 'named late' })).toEqual([])
  const platform = await platformOn(home)
  await platform.edit(id, { name: 'named late', labels: { team: 'red' } })
  await platform.close()
  expect(await found({ name: 'named late' })).toEqual([id])
  expect(await found({ labels: ['team=red'], text: 'LATE' })).toEqual([id])
  expect((await listInstances(home, { labels: ['team'] })).records.map((one) => one.instance_id)).toEqual([id])
})

test('an older question is looked for in the instances that have not ended by the index', async () => {
  const looked: string[] = []
  const lists = new InstanceIndex(home)
  const unchanged = lists.unchanged.bind(lists)
  lists.unchanged = (id, options) => {
    looked.push(id)
    return unchanged(id, options)
  }
  await listInstances(home, { status: ['awaiting_input'], trustsEnds: true }, lists)
  const ids = [...looked]
  expect(ids.length).toBeGreaterThan(0)
  expect(ids.map((id) => lists.read(id).status)).toEqual(ids.map(() => 'paused'))
})

test('files from before an end that a person put back are found by a list of that status, and then by every list', async () => {
  const waiting = async (trustsEnds: boolean) => {
    const { records } = await listInstances(home, { status: ['awaiting_input'], trustsEnds })
    return records.map((record) => record.instance_id)
  }
  const { records } = await listInstances(home, { status: ['cancelled'], limit: 1 })
  const id = records[0]?.instance_id as string
  const { journal, record } = instancePaths(home, id)
  const lines = fs.readFileSync(journal, 'utf8').trimEnd().split('\n')
  fs.writeFileSync(journal, `${lines.slice(0, -1).join('\n')}\n`)
  fs.rmSync(record)
  expect(await waiting(true)).toEqual([])
  expect(await waiting(false)).toEqual([id])
  expect(await waiting(true)).toEqual([id])
})
