/** What changed in a repository of an instance: compared in the host's bare repository, without a work tree. */
import { fail } from '../errors.ts'
import type { BareGit } from '../git/bare-git.ts'
import { HEADS, START, UPSTREAM } from '../git/host-layout.ts'
import { DIFF_FILES_MAX, DIFF_PATCH_MAX_CHARS, SNAPSHOT_LIST_MAX_CHARS } from '../limits.ts'
import type { ChangedFile, DiffBase, RepoDiff } from '../protocol/changes.ts'
import { cleanLine } from '../view/clean.ts'
import { shownPath, toText } from './shown-path.ts'
import type { LiveSnapshot } from './snapshot.ts'

export interface DiffOptions {
  /** Default: start. */
  base?: DiffBase | undefined
  /** With the patch. */
  patch?: boolean | undefined
  /** Only this file, as it is listed. */
  path?: string | undefined
}

export interface DiffSides {
  repo: string
  base: string | null
  workingBranch: string
  head: LiveSnapshot & { seq: number | null; live: boolean }
}

interface Entry extends ChangedFile {
  /** As git names it, in latin1. */
  raw: readonly string[]
}

const COMPARE = ['diff-tree', '-r', '-z', '-M', '-l1000', '--no-ext-diff', '--no-textconv', '--no-color']

/** Throws `change_unknown` where the base is not there, or no file has the path. */
export async function diffRepo(git: BareGit, sides: DiffSides, options: DiffOptions): Promise<RepoDiff> {
  const { base: kind = 'start', path } = options
  const commit = await baseCommit(git, sides, kind)
  const from = commit ?? (await emptyTree(git))
  const all = await entriesOf(git, from, sides.head.commit)
  const wanted = path === undefined ? all : all.filter((entry) => entry.path === path)
  if (path !== undefined && wanted.length === 0)
    throw fail('change_unknown', { what: `change of "${cleanLine(path)}"` })
  const patch = options.patch === true ? await patchOf(git, from, sides.head.commit, wanted, path) : undefined
  const { repo, head } = sides
  return {
    repo,
    base: { kind, commit },
    head: { commit: head.commit, snapshot: head.seq, at: head.at, live: head.live },
    files: wanted.slice(0, DIFF_FILES_MAX).map(({ raw: _, ...file }) => file),
    files_total: wanted.length,
    additions: sum(wanted.map(({ additions }) => additions)),
    deletions: sum(wanted.map(({ deletions }) => deletions)),
    skipped: head.skipped,
    skipped_total: head.skipped_total ?? head.skipped.length,
    patch: patch?.text ?? null,
    patch_cut: patch?.isCut ?? false,
  }
}

/** The commit that a difference begins at; null for an empty upstream. */
async function baseCommit(git: BareGit, sides: DiffSides, kind: DiffBase): Promise<string | null> {
  if (kind === 'start') return (await git.commitOf(START)) ?? null
  if (kind === 'pushed') {
    const pushed = await git.commitOf(`${HEADS}${sides.workingBranch}`)
    if (pushed === undefined) throw fail('change_unknown', { what: 'pushed branch' })
    return pushed
  }
  const upstream = sides.base === null ? undefined : await git.commitOf(`${UPSTREAM}${sides.base}`)
  if (upstream === undefined) throw fail('change_unknown', { what: 'branch of the upstream' })
  // A comparison with a newer upstream would show the work of others as removed.
  const { stdout } = await git.run(['merge-base', upstream, sides.head.commit], { codes: [1] })
  return stdout.trim() || upstream
}

export async function emptyTree(git: BareGit): Promise<string> {
  return (await git.run(['hash-object', '-t', 'tree', '-w', '--stdin'], { input: new Uint8Array() })).stdout.trim()
}

async function entriesOf(git: BareGit, from: string, to: string): Promise<Entry[]> {
  const options = { encoding: 'latin1', maxOutputChars: SNAPSHOT_LIST_MAX_CHARS } as const
  const { stdout } = await git.run([...COMPARE, '--raw', '--numstat', from, to], options)
  return parseEntries(stdout)
}

const CHANGES: Readonly<Record<string, ChangedFile['change']>> = {
  A: 'added',
  D: 'deleted',
  M: 'modified',
  R: 'renamed',
  C: 'copied',
  T: 'type_changed',
}

/** Of `--raw --numstat -z`: first a record for each file, then its numbers. Pure. */
export function parseEntries(output: string): Entry[] {
  const parts = output.split('\0')
  const entries = new Map<string, Entry>()
  for (let at = 0; at < parts.length; ) {
    const head = parts[at++] ?? ''
    if (head.startsWith(':')) {
      const letter = head.split(' ')[4]?.charAt(0) ?? 'M'
      const first = parts[at++] ?? ''
      const isMove = letter === 'R' || letter === 'C'
      const last = isMove ? (parts[at++] ?? '') : first
      entries.set(last, {
        path: shownPath(last),
        ...(isMove ? { old_path: shownPath(first) } : {}),
        change: CHANGES[letter] ?? 'modified',
        additions: 0,
        deletions: 0,
        raw: isMove ? [first, last] : [last],
      })
      continue
    }
    const [, added, deleted, name] = /^(-|\d+)\t(-|\d+)\t(.*)$/s.exec(head) ?? []
    if (added === undefined || deleted === undefined || name === undefined) continue
    // A rename has an empty name here, and both names after it.
    if (name === '') at += 1
    const entry = entries.get(name === '' ? (parts[at++] ?? '') : name)
    if (entry === undefined) continue
    if (added === '-') entry.binary = true
    else Object.assign(entry, { additions: Number(added), deletions: Number(deleted) })
  }
  return [...entries.values()]
}

async function patchOf(
  git: BareGit,
  from: string,
  to: string,
  wanted: readonly Entry[],
  path: string | undefined,
): Promise<{ text: string; isCut: boolean }> {
  // Names with bytes beyond ASCII do not pass as arguments: such a file is shown in the whole patch only.
  const names = wanted.flatMap(({ raw }) => raw).map(toText)
  const only = path === undefined ? [] : ['--', ...names]
  return await patchText(git, from, to, only, DIFF_PATCH_MAX_CHARS)
}

/** A patch that `git apply` takes; cut at the end of a line where it is too long. */
export async function patchText(
  git: BareGit,
  from: string,
  to: string,
  only: readonly string[],
  maxOutputChars: number,
  more: readonly string[] = [],
  encoding: 'utf8' | 'latin1' = 'utf8',
): Promise<{ text: string; isCut: boolean }> {
  const compare = COMPARE.filter((arg) => arg !== '-z')
  const args = [
    '--literal-pathspecs',
    ...compare,
    '-p',
    '--src-prefix=a/',
    '--dst-prefix=b/',
    ...more,
    from,
    to,
    ...only,
  ]
  const { stdout, isCut } = await git.run(args, { maxOutputChars, encoding })
  if (isCut) return { text: stdout.slice(0, stdout.lastIndexOf('\n') + 1), isCut }
  // runGit takes the last line feed away; without it `git apply` leaves a binary file out.
  return { text: stdout === '' ? '' : `${stdout}\n`, isCut }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}
