/** Pages of instances: what the contract's few instances do not show. */
import { rmSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { listInstances } from '../../src/core/platform/local/list-instances.ts'
import type { InstanceFilter } from '../../src/core/platform/platform.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { InstanceIndex } from '../../src/core/store/instance-index.ts'
import { created, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

// verifies: R9
test('a page holds fewer instances if their inputs are long, and the next page continues', async () => {
  const home = temporaryHome()
  const resolver = plainResolver('')
  for (let n = 0; n < 20; n += 1) await created(home, resolver, { text: 'x'.repeat(1_000_000) })
  const pages: string[][] = []
  let cursor: string | null = null
  do {
    const page = await listInstances(home, { limit: 20, ...(cursor === null ? {} : { cursor }) })
    pages.push(page.records.map((record) => record.instance_id))
    cursor = page.cursor
  } while (cursor !== null && pages.length < 20)
  expect(new Set(pages.flat()).size).toBe(20)
  expect(pages.map((page) => page.length)).toEqual([8, 8, 4])
  // Reading them all takes long, so other work of the process gets its turn in between. The clock runs fast here: how long it
  // takes on this machine does not matter.
  let now = performance.now()
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 100))
  let turns = 0
  let turn = setImmediate(function next() {
    turns += 1
    turn = setImmediate(next)
  })
  try {
    await listInstances(home, { limit: 1 })
  } finally {
    clearImmediate(turn)
    clock.mockRestore()
  }
  expect(turns).toBeGreaterThanOrEqual(20)
  rmSync(home, { recursive: true })
})

test('an ended instance is read once to place it; lists of other statuses, or after its removal, do not read it', async () => {
  const home = temporaryHome()
  const platform = await platformOn(home)
  const { instance_id: id } = await platform.create({ resolver: 'hello', input: { name: 'Ada' } })
  await platform.over(id)
  await platform.close()
  const index = new InstanceIndex(home)
  const ids = async (filter: InstanceFilter) =>
    (await listInstances(home, filter, index)).records.map((record) => record.instance_id)
  expect(await ids({})).toEqual([id])
  expect(index.read(id)).toMatchObject({ status: 'completed', resolver: 'hello' })
  expect(await ids({ status: ['running'] })).toEqual([])
  expect(await ids({ resolver: 'hello', status: ['completed'] })).toEqual([id])
  rmSync(instancePaths(home, id).root, { recursive: true })
  expect(await ids({})).toEqual([])
  expect(() => index.read(id)).toThrow(/journal/)
  rmSync(home, { recursive: true })
})
