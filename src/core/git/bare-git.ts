/**
 * Git in a bare repository that only the host writes to. No file is ever checked out, and nothing that a resolver wrote is run or read
 * as configuration.
 */
import { fail, type ResolveError } from '../errors.ts'
import type { GitAccess } from './git-access.ts'
import { type GitEnd, runGit } from './run-git.ts'
import { whyGitFailed } from './why-git-failed.ts'

export interface BareOptions {
  /** The bare repository. */
  path: string
  /** The git directory, where `path` is the working directory of git beside it. */
  gitDir?: string
  /** Further settings. */
  settings?: readonly string[]
  /** The error where git fails. Default: git_failed. */
  fails?: 'work_unreadable'
  /** As Date.now(). */
  deadline: number
  signal?: AbortSignal | undefined
}

export interface RunOptions {
  /** Exit codes that are an answer beside 0. */
  codes?: readonly number[]
  maxOutputChars?: number
  /** What git reads. */
  input?: Uint8Array
  /** As of {@link runGit}. */
  encoding?: 'utf8' | 'latin1'
  /** The command talks to the server. */
  server?: GitAccess['options']
}

export interface GitOutput {
  code: number
  stdout: string
  stderr: string
  /** It printed more than `maxOutputChars`; then it was ended, and `stdout` is its beginning. */
  isCut: boolean
}

export class BareGit {
  readonly #options: BareOptions

  constructor(options: BareOptions) {
    this.#options = options
  }

  /** Throws `git_missing`, or `git_failed` with git's reason. */
  async run(args: readonly string[], options: RunOptions = {}): Promise<GitOutput> {
    const { path, gitDir = '.', deadline, signal, settings: own = [] } = this.#options
    const { codes = [], maxOutputChars, server, input, encoding } = options
    const end = await runGit({
      args: [`--git-dir=${gitDir}`, ...args],
      cwd: path,
      // No server: no transport at all.
      protocols: 'none',
      deadline,
      maxBytes: Number.POSITIVE_INFINITY,
      signal,
      settings: ['safe.bareRepository=explicit', 'core.bare=true', 'core.quotePath=false', ...own],
      ...(maxOutputChars === undefined ? {} : { maxOutputChars }),
      input,
      encoding,
      ...server,
    })
    if (end.kind === 'done') return { code: 0, stdout: end.stdout, stderr: '', isCut: false }
    if (end.kind === 'failed' && end.code !== undefined && codes.includes(end.code)) {
      return { code: end.code, stdout: end.stdout, stderr: end.stderr, isCut: false }
    }
    if (end.kind === 'failed' && maxOutputChars !== undefined && end.stdout.length >= maxOutputChars) {
      return { code: 0, stdout: end.stdout, stderr: end.stderr, isCut: true }
    }
    signal?.throwIfAborted()
    throw failure(args, end, this.#options.fails)
  }

  async text(...args: string[]): Promise<string> {
    return (await this.run(args)).stdout.trim()
  }

  /** The commit of a name; undefined where there is none. */
  async commitOf(name: string): Promise<string | undefined> {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
    const { code, stdout } = await this.run(args, { codes: [1, 128] })
    return code === 0 && COMMIT.test(stdout.trim()) ? stdout.trim() : undefined
  }
}

export const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/

function failure(
  args: readonly string[],
  end: Exclude<GitEnd, { kind: 'done' }>,
  code: BareOptions['fails'],
): ResolveError {
  if (end.kind === 'missing') return fail('git_missing', {})
  const reason =
    end.kind === 'failed'
      ? whyGitFailed(end.stderr)
      : `git ${args.find((arg) => !arg.startsWith('-')) ?? ''} took too long.`
  if (code !== undefined) return fail(code, { reason })
  return fail('git_failed', { url: 'the repository of the instance', reason })
}
