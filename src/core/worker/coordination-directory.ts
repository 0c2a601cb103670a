/**
 * The coordination directory of a worker on this machine: drivers open it, the host reads and writes through it. Its content is
 * untrusted (threats B1, B2).
 */
import { closeSync, createReadStream, lchownSync, lstatSync, mkdirSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fail, systemCode } from '../errors.ts'
import { giveTo } from '../files/give-to.ts'
import { removeTree } from '../files/remove-tree.ts'
import { type Owner, SafeRoot, toCoordinationError } from '../files/safe-root.ts'
import { Tail } from '../files/tail.ts'
import { watchAndSweep } from '../files/watch.ts'
import { DATA_DIR, MESSAGES_DIR, REQUESTS_DIR } from '../protocol/coordination.ts'
import type { CoordinationDirectory, Following, OpenFile } from './worker.ts'

export interface LocalCoordinationOptions {
  /** The paths as the worker sees them, where they differ. */
  seen?: CoordinationDirectory['seen']
  /** The owner of new files, where it is not this user. */
  owner?: Owner
  /** Directories of `.resolve/` to create at once. */
  directories?: readonly string[]
}

/** Opens `<project>/.resolve`; creates it where it is missing. Throws `coordination_tampered`, `disk_full`. */
export function openLocalCoordination(project: string, options: LocalCoordinationOptions = {}): CoordinationDirectory {
  const resolve = join(project, '.resolve')
  const workspace = join(project, 'workspace')
  try {
    for (const path of [project, resolve]) makeOwned(path, options.owner)
    makeWorkspace(workspace, options.owner)
    const coordination = new LocalCoordinationDirectory(
      options.seen ?? { project, resolve, workspace },
      { resolve, workspace },
      options.owner,
    )
    for (const name of options.directories ?? []) coordination.makeDirectory(name)
    return coordination
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw toCoordinationError(error, '.resolve')
    throw fail(
      'coordination_tampered',
      { path: '.resolve', reason: 'another kind of file has its name' },
      { cause: error },
    )
  }
}

/** Changes the owner of entries that this user made: an entry that the resolver planted keeps its owner. */
function makeOwned(path: string, owner: Owner | undefined): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  giveAway(path, owner)
}

/** Also what a host that was killed had made, and not given away yet. */
function giveAway(path: string, owner: Owner | undefined): void {
  if (owner === undefined) return
  const found = lstatSync(path)
  if (found.isDirectory() && found.uid === process.getuid?.()) lchownSync(path, owner.uid, owner.gid)
}

/** The host never uses the workspace: whatever a resolver put in its place, a link that leads nowhere too, is its own affair. */
function makeWorkspace(path: string, owner: Owner | undefined): void {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error
  }
  giveAway(path, owner)
}

class LocalCoordinationDirectory implements CoordinationDirectory {
  readonly seen: CoordinationDirectory['seen']
  readonly #root: SafeRoot

  readonly #workspace: string
  readonly #owner: Owner | undefined

  constructor(
    seen: CoordinationDirectory['seen'],
    { resolve, workspace }: { resolve: string; workspace: string },
    owner: Owner | undefined,
  ) {
    this.seen = seen
    this.#root = new SafeRoot(resolve, owner)
    this.#workspace = workspace
    this.#owner = owner
  }

  makeDirectory(path: string): void {
    this.#root.makeDirectory(path)
  }

  put(path: string, data: string, options: { mode?: number; exclusive?: boolean; durable?: boolean } = {}): boolean {
    const slash = path.lastIndexOf('/')
    if (slash > 0) this.#root.makeDirectory(path.slice(0, slash))
    if (options.exclusive) return this.#root.createFile(path, data, options)
    this.#root.writeFile(path, data, options)
    return true
  }

  remove(path: string): void {
    this.#root.remove(path)
  }

  read(path: string, maxBytes: number): Buffer | undefined {
    return this.#root.readFile(path, maxBytes)
  }

  open(path: string): OpenFile | undefined {
    const opened = this.#root.openFile(path)
    if (opened === undefined) return undefined
    const { fd, stat } = opened
    const close = () => closeSync(fd)
    const read = (from: number, to: number): AsyncIterable<Buffer> => {
      if (to > from) return createReadStream('', { fd, start: from, end: to - 1 })
      close()
      return Readable.from([])
    }
    return { bytes: stat.size, modifiedMs: stat.mtimeMs, read, close }
  }

  names(directory: string, max: number): string[] {
    return this.#root.names(directory, max)
  }

  async list(directory: string, max: number) {
    return await this.#root.files(directory, max)
  }

  follow(path: string, from: number): Following {
    return new Tail(() => this.#root.openFile(path), from)
  }

  watch(onChange: (swept: boolean) => void): () => void {
    for (const directory of [REQUESTS_DIR, MESSAGES_DIR, DATA_DIR]) {
      try {
        this.#root.makeDirectory(directory)
      } catch {
        // Another kind of file has the name. The reader reports it; the sweep still checks for changes.
      }
    }
    const { path } = this.#root
    return watchAndSweep([path, join(path, REQUESTS_DIR)], onChange)
  }

  async placeInWorkspace(name: string, tree: string): Promise<void> {
    const place = join(this.#workspace, name)
    if (this.#owner !== undefined) await giveTo(tree, this.#owner)
    await removeTree(place)
    await rename(tree, place)
  }

  clearDrafts(): void {
    this.#root.clearDrafts(REQUESTS_DIR, MESSAGES_DIR)
  }

  close(): void {
    this.#root.close()
  }
}
