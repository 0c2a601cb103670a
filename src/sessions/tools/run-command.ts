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
import { CALL_MARK, endProcess, processesOfCall, RESOLVER_COMMAND } from '../guardian/processes.ts'
import type { OutputSink } from './output-sink.ts'

export interface CommandOptions {
  command: string
  cwd: string
  /** Unique in the worker. */
  mark: string
  /** The resolver itself runs it: no tool call, and so no orphan of one. */
  isOfResolver?: boolean
  resolveDir: string
  sink: Pick<OutputSink, 'push'>
  /** Where the output of errors goes. Default: to `sink` too, in the order in which it was printed. */
  errors?: Pick<OutputSink, 'push'>
  environment?: Readonly<Record<string, string>>
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
  const { command, cwd, resolveDir, sink, errors, environment, limitMs, signal } = options
  const mark = options.isOfResolver === true ? `${RESOLVER_COMMAND}${options.mark}` : options.mark
  signal.throwIfAborted()
  const env = { ...ownEnvironment(), ...QUIET, ...environment, RESOLVE_DIR: resolveDir, [CALL_MARK]: mark }
  // One pipe for both: what was printed stays in its order.
  const [out, err] = takePipes(errors === undefined ? 1 : 2)
  const stdio: StdioOptions = ['ignore', out?.end ?? 'pipe', (errors === undefined ? out : err)?.end ?? 'pipe']
  const script = errors === undefined ? `exec 2>&1; ${command}` : command
  let child: ChildProcess
  try {
    child = spawn('bash', ['-c', script], { cwd, env, detached: true, stdio })
  } catch (error) {
    // No program takes a NUL in its arguments.
    out?.stream.destroy()
    err?.stream.destroy()
    throw error
  } finally {
    for (const pipe of [out, err]) if (pipe !== undefined) closeSync(pipe.end)
  }
  const streams: Readable[] = []
  const take = (stream: Readable | null | undefined, to: Pick<OutputSink, 'push'>) => {
    if (stream === null || stream === undefined) return
    streams.push(stream)
    stream.on('data', (chunk: Buffer) => to.push(chunk)).on('error', () => {})
  }
  take(out?.stream ?? child.stdout, sink)
  take(err?.stream ?? child.stderr, errors ?? sink)
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

interface Pipe {
  stream: Socket
  /** For the program: the caller closes it once the program has it. */
  end: number
}

/** Both ends of a FIFO whose name is gone. */
interface Ends {
  read: number
  write: number
}

/** Starting `mkfifo` takes as long as the command itself: a process that runs many makes several at once. */
const MADE_AT_ONCE_MAX = 16

const ready: Ends[] = []
let madeAtOnce = 1

/**
 * What Node gives a program are sockets: a script that writes to `/dev/stderr` can't open one. A FIFO can be opened again. Each is for one
 * command, as a child in the background may hold it. None where there can be none.
 */
function takePipes(count: number): Pipe[] {
  try {
    if (ready.length < count) {
      madeAtOnce = Math.min(madeAtOnce * 2, MADE_AT_ONCE_MAX)
      make(Math.max(count - ready.length, madeAtOnce))
    }
    return ready.splice(0, count).map(({ read, write }) => ({
      stream: new Socket({ fd: read, readable: true, writable: false }),
      end: write,
    }))
  } catch {
    return []
  }
}

/** Their names are gone when it returns: a process that is killed leaves none. */
function make(count: number): void {
  const paths = Array.from({ length: count }, () => join(tmpdir(), `resolve-pipe-${randomBytes(12).toString('hex')}`))
  try {
    execFileSync('mkfifo', ['-m', '600', ...paths], { stdio: 'ignore' })
    for (const path of paths) ready.push(openBoth(path))
  } finally {
    for (const path of paths) rmSync(path, { force: true })
  }
}

function openBoth(path: string): Ends {
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return { read, write: openSync(path, constants.O_WRONLY) }
  } catch (error) {
    closeSync(read)
    throw error
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
