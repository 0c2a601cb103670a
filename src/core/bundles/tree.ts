/**
 * Reads a directory that a stranger wrote: regular files of a bounded size below its root. A link is followed only where it ends below the
 * root too.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { SESSION_BUNDLE_FILE_MAX_BYTES, SESSION_BUNDLE_NAMES_MAX } from '../limits.ts'

export class Tree {
  /** Without links. */
  readonly root: string

  /** The directory must exist. */
  constructor(root: string) {
    this.root = realpathSync(root)
  }

  /** The path without links; undefined where it is neither a file nor a directory below the root. */
  find(path: string): { path: string; isDirectory: boolean } | undefined {
    if (path.includes('\0')) return undefined
    try {
      const real = realpathSync(join(this.root, path))
      if (real !== this.root && !real.startsWith(this.root + sep)) return undefined
      const stat = statSync(real)
      return stat.isFile() || stat.isDirectory() ? { path: real, isDirectory: stat.isDirectory() } : undefined
    } catch {
      return undefined
    }
  }

  isFile(path: string): boolean {
    return this.find(path)?.isDirectory === false
  }

  isDirectory(path: string): boolean {
    return this.find(path)?.isDirectory === true
  }

  /** Undefined where there is no such file, or one that is too large. */
  read(path: string, maxBytes = SESSION_BUNDLE_FILE_MAX_BYTES): string | undefined {
    const found = this.find(path)
    if (found === undefined || found.isDirectory) return undefined
    try {
      const fd = openSync(found.path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
      try {
        const stat = fstatSync(fd)
        return stat.isFile() && stat.size <= maxBytes ? readFileSync(fd, 'utf8') : undefined
      } finally {
        closeSync(fd)
      }
    } catch {
      return undefined
    }
  }

  /** In order; at most a number of them. */
  names(path: string): string[] {
    const found = this.find(path)
    if (found?.isDirectory !== true) return []
    try {
      return readdirSync(found.path).sort().slice(0, SESSION_BUNDLE_NAMES_MAX)
    } catch {
      return []
    }
  }

  /** As a path of this tree; empty for the root. */
  within(path: string): string {
    return relative(this.root, path)
  }
}
