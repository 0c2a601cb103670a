/** The FIFOs of a worker: two that were made ahead are used once, and unused ones are removed. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dropFifoAhead, makeFifoAhead, placeFifos } from '../../src/core/worker/local/fifo.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'resolve-fifo-'))
})

afterEach(() => {
  dropFifoAhead(directory)
  rmSync(directory, { recursive: true, force: true })
})

const names = () => readdirSync(directory)
const drafts = () => names().filter((name) => name.startsWith('.new-'))
const at = (...parts: string[]) => parts.map((name) => join(directory, name)) as [string, string]
const inodes = (paths: readonly string[]) => paths.map((path) => statSync(path).ino)

/** Their inodes. That they were made is told to this process a moment later. */
async function madeAhead(): Promise<number[]> {
  makeFifoAhead(directory)
  await expect.poll(drafts).toHaveLength(2)
  await new Promise((resolve) => setTimeout(resolve, 100))
  return inodes(
    drafts()
      .toSorted()
      .map((name) => join(directory, name)),
  )
}

test('FIFOs made ahead are used once', async () => {
  const ahead = await madeAhead()
  await placeFifos(at('a1', 'a2'), directory)
  await placeFifos(at('b1', 'b2'), directory)
  expect(inodes(at('a1', 'a2'))).toEqual(ahead)
  for (const inode of inodes(at('b1', 'b2'))) expect(ahead).not.toContain(inode)
  for (const path of [...at('a1', 'a2'), ...at('b1', 'b2')]) {
    const stat = statSync(path)
    expect([stat.isFIFO(), stat.mode & 0o777]).toEqual([true, 0o600])
  }
  expect(names().toSorted()).toEqual(['a1', 'a2', 'b1', 'b2'])
})

test('existing files in their places are replaced', async () => {
  await placeFifos(at('a', 'b'), directory)
  const before = inodes(at('a', 'b'))
  const ahead = await madeAhead()
  await placeFifos(at('a', 'b'), directory)
  expect(inodes(at('a', 'b'))).toEqual(ahead)
  expect(ahead).not.toEqual(before)
})

test.each([0, 1])('if one of the FIFOs made ahead was removed, both are created anew (%i)', async (gone) => {
  await madeAhead()
  rmSync(join(directory, drafts().toSorted()[gone] as string))
  await placeFifos(at('a', 'b'), directory)
  for (const path of at('a', 'b')) expect(statSync(path).isFIFO()).toBe(true)
  expect(drafts()).toEqual([])
})

test('unused FIFOs made ahead are removed', async () => {
  await madeAhead()
  dropFifoAhead(directory)
  expect(names()).toEqual([])
  makeFifoAhead(directory)
  dropFifoAhead(directory)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(names()).toEqual([])
})
