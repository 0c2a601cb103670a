/**
 * Clones one repository of a workspace from the cache into a directory that no worker sees, complete with its branch, its remote and an
 * identity (docs/git.md, The clone). No hard links: the worker will own the files.
 */
import { lstat, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../errors.ts'
import { bytesBelow } from '../files/disk-usage.ts'
import { DISK_SAMPLE_MAX_ENTRIES, REPO_NOTED_MAX, REPO_REFS_READ_MAX } from '../limits.ts'
import { editsBetween } from '../primitives/nearest.ts'
import type { ClonedRepo } from '../protocol/workspace.ts'
import { formatOf, isCommitId } from './ref-names.ts'
import type { CachedRepo } from './repo-cache.ts'
import { type GitExtras, type RepoWork, repoGit, tryRepoGit } from './repo-git.ts'

/** The name of the upstream in a clone. */
export const REMOTE = 'origin'

/** The clone is `<stage>/<name>` when this returns. Throws like {@link repoGit}. */
export async function cloneFromCache(
  work: RepoWork,
  cached: CachedRepo,
  stage: string,
  maxBytes: number,
  remote?: CloneRemote,
): Promise<ClonedRepo> {
  const { name, url, working_branch: working } = work.repo
  const git = (cwd: string, args: readonly string[], extras: Partial<GitExtras> = {}) =>
    repoGit(work, cwd, args, { maxBytes, protocols: 'file', ...extras })
  const start = await startOf(work, cached, git)
  const tree = join(stage, name)
  await mkdir(stage, { recursive: true, mode: 0o700 })
  const from = start?.isBranch === true ? ['--single-branch', '-b', start.branch as string] : []
  await git(stage, [
    'clone',
    '--quiet',
    '--no-hardlinks',
    '--template=',
    '--no-tags',
    '--no-checkout',
    ...from,
    '--',
    cached.path,
    name,
  ])
  // A whole id tells the format; without a commit git is asked.
  const format =
    start === undefined ? (await git(tree, ['rev-parse', '--show-object-format'])).trim() : formatOf(start.commit)
  await writeFile(join(tree, '.git', 'config'), cloneConfig(remote?.url ?? url, format, remote))
  if (start === undefined) await git(tree, ['symbolic-ref', 'HEAD', `refs/heads/${working}`])
  else {
    // Links stay links: with core.symlinks=false each of them would be shown as changed.
    const settings = ['core.symlinks=true']
    await git(tree, ['checkout', '--quiet', '--force', '--no-recurse-submodules', '-B', working, start.commit, '--'], {
      settings,
    })
  }
  // Beside each other: each is a git process, or a walk over all files.
  const [bytes, noted] = await Promise.all([
    bytesBelow(tree, DISK_SAMPLE_MAX_ENTRIES),
    start === undefined ? { lfs: 0, submodules: [] } : notesOn(tree, git),
  ])
  return {
    name,
    url,
    branch: start === undefined ? cached.base : start.branch,
    base: cached.base,
    commit: start?.commit ?? null,
    working_branch: working,
    bytes,
    cached: cached.isFresh,
    ...noted,
  }
}

type Git = (cwd: string, args: readonly string[], extras?: Partial<GitExtras>) => Promise<string>

interface Start {
  commit: string
  /** A branch or a tag; null for a commit. */
  branch: string | null
  isBranch: boolean
}

/** Where the working branch begins; undefined in an empty repository. Throws `repo_ref_missing`. */
async function startOf(work: RepoWork, { path, base }: CachedRepo, git: Git): Promise<Start | undefined> {
  const { branch } = work.repo
  const commitOf = async (name: string) => {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
    const end = await tryRepoGit(work, path, args, { maxBytes: Number.POSITIVE_INFINITY, protocols: 'file' })
    return end.kind === 'done' ? end.stdout.trim() : undefined
  }
  const wanted = branch ?? base
  if (wanted !== null) {
    // A branch before a tag of the same name; a bare name would be ambiguous.
    for (const [kind, isBranch] of [
      ['heads', true],
      ['tags', false],
    ] as const) {
      const commit = await commitOf(`refs/${kind}/${wanted}`)
      if (commit !== undefined) return { commit, branch: wanted, isBranch }
    }
  }
  if (branch !== null && isCommitId(branch)) {
    const commit = await commitOf(branch)
    if (commit !== undefined) return { commit, branch: null, isBranch: false }
  }
  const names = await refNames(path, git)
  if (names.length === 0 && branch === null) return undefined
  throw missing(work, branch ?? base ?? 'HEAD', names)
}

async function refNames(path: string, git: Git): Promise<string[]> {
  const args = [
    'for-each-ref',
    `--count=${REPO_REFS_READ_MAX}`,
    '--format=%(refname:lstrip=2)',
    'refs/heads',
    'refs/tags',
  ]
  const maxBytes = Number.POSITIVE_INFINITY
  const text = await git(path, args, { maxBytes, maxOutputChars: REPO_REFS_READ_MAX * 512 })
  return text.split('\n').filter((name) => name !== '')
}

const NEAREST = 5

function missing({ repo: { name, url } }: RepoWork, ref: string, names: readonly string[]) {
  const nearest = names
    .filter((one) => one.length <= 100)
    .map((one) => ({ one, edits: editsBetween(ref.slice(0, 100), one) - (one.includes(ref) ? ref.length : 0) }))
    .sort((left, right) => left.edits - right.edits)
    .slice(0, NEAREST)
    .map(({ one }) => one.replace(/\p{C}/gu, ''))
  return fail('repo_ref_missing', { repo: name, url, ref, nearest })
}

/** The git server of the instance as the `origin` of a clone. */
export interface CloneRemote {
  url: string
  /** The program that gives git the token, as the worker sees it. */
  helper: string
}

/** Nothing of the upstream or of this machine is in it. */
export function cloneConfig(url: string, format: string, remote?: CloneRemote): string {
  const isOther = format !== 'sha1'
  const lines = [
    '[core]',
    `\trepositoryformatversion = ${isOther ? 1 : 0}`,
    '\tfilemode = true',
    '\tbare = false',
    '\tlogallrefupdates = true',
    ...(isOther ? ['[extensions]', `\tobjectFormat = ${format}`] : []),
    `[remote "${REMOTE}"]`,
    `\turl = "${url.replace(/["\\]/g, '\\$&')}"`,
    `\tfetch = +refs/heads/*:refs/remotes/${REMOTE}/*`,
    '[user]',
    '\tname = resolve',
    '\temail = resolve@localhost',
    '[push]',
    '\tautoSetupRemote = true',
    // The empty helper comes first: no other one is asked, or told the token.
    ...(remote === undefined
      ? []
      : [
          `[credential "${new URL(remote.url).origin}"]`,
          '\thelper =',
          `\thelper = "!'${remote.helper.replace(/["\\]/g, '\\$&')}'"`,
        ]),
  ]
  return `${lines.join('\n')}\n`
}

const MODULE_PATH = '^submodule\\..*\\.path$'

/** What is not in the clone, so that setup can say it. */
async function notesOn(tree: string, git: Git): Promise<Pick<ClonedRepo, 'lfs' | 'submodules'>> {
  const maxOutputChars = 16 * 1024 * 1024
  const hasModules = await lstat(join(tree, '.gitmodules')).then(
    () => true,
    () => false,
  )
  const [lfs, modules] = await Promise.all([
    git(tree, ['ls-files', '-z', '--', ':(attr:filter=lfs)'], { maxOutputChars }).catch(() => ''),
    hasModules
      ? git(tree, ['config', '--no-includes', '--blob', 'HEAD:.gitmodules', '-z', '--get-regexp', MODULE_PATH]).catch(
          () => '',
        )
      : '',
  ])
  const paths = modules
    .split('\0')
    .map((entry) =>
      entry
        .slice(entry.indexOf('\n') + 1)
        .replace(/\p{C}/gu, '')
        .slice(0, 200),
    )
    .filter((path) => path !== '')
  return { lfs: lfs.split('\0').filter((name) => name !== '').length, submodules: paths.slice(0, REPO_NOTED_MAX) }
}
