/**
 * Writes a file as a whole: readers see the old content or the new, never a part. The content goes into a draft beside it, which then
 * gets the name: by a rename, or by a link where the name must be new. SafeRoot uses it for directories that a resolver can write to.
 */
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { link, open, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemCode } from '../errors.ts'

export interface WriteOptions {
  /** Permissions of the new file. Default 0600. */
  mode?: number
  /** Whether to wait until the content (`content`), or content and name (true), are on disk. Default false. */
  durable?: boolean | 'content'
  onStep?: (step: WriteStep) => void
  /** Makes the name of the draft: 24 hex digits. Default: at random. */
  draftId?: () => string
}

/** The steps of a write: the draft exists, it has its content, the file has its name (by a rename or a link). */
export type WriteStep = 'drafted' | 'written' | 'renamed'

export interface SyncWriteOptions extends WriteOptions {
  /** The owner of the file. Default: the user of this process. */
  owner?: { uid: number; gid: number } | undefined
}

type Data = string | Uint8Array

/** Replaces an existing file. Throws the system's error (ENOSPC, EACCES, …); the old file is then unchanged. */
export function writeWhole(path: string, data: Data, options: WriteOptions = {}): Promise<void> {
  return publish(path, data, options, rename)
}

export function writeWholeSync(path: string, data: Data, options: SyncWriteOptions = {}): void {
  publishSync(path, data, options, fs.renameSync)
}

/** As {@link writeWhole}, but only where the name is free: returns false, and changes nothing, where it is taken. */
export async function createExclusive(path: string, data: Data, options: WriteOptions = {}): Promise<boolean> {
  try {
    await publish(path, data, options, async (draft) => {
      await link(draft, path)
      // The file exists, whether or not its draft can be removed.
      await unlink(draft).catch(() => {})
    })
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}

export function createExclusiveSync(path: string, data: Data, options: SyncWriteOptions = {}): boolean {
  try {
    publishSync(path, data, options, (draft) => {
      fs.linkSync(draft, path)
      removeDraft(draft)
    })
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}

async function publish(
  path: string,
  data: Data,
  { mode = 0o600, durable = false, onStep, draftId }: WriteOptions,
  name: (draft: string, path: string) => Promise<void>,
): Promise<void> {
  const draft = draftName(path, draftId)
  const file = await open(draft, 'wx', mode)
  try {
    try {
      onStep?.('drafted')
      await file.writeFile(data)
      if (durable) await file.sync()
    } finally {
      await file.close()
    }
    onStep?.('written')
    await name(draft, path)
  } catch (error) {
    await unlink(draft).catch(() => {})
    throw error
  }
  onStep?.('renamed')
  if (durable === true) await syncDirectory(dirname(path))
}

function publishSync(
  path: string,
  data: Data,
  { mode = 0o600, durable = false, owner, onStep, draftId }: SyncWriteOptions,
  name: (draft: string, path: string) => void,
): void {
  const draft = draftName(path, draftId)
  const fd = fs.openSync(draft, 'wx', mode)
  try {
    try {
      onStep?.('drafted')
      fs.writeFileSync(fd, data)
      if (owner !== undefined) fs.fchownSync(fd, owner.uid, owner.gid)
      if (durable) fs.fsyncSync(fd)
    } finally {
      fs.closeSync(fd)
    }
    onStep?.('written')
    name(draft, path)
  } catch (error) {
    removeDraft(draft)
    throw error
  }
  onStep?.('renamed')
  if (durable === true) syncDirectorySync(dirname(path))
}

/** A draft that cannot be removed is ignored because of its name. */
function removeDraft(path: string): void {
  try {
    fs.rmSync(path, { force: true })
  } catch {
    // The original error is thrown, not that of the clean-up.
  }
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

function draftName(path: string, draftId = randomId): string {
  return join(dirname(path), `.${draftId()}.tmp`)
}

function randomId(): string {
  return randomBytes(12).toString('hex')
}
