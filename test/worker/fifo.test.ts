/** The FIFO of a worker: one that was made ahead is nobody else's, and what nobody comes for is taken away. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dropFifoAhead, makeFifoAhead, placeFifo } from '../../src/core/worker/local/fifo.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'resolve-fifo-'))
})

afterEach(() => {
  dropFifoAhead(directory)
  rmSync(directory, { recursive: true, force: true })
})

const names = () => readdirSync(directory)

/** Whether it was made is told to this process a moment later. */
async function madeAhead(): Promise<number> {
  makeFifoAhead(directory)
  await expect.poll(() => names().filter((name) => name.startsWith('.new-'))).toHaveLength(1)
  await new Promise((resolve) => setTimeout(resolve, 100))
  return statSync(join(directory, names().find((name) => name.startsWith('.new-')) as string)).ino
}

test('one that was made ahead takes its place, once', async () => {
  const inode = await madeAhead()
  await placeFifo(join(directory, 'first'), directory)
  await placeFifo(join(directory, 'second'), directory)
  const [first, second] = ['first', 'second'].map((name) => statSync(join(directory, name)))
  expect(first?.ino).toBe(inode)
  expect(second?.ino).not.toBe(inode)
  for (const stat of [first, second]) expect([stat?.isFIFO(), (stat?.mode ?? 0) & 0o777]).toEqual([true, 0o600])
  expect(names().toSorted()).toEqual(['first', 'second'])
})

test('what was there before is replaced', async () => {
  await placeFifo(join(directory, 'it'), directory)
  const before = statSync(join(directory, 'it')).ino
  const inode = await madeAhead()
  await placeFifo(join(directory, 'it'), directory)
  expect(statSync(join(directory, 'it')).ino).toBe(inode)
  expect(inode).not.toBe(before)
})

test('one that was tidied away meanwhile is made anew', async () => {
  await madeAhead()
  for (const name of names()) rmSync(join(directory, name))
  await placeFifo(join(directory, 'it'), directory)
  expect(statSync(join(directory, 'it')).isFIFO()).toBe(true)
})

test('nothing is left of one that nobody came for, made or in the making', async () => {
  await madeAhead()
  dropFifoAhead(directory)
  expect(names()).toEqual([])
  makeFifoAhead(directory)
  dropFifoAhead(directory)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(names()).toEqual([])
})
