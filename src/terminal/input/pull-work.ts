/** Fetches the bundle of an instance into a clone of the person, with the person's own git: for `resolve instance pull`. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Platform } from '../../core/index.ts'
import { cleanLine } from '../../core/view/clean.ts'
import { usage } from '../output/command-error.ts'
import { saveTo } from './save-data.ts'

export interface PullRequest {
  id: string
  repo: string
  /** A directory in the clone. */
  into: string
  isSwitched: boolean
}

interface Head {
  branch: string
  commit: string
}

export interface Pulled {
  into: string
  branches: Head[]
  /** The branch of the person's own that has the work; null where the instance has none. */
  branch: string | null
  switched_to: string | null
}

/** Throws `usage` where the directory is no clone, has changes that are not committed, or git refuses. */
export async function pullWork(platform: Platform, { id, repo, into, isSwitched }: PullRequest): Promise<Pulled> {
  const top = await cloneAt(into)
  if ((await git(top, ['status', '--porcelain', '--untracked-files=no'])) !== '') {
    throw usage(`${top} has changes that are not committed; commit or stash them first.`)
  }
  const short = id.slice(0, ID_CHARS)
  const folder = await mkdtemp(join(tmpdir(), 'resolve-pull-'))
  try {
    const file = join(folder, 'work.bundle')
    const fetch = async (whole: boolean) => {
      await saveTo(file, (await platform.git.bundle(id, repo, { whole })).stream, 0o600)
      return await fetchBundle(top, file, `resolve-${short}`)
    }
    // A clone that is older than the start of the instance lacks commits that the short bundle builds on.
    const branches = (await fetch(false)) ?? (await fetch(true)) ?? []
    const last = branches.at(-1)
    if (last === undefined) return { into: top, branches, branch: null, switched_to: null }
    const known = (await platform.git.repos(id)).find(({ name }) => name === repo)
    const pushed = branches.filter(({ branch }) => branch === `resolve-${short}/${known?.working_branch}`)
    const work = await withHistory(top, last, [...pushed, ...branches])
    const branch = await makeBranch(top, `resolve/${repo}-${short}`, work.commit)
    if (isSwitched) await git(top, ['switch', '--quiet', branch])
    return { into: top, branches, branch, switched_to: isSwitched ? branch : null }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** The top of the clone; throws `usage` where there is none. */
async function cloneAt(into: string): Promise<string> {
  const found = await stat(into).catch(() => undefined)
  if (found === undefined) throw usage(`${into} does not exist. Name a clone of yours: --into DIR.`)
  if (!found.isDirectory()) throw usage(`${into} is no directory. Name a clone of yours: --into DIR.`)
  try {
    return (await git(into, ['rev-parse', '--show-toplevel'])).trim()
  } catch (error) {
    if (!(error instanceof Error) || !/not a git repository|in a work tree/.test(error.message)) throw error
    throw usage(`${into === '.' ? 'The current directory' : into} is no clone. Name a clone of yours: --into DIR.`)
  }
}

/** The first pushed branch with the same files as the work, because it has the commits of the resolver; else the work. */
async function withHistory(top: string, work: Head, pushed: readonly Head[]): Promise<Head> {
  const treeOf = async ({ commit }: Head) => (await git(top, ['rev-parse', '--verify', `${commit}^{tree}`])).trim()
  const tree = await treeOf(work)
  for (const head of pushed) if ((await treeOf(head)) === tree) return head
  return work
}

/** A branch of that name at the commit, or with the next free number: one that has other commits stays as it is. */
async function makeBranch(top: string, wanted: string, commit: string): Promise<string> {
  for (let number = 1; number <= BRANCHES_MAX; number++) {
    const name = number === 1 ? wanted : `${wanted}-${number}`
    const known = (await git(top, ['for-each-ref', '--format=%(objectname)', `refs/heads/${name}`])).trim()
    if (known === '') await git(top, ['branch', '--no-track', name, commit])
    if (known === '' || known === commit) return name
  }
  throw usage(`${top} has ${BRANCHES_MAX} branches ${wanted}-… already; delete some of them first.`)
}

const BRANCHES_MAX = 100
const ID_CHARS = 8
const LINE = /^([0-9a-f]{40,64}) (refs\/(?:heads\/[^\s:*?[\\^~]+|live|snapshots\/\d+))$/

/** The work comes last. Undefined where the clone lacks commits that the bundle builds on. */
async function fetchBundle(top: string, file: string, remote: string): Promise<Pulled['branches'] | undefined> {
  const heads = (await git(top, ['bundle', 'list-heads', file])).split('\n').flatMap((line) => {
    const [, commit, ref] = LINE.exec(line) ?? []
    if (commit === undefined || ref === undefined) return []
    const name = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : 'work'
    return [{ ref, branch: `${remote}/${name}`, commit }]
  })
  heads.sort((left, right) => Number(left.branch.endsWith('/work')) - Number(right.branch.endsWith('/work')))
  const refs = heads.map(({ ref, branch }) => `+${ref}:refs/remotes/${branch}`)
  const args = ['-c', 'fetch.fsckObjects=true', 'fetch', '--quiet', '--no-tags', '--no-recurse-submodules', file]
  try {
    await git(top, [...args, ...refs])
  } catch (error) {
    if (error instanceof Error && /prerequisite/.test(error.message)) return undefined
    throw error
  }
  return heads.map(({ branch, commit }) => ({ branch, commit }))
}

async function git(cwd: string, args: readonly string[]): Promise<string> {
  try {
    const env = { ...process.env, LC_ALL: 'C' }
    const { stdout } = await promisify(execFile)('git', args, { cwd, env, maxBuffer: 64 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw usage(
      `git ${args.find((arg) => !arg.startsWith('-') && !arg.includes('=')) ?? ''}: ${cleanLine(stderr || message)}`,
    )
  }
}
