/**
 * The directory in which the agent works: its change against the commit that the work began at, and the commit of that change. A clone, or a
 * new repository where the input names none. Its content is not trusted: git runs no hooks, filters of differences or other programs of it.
 */
import { copyFile, lstat, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from '../change/run-program.ts'
import type { Report } from './report.ts'

export interface WorkTree {
  path: string
  branch: string
  /** The commit that the work began at; null where there is none. */
  start: string | null
}

export interface Change {
  /** A table of the files, as `git diff --stat` prints it; empty where nothing changed. */
  stat: string
  /** What `git apply` reads; undefined where it is too large to be shown. */
  patch: Uint8Array | undefined
  /** Files that are too large to be delivered. */
  leftOut: readonly string[]
}

const PATCH_MAX_BYTES = 64 * 1024 * 1024
const FILES_SHOWN = 30
/** Git hosts take no larger files, and git fails at a difference of gigabytes. */
export const FILE_MAX_BYTES = 100 * 1024 * 1024

const NEW_BRANCH = 'main'

/** A new repository in an empty directory, so that the work can be told as a difference. It stays as it is where it exists. */
export async function openNew(path: string, signal: AbortSignal): Promise<WorkTree> {
  await git(path, ['init', '--quiet', '--template=', `--initial-branch=${NEW_BRANCH}`], signal)
  return { path, branch: NEW_BRANCH, start: null }
}

/** Also what the model committed by itself is part of it, and what it never staged. */
export async function changeOf(tree: WorkTree, signal: AbortSignal): Promise<Change> {
  const scratch = await mkdtemp(join(tmpdir(), 'resolve-agent-'))
  try {
    // An index of its own: the one of the clone stays as the model left it.
    const index = join(scratch, 'index')
    await copyFile(join(tree.path, '.git', 'index'), index).catch(() => {})
    const env = { ...process.env, GIT_INDEX_FILE: index }
    const leftOut = await addAll(tree.path, signal, env)
    const after = await git(tree.path, ['write-tree'], signal, env)
    const before = tree.start ?? (await git(tree.path, ['hash-object', '-t', 'tree', '/dev/null'], signal))
    const diff = (...args: string[]) =>
      git(tree.path, ['diff', '--no-color', '--no-ext-diff', '--no-textconv', ...args, before, after, '--'], signal)
    const file = join(scratch, 'patch')
    const isWhole = await diff('--binary', '--full-index', `--output=${file}`).then(
      () => true,
      () => {
        signal.throwIfAborted()
        // The model committed what is too large for git's memory.
        return false
      },
    )
    const size = isWhole ? (await stat(file)).size : Infinity
    return {
      stat: size === 0 ? '' : await diff('--stat=100', `--stat-count=${FILES_SHOWN}`),
      patch: size > PATCH_MAX_BYTES ? undefined : await readFile(file),
      leftOut,
    }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/** The commit of the whole work, on the working branch, whichever one the model left. The one that is there, where it has all of it. */
export async function commitAll(tree: WorkTree, { title, body }: Report, signal: AbortSignal): Promise<string> {
  const { path, branch } = tree
  await git(path, ['symbolic-ref', 'HEAD', `refs/heads/${branch}`], signal)
  await addAll(path, signal)
  const message = ['-m', title, ...(body === '' ? [] : ['-m', body])]
  if (await isStaged(path, signal))
    await git(
      path,
      [...(await identityOf(tree, signal)), 'commit', '--quiet', '--no-verify', ...UNSIGNED, ...message],
      signal,
    )
  return await git(path, ['rev-parse', 'HEAD'], signal)
}

const UNSIGNED = ['--no-gpg-sign']

async function isStaged(path: string, signal: AbortSignal): Promise<boolean> {
  try {
    await git(path, ['diff', '--cached', '--quiet', '--no-ext-diff', '--no-textconv'], signal)
    return false
  } catch (error) {
    if (exitCodeOf(error) === 1) return true
    throw error
  }
}

/** A clone has an identity; a new repository has that of the user, or this one. */
async function identityOf({ path }: WorkTree, signal: AbortSignal): Promise<string[]> {
  const known = await git(path, ['config', 'user.email'], signal).catch(() => '')
  return known === '' ? ['-c', 'user.name=resolve', '-c', 'user.email=resolve@localhost'] : []
}

/** A directory that git can't add, such as a repository without commits, is left out, and so are files that are too large; the rest is added. */
async function addAll(path: string, signal: AbortSignal, env?: NodeJS.ProcessEnv): Promise<string[]> {
  const large = await largeOnes(path, signal, env)
  const scratch = await mkdtemp(join(tmpdir(), 'resolve-agent-'))
  try {
    const chosen = join(scratch, 'paths')
    await writeFile(chosen, ['.', ...large.map((one) => `:(exclude,literal)${one}`)].join('\0'))
    const words = ['add', '--all', '--ignore-errors', `--pathspec-from-file=${chosen}`, '--pathspec-file-nul']
    await git(path, words, signal, env).catch((error: unknown) => {
      signal.throwIfAborted()
      if (exitCodeOf(error) !== 1) throw error
    })
    return large
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function largeOnes(path: string, signal: AbortSignal, env?: NodeJS.ProcessEnv): Promise<string[]> {
  const listed = await git(path, ['ls-files', '-z', '--others', '--modified', '--exclude-standard'], signal, env)
  const large: string[] = []
  for (const name of new Set(listed.split('\0'))) {
    const found = name === '' ? undefined : await lstat(join(path, name)).catch(() => undefined)
    if (found?.isFile() === true && found.size > FILE_MAX_BYTES) large.push(name)
  }
  return large
}

function exitCodeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code
}

async function git(cwd: string, args: readonly string[], signal: AbortSignal, env = process.env): Promise<string> {
  const quiet = ['-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=false', '-c', 'core.quotePath=false']
  return (await runProgram('git', [...quiet, ...args], { cwd, signal, env })).trim()
}
