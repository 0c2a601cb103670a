/** The FIFOs of a worker: fresh ones, for their owner alone, in place of what was there. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { areFifos, makeFifos } from '../../src/core/worker/local/fifo.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'resolve-fifo-'))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

test('both are made at once, readable and writable by their owner alone', async () => {
  const paths = [join(directory, 'stdin'), join(directory, 'lifeline')]
  expect(areFifos(paths)).toBe(false)
  await makeFifos(paths)
  expect(areFifos(paths)).toBe(true)
  expect(paths.map((path) => statSync(path).mode & 0o777)).toEqual([0o600, 0o600])
})

test('what was there before is replaced', async () => {
  const [file, fifo] = [join(directory, 'file'), join(directory, 'fifo')]
  writeFileSync(file, '')
  await makeFifos([fifo])
  await makeFifos([file, fifo])
  expect(areFifos([file, fifo])).toBe(true)
})

test('where none can be made the launch fails with a reason', async () => {
  await expect(makeFifos([join(directory, 'missing', 'stdin')])).rejects.toMatchObject({ code: 'launch_failed' })
})

test('callers at the same time each get theirs, and one that fails does not make the others fail', async () => {
  const [first, missing, ...others] = ['first', 'missing/stdin', 'a', 'b', 'c'].map((name) => [join(directory, name)])
  const outcomes = await Promise.allSettled([first, missing, ...others].map((paths = []) => makeFifos(paths)))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  expect(areFifos([first, ...others].flatMap((paths = []) => paths))).toBe(true)
  // A later call begins anew.
  await makeFifos([join(directory, 'later')])
  expect(areFifos([join(directory, 'later')])).toBe(true)
})
