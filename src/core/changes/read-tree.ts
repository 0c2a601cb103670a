/**
 * Reads the files of a clone that a resolver may write to into the objects of another git directory, as one tree. Nothing of the clone's
 * own `.git` is read, so its configuration, hooks, filters and attributes of drivers have no effect. {@link file://./snapshot.ts} calls it.
 */
import { constants } from 'node:fs'
import { access, lstat, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../errors.ts'
import { BareGit, type GitOutput, type RunOptions } from '../git/bare-git.ts'
import {
  SNAPSHOT_LIST_MAX_CHARS,
  SNAPSHOT_PATHS_MAX,
  SNAPSHOT_SKIPPED_MAX,
  SNAPSHOT_TOTAL_MAX_BYTES,
  SNAPSHOT_TRACKED_MAX_BYTES,
  SNAPSHOT_UNTRACKED_MAX_BYTES,
} from '../limits.ts'
import type { SkippedPath } from '../protocol/changes.ts'
import { releasePipes } from './release-pipes.ts'
import { shownPath } from './shown-path.ts'

export interface TreeWork {
  /** The git directory of the host: it gets the objects, and keeps the index. */
  gitDir: string
  /** The clone. */
  tree: string
  /** The commit that the work began at; null for an empty repository. */
  start: string | null
  /** Trees that the host has already. */
  known?: readonly string[]
  /** As Date.now(). */
  deadline: number
  signal?: AbortSignal | undefined
}

export interface ReadTree {
  /** The id of the tree. */
  tree: string
  /** The first SNAPSHOT_SKIPPED_MAX. */
  skipped: SkippedPath[]
  skippedTotal: number
}

/** Files are read as they are; names that only other systems refuse are kept, because nothing is checked out here. */
const SETTINGS = [
  'core.bare=false',
  'core.symlinks=true',
  'core.fileMode=true',
  'core.protectNTFS=false',
  'core.protectHFS=false',
  'core.untrackedCache=false',
  'core.splitIndex=false',
  'core.checkStat=default',
  'core.safecrlf=false',
  'core.excludesFile=/dev/null',
  'core.attributesFile=/dev/null',
  'diff.ignoreSubmodules=all',
  'status.submoduleSummary=false',
]

/** Throws `work_unreadable`, `git_missing`; the signal's reason where it is aborted. */
export async function readTree(work: TreeWork): Promise<ReadTree> {
  const git = new TreeGit(work)
  await git.attributes(NO_FILTERS)
  await git.prepareIndex()
  const { paths, skipped } = await choose(work.tree, await git.changed())
  await git.update(paths, skipped)
  const tree = (await git.run(['write-tree'])).stdout.trim()
  return { tree, skipped: skipped.slice(0, SNAPSHOT_SKIPPED_MAX), skippedTotal: skipped.length }
}

/** No driver is configured here; this keeps git from looking for one. */
const NO_FILTERS = '* -filter\n'
/** Where an encoding that a file does not have keeps it from being read. */
const NO_CONVERSION = '* -filter -text !eol !ident !working-tree-encoding\n'

interface ChangedPath {
  /** Bytes as latin1. */
  path: string
  kind: 'new' | 'changed' | 'removed'
}

class TreeGit {
  readonly #work: TreeWork
  readonly #git: BareGit

  constructor(work: TreeWork) {
    this.#work = work
    const { deadline, signal, tree, gitDir } = work
    this.#git = new BareGit({ fails: 'work_unreadable', path: tree, gitDir, deadline, signal, settings: SETTINGS })
  }

  async run(args: readonly string[], options: RunOptions = {}): Promise<GitOutput> {
    const stop = releasePipes(this.#work.tree)
    try {
      return await this.#git.run([`--work-tree=${this.#work.tree}`, ...args], { encoding: 'latin1', ...options })
    } finally {
      stop()
    }
  }

  async attributes(text: string): Promise<void> {
    const info = join(this.#work.gitDir, 'info')
    await mkdir(info, { recursive: true })
    await writeFile(join(info, 'attributes'), text)
  }

  /** One index for all snapshots: files that did not change are not read again. */
  async prepareIndex(): Promise<void> {
    const { gitDir, start } = this.#work
    // Of a git that was killed; the caller's lock says that none runs.
    await rm(join(gitDir, 'index.lock'), { force: true })
    const hasIndex = await lstat(join(gitDir, 'index')).then(
      () => true,
      () => false,
    )
    if (!hasIndex) await this.run(['read-tree', start ?? '--empty'])
    await this.run(['update-index', '-q', '--refresh', '--ignore-submodules'], { codes: [1] })
  }

  async changed(): Promise<ChangedPath[]> {
    const args = ['ls-files', '-z', '-t', '--modified', '--deleted', '--others', '--exclude-standard']
    const { stdout, isCut } = await this.run(args, { maxOutputChars: SNAPSHOT_LIST_MAX_CHARS })
    if (isCut) throw fail('work_unreadable', { reason: 'too many files changed.' })
    const found = new Map<string, ChangedPath>()
    for (const entry of stdout.split('\0')) {
      const path = entry.slice(2)
      if (path === '') continue
      const kind = entry.startsWith('?') ? 'new' : entry.startsWith('R') ? 'removed' : 'changed'
      // A removed file is told as changed, too.
      if (found.get(path)?.kind !== 'removed') found.set(path, { path, kind })
    }
    return [...found.values()]
  }

  /** A file that git refuses is left out, so that one file cannot keep all others from being seen. */
  async update(paths: readonly string[], skipped: SkippedPath[]): Promise<void> {
    let rest = [...paths]
    let isPlain = false
    for (let tries = 0; rest.length > 0; tries++) {
      const { code, stderr } = await this.#updateIndex(rest)
      if (code === 0) return
      if (!isPlain) {
        isPlain = true
        await this.attributes(NO_CONVERSION)
        continue
      }
      const refused = /Unable to process path ([^\n]*)/.exec(stderr)?.[1]
      const left = rest.filter((path) => path !== refused)
      if (left.length === rest.length || tries > TRIES) {
        await this.#updateByHalves(rest, skipped)
        return
      }
      skipped.push({ path: shownPath(refused ?? ''), reason: 'unreadable' })
      rest = left
    }
  }

  /** Where git does not say which file it refuses, for example because of a line feed in its name. */
  async #updateByHalves(paths: readonly string[], skipped: SkippedPath[]): Promise<void> {
    const waiting = [paths]
    for (let runs = 0; ; runs++) {
      const some = waiting.pop()
      if (some === undefined) return
      if (runs >= HALVES_MAX) throw fail('work_unreadable', { reason: 'too many of its files cannot be read.' })
      if ((await this.#updateIndex(some)).code === 0) continue
      const [only = ''] = some
      if (some.length === 1) skipped.push({ path: shownPath(only), reason: 'unreadable' })
      else waiting.push(some.slice(some.length / 2), some.slice(0, some.length / 2))
    }
  }

  async #updateIndex(paths: readonly string[]): Promise<GitOutput> {
    const input = Buffer.from(paths.map((path) => `${path}\0`).join(''), 'latin1')
    const args = ['update-index', '-z', '--add', '--remove', '--replace', '--stdin']
    return await this.run(args, { input, codes: [128] })
  }
}

const TRIES = 20
const HALVES_MAX = 400

/** What a snapshot takes of the changed paths. */
async function choose(
  tree: string,
  changed: readonly ChangedPath[],
): Promise<{ paths: string[]; skipped: SkippedPath[] }> {
  const paths: string[] = []
  const skipped: SkippedPath[] = []
  /** Tracked files that became directories; removed first, because git refuses a directory whose files it knows. */
  const replaced: string[] = []
  let bytes = 0
  const placeOf = (path: string) => Buffer.concat([Buffer.from(`${tree}/`), Buffer.from(path, 'latin1')])
  for (const { path, kind } of changed) {
    const skip = (reason: SkippedPath['reason']) => skipped.push({ path: shownPath(path), reason })
    if (kind === 'removed') {
      paths.push(path)
      continue
    }
    if (path.endsWith('/')) {
      skip('repository')
      continue
    }
    const place = placeOf(path)
    const found = await lstat(place).catch(() => undefined)
    if (found === undefined) continue
    if (found.isDirectory()) {
      if (await lstat(placeOf(`${path}/.git`)).then(yes, no)) skip('repository')
      else replaced.push(path)
      continue
    }
    if (!found.isFile() && !found.isSymbolicLink()) {
      // A named pipe or a socket where a file of the upstream was.
      skip('unreadable')
      continue
    }
    const limit = kind === 'new' ? SNAPSHOT_UNTRACKED_MAX_BYTES : SNAPSHOT_TRACKED_MAX_BYTES
    const isReadable = found.isSymbolicLink() || (await access(place, constants.R_OK).then(yes, no))
    if (isRefusedName(path, found.isSymbolicLink())) skip('unreadable')
    else if (found.size > limit || bytes + found.size > SNAPSHOT_TOTAL_MAX_BYTES) skip('too_large')
    else if (!isReadable) skip('unreadable')
    else if (paths.length >= SNAPSHOT_PATHS_MAX) skip('too_many')
    else {
      bytes += found.size
      paths.push(path)
    }
  }
  return { paths: [...replaced, ...paths], skipped }
}

/** Names that git leaves out of every index without an error. */
function isRefusedName(path: string, isLink: boolean): boolean {
  return /(?:^|\/)\.git(?:\/|$)/i.test(path) || (isLink && /(?:^|\/)\.gitmodules$/i.test(path))
}

const yes = () => true
const no = () => false
