/**
 * Replaces a file as a whole: readers see the old content or the new, never a part. For directories that only the platform
 * writes to.
 */
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { open, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'

export interface WriteOptions {
  /** Permissions of the new file. Default 0600. */
  mode?: number
  /** Whether to wait until content and name are on disk. Default false. */
  durable?: boolean
}

export type WriteStep = 'drafted' | 'written' | 'renamed'

/** Throws the system's error (ENOSPC, EACCES, …); the old file is then unchanged. */
export async function writeWhole(
  path: string,
  data: string | Uint8Array,
  options: WriteOptions & { onStep?: (step: WriteStep) => void } = {},
): Promise<void> {
  const { onStep = () => {} } = options
  const temporary = temporaryName(path)
  const file = await open(temporary, 'wx', options.mode ?? 0o600)
  try {
    onStep('drafted')
    await file.writeFile(data)
    if (options.durable) await file.sync()
  } catch (error) {
    await file.close()
    await unlink(temporary).catch(() => {})
    throw error
  }
  await file.close()
  try {
    onStep('written')
    await rename(temporary, path)
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
  onStep('renamed')
  if (options.durable) await syncDirectory(dirname(path))
}

export function writeWholeSync(path: string, data: string | Uint8Array, options: WriteOptions = {}): void {
  const temporary = temporaryName(path)
  const fd = fs.openSync(temporary, 'wx', options.mode ?? 0o600)
  try {
    fs.writeFileSync(fd, data)
    if (options.durable) fs.fsyncSync(fd)
    fs.closeSync(fd)
    fs.renameSync(temporary, path)
  } catch (error) {
    fs.rmSync(temporary, { force: true })
    throw error
  }
  if (options.durable) syncDirectorySync(dirname(path))
}

/** Makes the names in a directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

function syncDirectorySync(path: string): void {
  const fd = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

function temporaryName(path: string): string {
  return join(dirname(path), `.${randomBytes(12).toString('hex')}.tmp`)
}
