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
