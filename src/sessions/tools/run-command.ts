/**
 * Runs one command of a session in a group of its own, and ends everything that it started, by the mark that its processes carry. The tools
 * shell and jobs call it.
 */
import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { TOOL_SHELL_DRAIN_MS, TOOL_SHELL_KILL_MS } from '../../core/limits.ts'
import { CALL_MARK, endProcess, processesOfCall } from '../guardian/processes.ts'
import type { OutputSink } from './output-sink.ts'

export interface CommandOptions {
  command: string
  cwd: string
  /** Unique in the worker. */
  mark: string
  resolveDir: string
  sink: OutputSink
  limitMs: number
  signal: AbortSignal
}

export interface Ended {
  /** null where it was ended by a signal. */
  code: number | null
  signal: string | null
  /** Why it was ended from outside. */
  ended: 'limit' | 'stop' | undefined
}

/** Throws where the program can't be started. Ends at the exit of the shell: a child in the background may hold the pipe for hours. */
export async function runCommand(options: CommandOptions): Promise<Ended> {
  const { command, cwd, mark, resolveDir, sink, limitMs, signal } = options
  signal.throwIfAborted()
  const env = { ...ownEnvironment(), RESOLVE_DIR: resolveDir, [CALL_MARK]: mark, ...QUIET }
  // One pipe for both: what was printed stays in its order.
  const pipe = openPipe()
  const stdio: StdioOptions = pipe === undefined ? ['ignore', 'pipe', 'pipe'] : ['ignore', pipe.end, pipe.end]
  let child: ChildProcess
  try {
    child = spawn('bash', ['-c', `exec 2>&1; ${command}`], { cwd, env, detached: true, stdio })
  } catch (error) {
    // No program takes a NUL in its arguments.
    pipe?.stream.destroy()
    throw error
  } finally {
    if (pipe !== undefined) closeSync(pipe.end)
  }
  const streams = [pipe?.stream, child.stdout, child.stderr].filter((one) => one !== undefined && one !== null)
  for (const stream of streams) stream.on('data', (chunk: Buffer) => sink.push(chunk)).on('error', () => {})
  let ended: Ended['ended']
  let killing: Promise<void> | undefined
  const kill = (why: Ended['ended']) => {
    ended ??= why
    killing ??= endCommand(child.pid, mark, resolveDir)
  }
  const timer = setTimeout(() => kill('limit'), limitMs)
  const onStop = () => kill('stop')
  signal.addEventListener('abort', onStop)
  try {
    const { code, by } = await exitOf(child)
    await drained(streams)
    await killing
    return { code, signal: by, ended }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onStop)
    for (const stream of streams) stream.destroy()
  }
}

/**
 * What Node gives a program are sockets: a script that writes to `/dev/stderr` can't open one. A FIFO can be opened again. Undefined where
 * there can be none.
 */
function openPipe(): { stream: Socket; end: number } | undefined {
  const path = join(tmpdir(), `resolve-pipe-${randomBytes(12).toString('hex')}`)
  let fd: number | undefined
  try {
    execFileSync('mkfifo', ['-m', '600', path], { stdio: 'ignore' })
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const end = openSync(path, constants.O_WRONLY)
    return { stream: new Socket({ fd, readable: true, writable: false }), end }
  } catch {
    if (fd !== undefined) closeSync(fd)
    return undefined
  } finally {
    rmSync(path, { force: true })
  }
}

/** Ends a command with all its processes: SIGTERM to its group, then SIGKILL to everything that carries the mark. */
export async function endCommand(pid: number | undefined, mark: string, resolveDir: string): Promise<void> {
  const ofCall = () => processesOfCall(resolveDir, mark)
  if (pid !== undefined) endProcess(-pid, 'SIGTERM')
  for (const one of ofCall()) endProcess(one.pid, 'SIGTERM')
  for (const until = Date.now() + TOOL_SHELL_KILL_MS; Date.now() < until; await sleep(LOOK_MS)) {
    if (ofCall().length === 0) break
  }
  if (pid !== undefined) endProcess(-pid, 'SIGKILL')
  // A process that starts others while it is ended is looked for again.
  for (let round = 0; round < KILL_ROUNDS; round += 1) {
    const left = ofCall()
    if (left.length === 0) return
    for (const one of left) endProcess(one.pid, 'SIGKILL')
    await sleep(LOOK_MS)
  }
}

const LOOK_MS = 20
const KILL_ROUNDS = 25

function exitOf(child: ChildProcess): Promise<{ code: number | null; by: string | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, by) => resolve({ code, by }))
  })
}

/** What it printed last is still in the pipes. */
async function drained(streams: readonly Readable[]): Promise<void> {
  const ends = streams.map(
    (stream) =>
      new Promise<void>((resolve) => (stream.readableEnded ? resolve() : stream.once('end', () => resolve()))),
  )
  const late = new AbortController()
  await Promise.race([
    Promise.all(ends),
    sleep(TOOL_SHELL_DRAIN_MS, undefined, { signal: late.signal }).catch(() => undefined),
  ])
  late.abort()
}

/** Programs do not ask, page or draw: there is no terminal. */
const QUIET = { CI: '1', GIT_TERMINAL_PROMPT: '0', GIT_PAGER: 'cat', PAGER: 'cat', NO_COLOR: '1', TERM: 'dumb' }

/** The worker's environment holds no secret (R45). What opens its channel to the host is not for commands. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const { RESOLVE_CHANNEL: _, NODE_OPTIONS: __, ...env } = process.env
  return env
}
