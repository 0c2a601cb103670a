/** Pages of instances: what the contract's few instances do not show. */
import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { listInstances } from '../../src/core/platform/list-instances.ts'
import { created, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

// verifies: R9
test('a page holds fewer where inputs are long, and the next one goes on', async () => {
  const home = temporaryHome()
  const resolver = plainResolver('')
  for (let n = 0; n < 20; n += 1) await created(home, resolver, { text: 'x'.repeat(1_000_000) })
  const pages: string[][] = []
  let cursor: string | null = null
  do {
    const page = listInstances(home, { limit: 20, ...(cursor === null ? {} : { cursor }) })
    pages.push(page.records.map((record) => record.instance_id))
    cursor = page.cursor
  } while (cursor !== null && pages.length < 20)
  expect(new Set(pages.flat()).size).toBe(20)
  expect(pages.map((page) => page.length)).toEqual([8, 8, 4])
  rmSync(home, { recursive: true })
})
