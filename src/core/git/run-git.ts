/**
 * Runs one git command with limits on its time, its memory and what it writes. Its whole process group ends with it. A token for a
 * server passes through a pipe: it is in no address, argument, variable or file.
 */
import { lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemCode } from '../errors.ts'
import { GIT_MEMORY_MAX_BYTES } from '../limits.ts'
import { GIT_SETTINGS, gitEnvironment } from './git-environment.ts'

/** A credential for one server. git asks for it only there, also after a redirect. */
export interface GitCredentials {
  /** `https://host` or `https://host:port`. */
  origin: string
  username: string
  password: string
}

export interface GitRun {
  args: readonly string[]
  /** The working directory of git; its size counts towards `maxBytes` while git runs. */
  cwd: string
  /** The transports for GIT_ALLOW_PROTOCOL: `https:ssh` or `file`. */
  protocols: string
  /** The deadline, as Date.now(). */
  deadline: number
  /** Infinity: the size is not looked at. */
  maxBytes: number
  signal?: AbortSignal | undefined
  onProgress?: ((line: string) => void) | undefined
  /** Further settings, `name=value`; they override those of {@link GIT_SETTINGS}. */
  settings?: readonly string[] | undefined
  credentials?: GitCredentials | undefined
  /** The proxy for every request, `http://host:port`, instead of the operator's. */
  proxy?: string | undefined
  /** How much git may print; default 64 KiB. */
  maxOutputChars?: number | undefined
  /** What git reads; not together with credentials. */
  input?: Uint8Array | undefined
  /** `latin1` keeps every byte of what git prints: names of files need not be UTF-8. Default: utf8. */
  encoding?: 'utf8' | 'latin1' | undefined
}

export type GitEnd =
  | { kind: 'done'; stdout: string }
  /** `code` is undefined where a signal ended it. */
  | { kind: 'failed'; stderr: string; stdout: string; code: number | undefined }
  | { kind: 'missing' | 'timeout' | 'too-large' | 'aborted' }

const SIZE_CHECK_MS = 500
const OUTPUT_MAX_CHARS = 64 * 1024
const NOT_FOUND = 127
/**
 * A server that sends references without an end lets git-remote-https grow by gigabytes a second. Where the system knows no such limit
 * (macOS), git runs without it.
 */
const LIMIT_MEMORY = `ulimit -v ${GIT_MEMORY_MAX_BYTES / 1024} 2>/dev/null`
const PLAIN = `${LIMIT_MEMORY}; exec git "$@"`
/** The shell reads the credential whether or not git will ask for it, and keeps it in a pipe that git's helpers inherit as 3. */
const WITH_CREDENTIAL = `${LIMIT_MEMORY}; IFS= read -r user; IFS= read -r word; exec git "$@" 3<<END </dev/null
$user
$word
END
`
const FROM_PIPE = `!f() { test "$1" = get && cat <&3 2>/dev/null; }; f`

/** Never throws because git failed: returns how it ended. Runs the git of this machine. */
export async function runGit(run: GitRun): Promise<GitEnd> {
  if (run.signal?.aborted) return { kind: 'aborted' }
  const { execa } = await import('execa')
  const { credentials, settings = [], maxOutputChars = OUTPUT_MAX_CHARS } = run
  const own =
    credentials === undefined ? settings : [...settings, `credential.${credentials.origin}.helper=${FROM_PIPE}`]
  const args = [...GIT_SETTINGS, ...own.flatMap((setting) => ['-c', setting]), ...run.args]
  const script = credentials === undefined ? PLAIN : WITH_CREDENTIAL
  const child = execa('/bin/sh', ['-c', script, 'git', ...args], {
    cwd: run.cwd,
    // Only the working directory itself is taken for a repository, never one above it.
    env: { ...gitEnvironment(run.protocols, process.env, run.proxy), GIT_CEILING_DIRECTORIES: dirname(run.cwd) },
    extendEnv: false,
    // A process group of its own: git's helpers (ssh, remote-https, index-pack) end with it.
    detached: true,
    ...givenTo(run),
    encoding: run.encoding ?? 'utf8',
    reject: false,
    // The tail of the error output matters, so the limit is generous and only cuts floods.
    maxBuffer: { stdout: maxOutputChars, stderr: 16 * OUTPUT_MAX_CHARS },
  })
  let ended: 'timeout' | 'too-large' | 'aborted' | undefined
  const end = (why: 'timeout' | 'too-large' | 'aborted') => {
    ended ??= why
    killGroup(child.pid)
  }
  const onAbort = () => end('aborted')
  const onExit = () => killGroup(child.pid)
  const timer = setTimeout(() => end('timeout'), Math.max(0, run.deadline - Date.now()))
  const isMeasured = Number.isFinite(run.maxBytes)
  const sizes = setInterval(() => {
    if (!isMeasured) return
    measure(run.cwd).then(
      (bytes) => bytes > run.maxBytes && end('too-large'),
      () => {},
    )
  }, SIZE_CHECK_MS)
  run.signal?.addEventListener('abort', onAbort, { once: true })
  process.once('exit', onExit)
  if (run.onProgress) followProgress(child.stderr, run.onProgress)
  try {
    const result = await child
    if (ended !== undefined) return { kind: ended }
    if (systemCode(result.cause) === 'ENOENT' || systemCode(result) === 'ENOENT') return { kind: 'missing' }
    if (result.exitCode === NOT_FOUND && /git: (exec: git: )?not found/.test(String(result.stderr)))
      return { kind: 'missing' }
    if (result.failed) {
      const stderr = String(result.stderr || result.shortMessage || '')
      return { kind: 'failed', stderr, stdout: String(result.stdout ?? ''), code: result.exitCode }
    }
    if (isMeasured && (await measure(run.cwd)) > run.maxBytes) return { kind: 'too-large' }
    return { kind: 'done', stdout: String(result.stdout) }
  } finally {
    clearTimeout(timer)
    clearInterval(sizes)
    run.signal?.removeEventListener('abort', onAbort)
    process.off('exit', onExit)
    killGroup(child.pid)
  }
}

function givenTo({ credentials, input }: GitRun): { stdin: 'ignore' } | { input: string | Uint8Array } {
  if (credentials !== undefined) return { input: lines(credentials) }
  return input === undefined ? { stdin: 'ignore' } : { input }
}

/** In git's own format. A line feed would begin another line of it. */
function lines({ username, password }: GitCredentials): string {
  return `username=${username.replace(/[\r\n]/g, '')}\npassword=${password.replace(/[\r\n]/g, '')}\n`
}

/** The pid is also the group's id because of `detached`; it is undefined when the start failed. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has already ended.
  }
}

function followProgress(stream: NodeJS.ReadableStream | null, onLine: (line: string) => void): void {
  let rest = ''
  stream?.on('data', (chunk: Buffer | string) => {
    const lines = `${rest}${chunk}`.split(/[\r\n]+/)
    rest = (lines.pop() ?? '').slice(-OUTPUT_MAX_CHARS)
    for (const line of lines) if (line !== '') onLine(line)
  })
}

/** The size of every file below, without following links. */
async function measure(directory: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const stat = await lstat(join(entry.parentPath, entry.name)).catch(() => undefined)
    bytes += stat?.size ?? 0
  }
  return bytes
}
