/**
 * Reads and writes below a directory that a resolver can write to. Every path is opened component by component with O_NOFOLLOW
 * from a held directory descriptor, so that a planted link, swap or device cannot lead outside (threats D1, D2, FS-1…3).
 */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { diskFull, fail, ResolveError, systemCode } from '../errors.ts'
import { LISTING_MAX_ENTRIES } from '../limits.ts'
import { createExclusiveSync, writeWholeSync } from './write-whole.ts'

/** The name of an unfinished file. */
const DRAFT = /^\.[0-9a-f]{24}\.tmp$/
const DRAFTS_SEARCHED_MAX = 10_000

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = fs.constants

export interface FoundFile {
  path: string
  bytes: number
  modifiedMs: number
}

export interface Owner {
  uid: number
  gid: number
}

export class SafeRoot {
  readonly path: string
  readonly #fd: number
  readonly #owner: Owner | undefined
  #isClosed = false

  /** Opens the directory. New entries below it are given to `owner`. Throws the system's error. */
  constructor(path: string, owner?: Owner) {
    this.path = path
    this.#owner = owner
    this.#fd = fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  }

  close(): void {
    this.#isClosed = true
    fs.closeSync(this.#fd)
  }

  /** A descriptor of a regular file, or undefined where there is none; throws `coordination_tampered` for anything else. */
  openFile(relative: string): { fd: number; stat: fs.Stats } | undefined {
    return this.#inParent(relative, (at) => {
      const fd = openOrMissing(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, relative)
      if (fd === undefined) return undefined
      const stat = fs.fstatSync(fd)
      if (stat.isFile()) return { fd, stat }
      fs.closeSync(fd)
      throw tampered(relative, 'not a regular file')
    })
  }

  /** The whole content, or undefined where there is no file. Throws `coordination_tampered` above `maxBytes`. */
  readFile(relative: string, maxBytes: number): Buffer | undefined {
    const opened = this.openFile(relative)
    if (opened === undefined) return undefined
    try {
      if (opened.stat.size > maxBytes)
        throw tampered(relative, `${opened.stat.size} bytes are over the limit of ${maxBytes}`)
      const content = Buffer.allocUnsafe(Math.min(maxBytes, opened.stat.size))
      const read = fs.readSync(opened.fd, content, 0, content.length, 0)
      return content.subarray(0, read)
    } finally {
      fs.closeSync(opened.fd)
    }
  }

  /** Replaces a file as a whole through a random temporary name. A link at the name is replaced, not followed. */
  writeFile(relative: string, data: string | Uint8Array, options: { mode?: number; durable?: boolean } = {}): void {
    const written = this.#inParent(relative, (at) => {
      writeWholeSync(at, data, { ...options, owner: this.#owner })
      return true
    })
    if (written !== true) throw tampered(relative, 'its directory is gone')
  }

  /** As {@link writeFile}, but only where the name is free. Returns false, and changes nothing, where it is taken. */
  createFile(relative: string, data: string | Uint8Array, options: { mode?: number; durable?: boolean } = {}): boolean {
    const isNew = this.#inParent(relative, (at) => createExclusiveSync(at, data, { ...options, owner: this.#owner }))
    if (isNew === undefined) throw tampered(relative, 'its directory is gone')
    return isNew
  }

  /** Creates a directory and its parents; throws `coordination_tampered` where another kind of file has the name. */
  makeDirectory(relative: string): void {
    const parts = split(relative)
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const step = parts.slice(0, depth).join('/')
      this.#inParent(step, (at) => {
        try {
          fs.mkdirSync(at, { mode: 0o700 })
        } catch (error) {
          if (systemCode(error) !== 'EEXIST') throw error
        }
        const fd = openDirectory(at, step)
        try {
          // A host that was killed right after it had made the directory has not given it away.
          const isOurs = this.#owner !== undefined && fs.fstatSync(fd).uid === process.getuid?.()
          if (this.#owner !== undefined && isOurs) fs.fchownSync(fd, this.#owner.uid, this.#owner.gid)
        } finally {
          fs.closeSync(fd)
        }
      })
    }
  }

  remove(relative: string): void {
    this.#inParent(relative, (at) => {
      try {
        fs.unlinkSync(at)
      } catch (error) {
        if (systemCode(error) !== 'ENOENT') throw error
      }
    })
  }

  /**
   * Removes temporary files that a killed writer left, at the top level and in these directories: they may hold content that the
   * final file no longer has.
   */
  clearDrafts(...directories: readonly string[]): void {
    const top = this.#via(this.#fd, '.')
    for (const name of fs.readdirSync(top)) {
      if (DRAFT.test(name)) fs.rmSync(`${top}/${name}`, { force: true })
    }
    for (const directory of directories) {
      for (const name of this.names(directory, DRAFTS_SEARCHED_MAX)) {
        if (DRAFT.test(name)) this.remove(`${directory}/${name}`)
      }
    }
  }

  /** Names in a directory, at most `max`, in any order; empty where the directory is missing. */
  names(relative: string, max: number): string[] {
    const fd = this.#openedForNames(relative)
    if (fd === undefined) return []
    try {
      return [...namesIn(this.#via(fd, relative), max)]
    } finally {
      fs.closeSync(fd)
    }
  }

  /** Names in the directory itself, at most `max`, in any order. */
  topNames(max: number): string[] {
    return [...namesIn(this.#via(this.#fd, '.'), max)]
  }

  #openedForNames(relative: string): number | undefined {
    try {
      return this.#openDirectory(relative)
    } catch (error) {
      throw toCoordinationError(error, relative)
    }
  }

  /**
   * Every regular file below a directory, at most `max`, sorted. Links and devices are left out. Looks at a limited number of
   * entries, directories included, and lets other work go on meanwhile (threats FS-7).
   */
  async files(relative: string, max: number, maxEntries = LISTING_MAX_ENTRIES): Promise<FoundFile[]> {
    const found: FoundFile[] = []
    const waiting = [{ path: relative, below: '', depth: 0 }]
    let left = maxEntries
    for (let next = waiting.pop(); next !== undefined && left > 0 && found.length < max; next = waiting.pop()) {
      const { path, below, depth } = next
      const entries = this.#entries(path, left)
      try {
        for (const { name, stat } of entries) {
          left -= 1
          const shown = below === '' ? name : `${below}/${name}`
          if (stat.isFile()) found.push({ path: shown, bytes: stat.size, modifiedMs: stat.mtimeMs })
          else if (stat.isDirectory() && depth < MAX_DEPTH) {
            waiting.push({ path: `${path}/${name}`, below: shown, depth: depth + 1 })
          }
          if (left === 0 || found.length === max) break
          if (left % ENTRIES_A_TURN > 0) continue
          await nextTurn()
          // Its descriptor may be another file's by now.
          if (this.#isClosed) return []
        }
      } catch (error) {
        // A directory vanished, or was replaced by a link, after it was listed: it is left out.
        if (depth === 0) throw error
      }
    }
    return found.sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  /** The entries of a directory, which is held open meanwhile; none where it is missing. */
  *#entries(relative: string, max: number): Generator<{ name: string; stat: fs.Stats }> {
    const fd = this.#openedForNames(relative)
    if (fd === undefined) return
    try {
      const at = this.#via(fd, relative)
      for (const name of namesIn(at, max)) {
        const stat = fs.lstatSync(`${at}/${name}`, { throwIfNoEntry: false })
        if (stat !== undefined) yield { name, stat }
      }
    } finally {
      fs.closeSync(fd)
    }
  }

  /** Runs `work` with a path that names the last component inside its parent, which is held open meanwhile. */
  #inParent<T>(relative: string, work: (at: string) => T): T | undefined {
    const parts = split(relative)
    const name = parts.pop() as string
    let parent: number | undefined
    try {
      parent = parts.length === 0 ? this.#fd : this.#openDirectory(parts.join('/'))
      if (parent === undefined) return undefined
      return work(`${this.#via(parent, parts.join('/'))}/${name}`)
    } catch (error) {
      throw toCoordinationError(error, relative)
    } finally {
      if (parent !== undefined && parent !== this.#fd) fs.closeSync(parent)
    }
  }

  #openDirectory(relative: string): number | undefined {
    let at = this.#fd
    const parts = split(relative)
    for (const [depth, part] of parts.entries()) {
      let next: number | undefined
      try {
        const here = this.#via(at, parts.slice(0, depth).join('/'))
        next = openOrMissing(`${here}/${part}`, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, relative)
      } finally {
        if (at !== this.#fd) fs.closeSync(at)
      }
      if (next === undefined) return undefined
      at = next
    }
    return at
  }

  /**
   * A path to a held directory descriptor, independent of what its name means by now. Only Linux has such paths. Elsewhere the
   * plain path is used, and each component is still opened with O_NOFOLLOW.
   */
  #via(fd: number, relative: string): string {
    return process.platform === 'linux' ? `/proc/self/fd/${fd}` : join(this.path, relative)
  }
}

const MAX_DEPTH = 32
/** Entries that a listing looks at before other work of the process gets its turn. */
const ENTRIES_A_TURN = 128

/** A directory whose size is at most this holds some thousand entries on every file system, so it is read at once. */
const SMALL_DIRECTORY_BYTES = 16 * 1024

/** At most `max` names. A directory that is read in parts leaves a handle to the garbage collector: 1.3 KB for each of thousands of small ones. */
function* namesIn(path: string, max: number): Generator<string> {
  if (fs.statSync(path).size <= SMALL_DIRECTORY_BYTES) {
    yield* fs.readdirSync(path).slice(0, max)
    return
  }
  const directory = fs.opendirSync(path)
  try {
    let left = max
    for (let entry = directory.readSync(); entry !== null && left > 0; entry = directory.readSync()) {
      left -= 1
      yield entry.name
    }
  } finally {
    directory.closeSync()
  }
}

/** The components of a relative path. Throws `path_refused` for an empty, "." or ".." part, a backslash or a NUL. */
export function split(relative: string): string[] {
  const parts = relative.split('/')
  for (const part of parts) {
    const isBad = part === '' || part === '.' || part === '..' || part.includes('\\') || part.includes('\0')
    if (isBad || Buffer.byteLength(part) > 255) throw fail('path_refused', { path: relative })
  }
  return parts
}

function openOrMissing(at: string, flags: number, relative: string): number | undefined {
  try {
    return fs.openSync(at, flags)
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP' || code === 'EMLINK') throw tampered(relative, 'a symbolic link')
    if (code === 'ENOTDIR') throw tampered(relative, 'not a directory')
    if (code === 'ENXIO') throw tampered(relative, 'not a regular file')
    throw error
  }
}

function openDirectory(at: string, relative: string): number {
  const fd = openOrMissing(at, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, relative)
  if (fd === undefined) throw tampered(relative, 'it is gone')
  return fd
}

/** System errors that callers handle, or that concern the machine and not the resolver. */
const KEPT = ['EEXIST', 'EMFILE', 'ENFILE', 'EIO', 'ENOMEM']

/**
 * What a resolver did to its coordination directory is not a bug of the platform: a directory in a file's place, missing
 * permissions, a missing directory.
 */
export function toCoordinationError(error: unknown, relative: string): unknown {
  const code = systemCode(error)
  if (error instanceof ResolveError || code === undefined || KEPT.includes(code)) return error
  return diskFull(error, relative) ?? fail('coordination_tampered', { path: relative, reason: code }, { cause: error })
}

function tampered(path: string, reason: string): Error {
  return fail('coordination_tampered', { path, reason })
}
