/**
 * Which paths the file tools may use: links are resolved first (docs/sessions.md, Security). A shell runs as the same user and is not held by
 * this; it keeps a model from mistakes, and a session that is readOnly from writing.
 */
import { realpathSync, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'

export interface PlaceOptions {
  cwd: string
  /** Directories below which tools read and write. */
  roots: readonly string[]
  /** Refused inside the roots: the coordination directory. */
  closed: string
  /** Readable though it is closed: the session's own outputs. */
  readable: readonly string[]
}

export type Found = { path: string } | { refused: string }

export class Place {
  readonly cwd: string
  readonly #roots: readonly string[]
  readonly #closed: string
  readonly #readable: readonly string[]

  constructor({ cwd, roots, closed, readable }: PlaceOptions) {
    this.cwd = real(cwd)
    this.#roots = [...new Set([this.cwd, ...roots.map(real)])]
    this.#closed = real(closed)
    this.#readable = readable.map(real)
  }

  /** The path without links. `~` is not expanded. */
  find(path: string, use: 'read' | 'write'): Found {
    if (path.includes('\0')) return { refused: 'A path has no NUL character.' }
    const full = real(isAbsolute(path) ? path : resolve(this.cwd, path))
    const isOwnOutput = this.#readable.some((root) => isBelow(full, root))
    if (isOwnOutput && use === 'read') return { path: full }
    if (isBelow(full, this.#closed)) return { refused: `${path} belongs to the platform and can't be used by tools.` }
    if (this.#roots.some((root) => isBelow(full, root))) return { path: full }
    return { refused: `${path} is outside of ${this.#roots.join(', ')}.` }
  }
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root === '/' ? root : root + sep)
}

/** Without links; the part that does not exist is kept as it is. */
function real(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(real(parent), basename(path))
  }
}

/** How a file was when it was read: another value means that it has changed since. Undefined where there is none. */
export function stampOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? undefined : `${stat.ino}:${stat.size}:${stat.mtimeNs}`
}
