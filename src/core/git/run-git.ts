/** Runs one git command with a limit on its time and on what it writes; its whole process group ends with it. */
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../errors.ts'
import { GIT_SETTINGS, gitEnvironment } from './git-environment.ts'

export interface GitRun {
  args: readonly string[]
  /** The directory git works in; it counts towards `maxBytes` while git runs. */
  cwd: string
  /** What git may speak, for GIT_ALLOW_PROTOCOL: `https:ssh` or `file`. */
  protocols: string
  /** When the run has to be over, as Date.now(). */
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

/** Never throws for what git does: says how it ended. Runs the machine's git. */
export async function runGit(run: GitRun): Promise<GitEnd> {
  if (run.signal?.aborted) return { kind: 'aborted' }
  const { execa } = await import('execa')
  const child = execa('git', [...GIT_SETTINGS, ...run.args], {
    cwd: run.cwd,
    env: gitEnvironment(run.protocols),
    extendEnv: false,
    // A group of its own: git's helpers (ssh, remote-https, index-pack) end with it.
    detached: true,
    stdin: 'ignore',
    reject: false,
    // The tail is what counts of a long complaint, so the cap is generous and cuts only floods.
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

/** A pid is the group's id because of `detached`; without one nothing was started. */
function killGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group is gone already.
  }
}

function followProgress(stream: NodeJS.ReadableStream | null, tell: (line: string) => void): void {
  let rest = ''
  stream?.on('data', (chunk: Buffer | string) => {
    const lines = `${rest}${chunk}`.split(/[\r\n]+/)
    rest = (lines.pop() ?? '').slice(-OUTPUT_MAX_CHARS)
    for (const line of lines) if (line !== '') tell(line)
  })
}

/** Bytes of every file below, without following links. */
async function measure(directory: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const stat = await lstat(join(entry.parentPath, entry.name)).catch(() => undefined)
    bytes += stat?.size ?? 0
  }
  return bytes
}
