/** What was pushed of a repository, as lists: branches, commits; and as a bundle that git fetches from. */
import { open, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fail } from '../errors.ts'
import { BareGit } from '../git/bare-git.ts'
import { HEADS, LIVE, SNAPSHOTS, START, UPSTREAM } from '../git/host-layout.ts'
import {
  BUNDLE_MAX_BYTES,
  CHANGES_GIT_LIMIT_MS,
  EXPORT_PATCH_MAX_CHARS,
  MIB,
  REPO_BRANCHES_MAX,
  REPO_COMMITS_MAX,
} from '../limits.ts'
import type { RepoCommit, RepoHistory } from '../protocol/changes.ts'
import { cleanLine } from '../view/clean.ts'
import { emptyTree, patchText } from './diff.ts'
import { listSnapshots } from './snapshot.ts'

export async function historyOf(git: BareGit, repo: string): Promise<RepoHistory> {
  const branches = await pushedBranches(git)
  return { repo, branches, commits: await commitsOf(git, branches), snapshots: await listSnapshots(git) }
}

/** Branches that differ from the upstream's of the same name. */
async function pushedBranches(git: BareGit): Promise<{ name: string; commit: string }[]> {
  const args = ['for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads', 'refs/upstream']
  const { stdout } = await git.run(args, { maxOutputChars: REFS_MAX_CHARS })
  const commits = new Map<string, string>()
  for (const line of stdout.split('\n')) {
    const [commit = '', ref = ''] = line.split(' ')
    commits.set(ref, commit)
  }
  const pushed = [...commits].flatMap(([ref, commit]) => {
    const name = ref.slice(HEADS.length)
    return ref.startsWith(HEADS) && commits.get(`${UPSTREAM}${name}`) !== commit ? [{ name, commit }] : []
  })
  return pushed.slice(0, REPO_BRANCHES_MAX)
}

const REFS_MAX_CHARS = 16 * MIB

const FIELDS = ['%H', '%P', '%an', '%cI', '%s'].join('%x00')

async function commitsOf(git: BareGit, branches: readonly { commit: string }[]): Promise<RepoCommit[]> {
  if (branches.length === 0) return []
  const tips = branches.map(({ commit }) => commit)
  const start = await git.commitOf(START)
  const known = start === undefined ? [] : [`^${start}`]
  const args = ['log', `--max-count=${REPO_COMMITS_MAX}`, '--no-show-signature', '--no-color', `--format=${FIELDS}`]
  const { stdout } = await git.run([...args, ...tips, ...known, '--not', '--glob=refs/upstream/*', '--'], {
    maxOutputChars: REPO_COMMITS_MAX * 4_000,
  })
  return stdout.split('\n').flatMap((line) => {
    const [commit = '', parents = '', author = '', at = '', subject = ''] = line.split('\0')
    if (commit === '' || Number.isNaN(Date.parse(at))) return []
    return [
      {
        commit,
        parents: parents.split(' ').filter((parent) => parent !== ''),
        author: cleanLine(author).slice(0, 200),
        at: new Date(at).toISOString(),
        subject: cleanLine(subject).slice(0, 500),
      },
    ]
  })
}

export interface Bundle {
  bytes: number
  stream: AsyncIterable<Buffer>
}

/** The change since the start, with the content of binary files, for `git apply`; undefined without a snapshot. */
export async function patchOfWork(path: string): Promise<{ bytes: Buffer; isCut: boolean } | undefined> {
  const git = new BareGit({ fails: 'work_unreadable', path, deadline: Date.now() + 2 * CHANGES_GIT_LIMIT_MS })
  const last = (await listSnapshots(git)).at(-1)
  if (last === undefined) return undefined
  const from = (await git.commitOf(START)) ?? (await emptyTree(git))
  // Every byte as it is: files need not be UTF-8.
  const { text, isCut } = await patchText(git, from, last.commit, [], EXPORT_PATCH_MAX_CHARS, ['--binary'], 'latin1')
  return { bytes: Buffer.from(text, 'latin1'), isCut }
}

/**
 * Pushed branches and the work as `refs/live` or the latest snapshot, without what the upstream had at the start; `whole` with it. Throws
 * `change_unknown` where there is nothing in it.
 */
export async function bundleOf(path: string, whole: boolean, signal?: AbortSignal): Promise<Bundle> {
  const git = new BareGit({ fails: 'work_unreadable', path, deadline: Date.now() + 2 * CHANGES_GIT_LIMIT_MS, signal })
  const start = await git.commitOf(START)
  const last = (await listSnapshots(git)).at(-1)
  const work = (await git.commitOf(LIVE)) === undefined ? last && `${SNAPSHOTS}${last.seq}` : LIVE
  await removeOldBundles(path)
  const file = `${path}.${process.pid}-${Date.now()}.bundle`
  try {
    const branches = (await pushedBranches(git)).map(({ name }) => `${HEADS}${name}`)
    const refs = [...branches, ...(work === undefined ? [] : [work])]
    if (refs.length === 0) throw fail('change_unknown', { what: 'change to fetch' })
    const known = whole || start === undefined ? [] : [`^${START}`]
    const { code } = await git.run(['bundle', 'create', '--quiet', file, ...refs, ...known], { codes: [128] })
    if (code !== 0) throw fail('change_unknown', { what: 'change to fetch' })
    const handle = await open(file, 'r')
    const { size } = await handle.stat()
    if (size > BUNDLE_MAX_BYTES) {
      await handle.close()
      throw fail('input_too_large', { what: 'bundle', bytes: size, limit: BUNDLE_MAX_BYTES })
    }
    return { bytes: size, stream: handle.createReadStream() as AsyncIterable<Buffer> }
  } finally {
    // An open file stays readable without its name.
    await rm(file, { force: true })
  }
}

/** Of processes that were killed. */
async function removeOldBundles(path: string): Promise<void> {
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(`${basename(path)}.`) || !name.endsWith('.bundle')) continue
    const file = join(dirname(path), name)
    const changedMs = (await stat(file).catch(() => undefined))?.mtimeMs ?? Number.POSITIVE_INFINITY
    if (Date.now() - changedMs > OLD_BUNDLE_MS) await rm(file, { force: true })
  }
}

const OLD_BUNDLE_MS = 4 * CHANGES_GIT_LIMIT_MS
