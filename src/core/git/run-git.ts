/**
 * Runs one git command with limits on its time and on what it writes; fetch-source.ts calls it. Its whole process group ends
 * with it.
 */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'
import { GIT_SETTINGS, gitEnvironment } from './git-environment.ts'

export interface GitRun {
  args: readonly string[]
  /** The working directory of git; its size counts towards `maxBytes` while git runs. */
  cwd: string
  /** The transports for GIT_ALLOW_PROTOCOL: `https:ssh` or `file`. */
  protocols: string
  /** The deadline, as Date.now(). */
  deadline: number
  maxBytes: number
  signal?: AbortSignal | undefined
  onProgress?: ((line: string) => void) | undefined
}

export type GitEnd =
  | { kind: 'done'; stdout: string }
  | { kind: 'failed'; stderr: string }
  | { kind: 'missing' | 'timeout' | 'too-large' | 'aborted' }

const SIZE_CHECK_MS = 500
const OUTPUT_MAX_CHARS = 64 * 1024

/** Never throws because git failed: returns how it ended. Runs the git of this machine. */
export async function runGit(run: GitRun): Promise<GitEnd> {
  if (run.signal?.aborted) return { kind: 'aborted' }
  const { execa } = await import('execa')
  const child = execa('git', [...GIT_SETTINGS, ...run.args], {
    cwd: run.cwd,
    env: gitEnvironment(run.protocols),
    extendEnv: false,
    // A process group of its own: git's helpers (ssh, remote-https, index-pack) end with it.
    detached: true,
    stdin: 'ignore',
    reject: false,
    // The tail of the error output matters, so the limit is generous and only cuts floods.
    maxBuffer: { stdout: OUTPUT_MAX_CHARS, stderr: 16 * OUTPUT_MAX_CHARS },
  })
  let ended: 'timeout' | 'too-large' | 'aborted' | undefined
  const end = (why: 'timeout' | 'too-large' | 'aborted') => {
    ended ??= why
    killGroup(child.pid)
  }
  const onAbort = () => end('aborted')
  const onExit = () => killGroup(child.pid)
  const timer = setTimeout(() => end('timeout'), Math.max(0, run.deadline - Date.now()))
  const sizes = setInterval(() => {
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
    if (result.failed) return { kind: 'failed', stderr: result.stderr || result.shortMessage || '' }
    if ((await measure(run.cwd)) > run.maxBytes) return { kind: 'too-large' }
    return { kind: 'done', stdout: result.stdout }
  } finally {
    clearTimeout(timer)
    clearInterval(sizes)
    run.signal?.removeEventListener('abort', onAbort)
    process.off('exit', onExit)
    killGroup(child.pid)
  }
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
