/** The files of checked software as the plan sees them: a fresh clone, which its author controls. Nothing outside of its directory can be read. */
import { closeSync, readSync } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { SafeRoot } from '../../files/safe-root.ts'
import { CHECK_LIST_MAX, CHECK_MANIFEST_MAX_BYTES } from '../../limits.ts'

/** Paths are relative and have neither `.` nor `..`; the empty path is the root. */
export interface SourceTree {
  /** The text of a regular file; undefined where there is none, or where it has more than `maxBytes`. */
  read(path: string, maxBytes?: number): Promise<string | undefined>
  /** Regular files and directories, sorted by name; links, FIFOs and devices are left out. Empty where there is no such directory. */
  list(directory: string): Promise<SourceEntry[]>
}

export interface SourceEntry {
  name: string
  kind: 'file' | 'directory'
}

/** Opens the directory of a clone. `close` releases it. Throws the system's error where it is no directory. */
export function openSourceTree(directory: string): SourceTree & { close(): void } {
  const root = new SafeRoot(directory)
  return {
    read: async (path, maxBytes = CHECK_MANIFEST_MAX_BYTES) => orNothing(() => readText(root, path, maxBytes)),
    list: async (path) => (await entriesOf(root, directory, path)) ?? [],
    close: () => root.close(),
  }
}

function readText(root: SafeRoot, path: string, maxBytes: number): string | undefined {
  const opened = root.openFile(path)
  if (opened === undefined) return undefined
  try {
    if (opened.stat.size > maxBytes) return undefined
    const content = Buffer.alloc(opened.stat.size)
    const read = readSync(opened.fd, content, 0, content.length, 0)
    return content.subarray(0, read).toString('utf8')
  } finally {
    closeSync(opened.fd)
  }
}

async function entriesOf(root: SafeRoot, directory: string, path: string): Promise<SourceEntry[] | undefined> {
  const names = orNothing(() => (path === '' ? root.topNames(CHECK_LIST_MAX) : root.names(path, CHECK_LIST_MAX)))
  if (names === undefined) return undefined
  const kinds = await Promise.all(names.map((name) => kindOf([directory, path, name].filter(Boolean).join('/'))))
  const entries = names.flatMap((name, at) => {
    const kind = kinds[at]
    return kind === undefined ? [] : [{ name, kind }]
  })
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Only names what a later read opens component by component; it follows no link itself. */
async function kindOf(path: string): Promise<SourceEntry['kind'] | undefined> {
  const stat = await lstat(path).catch(() => undefined)
  if (stat?.isFile()) return 'file'
  return stat?.isDirectory() ? 'directory' : undefined
}

/** What the author put in a file's place (a link, a FIFO, a directory) is no file. */
function orNothing<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
