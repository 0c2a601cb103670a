/**
 * Runs one command in a sandbox until it ends or reaches its limit, and keeps the end of its output (threats B11). The sandbox
 * broker calls it.
 */
import { randomBytes } from 'node:crypto'
import type { Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type Dockerode from 'dockerode'
import { SANDBOX_KILL_LIMIT_MS, SANDBOX_OUTPUT_MAX_BYTES } from '../../limits.ts'
import { within } from '../../primitives/within.ts'
import { Demux } from '../engine/demux.ts'
import { type Engine, toRefusal } from '../engine/engine.ts'

const LOOK_MS = 25

export interface SandboxCommand {
  command: readonly string[]
  directory?: string | undefined
  environment?: Readonly<Record<string, string>> | undefined
  stdin?: Buffer | Readable | undefined
  /** `uid:gid`; that of the container where it is not given. */
  user?: string | undefined
  limitMs: number
  /** Aborts the command. */
  signal: AbortSignal
}

export interface CommandOutcome {
  /** null where the command was ended before it finished. */
  exitCode: number | null
  stdout: string
  stderr: string
  /** Whether earlier output was dropped. */
  truncated: boolean
  timedOut: boolean
}

/** Throws `container_refused`, `docker_unreachable`. */
export async function runInSandbox(engine: Engine, id: string, options: SandboxCommand): Promise<CommandOutcome> {
  const mark = `RESOLVE_COMMAND=${randomBytes(12).toString('hex')}`
  try {
    const exec = await engine.call((docker, abortSignal) =>
      docker.getContainer(id).exec({
        Cmd: [...options.command],
        // The mark by which its processes are found when they must end.
        Env: [...Object.entries(options.environment ?? {}).map(([name, value]) => `${name}=${value}`), mark],
        ...(options.directory === undefined ? {} : { WorkingDir: options.directory }),
        ...(options.user === undefined ? {} : { User: options.user }),
        AttachStdin: options.stdin !== undefined,
        AttachStdout: true,
        AttachStderr: true,
        Tty: false,
        abortSignal,
      }),
    )
    const stream = (await engine.call((_, abortSignal) =>
      exec.start({ hijack: true, stdin: options.stdin !== undefined, Tty: false, abortSignal }),
    )) as unknown as Duplex
    const kept = { stdout: new Kept(), stderr: new Kept() }
    const over = drain(stream, kept)
    if (Buffer.isBuffer(options.stdin)) stream.end(options.stdin)
    // A command that ends before it has read everything closes the stream: its exit code tells what happened.
    else if (options.stdin !== undefined) pipeline(options.stdin, stream).catch(() => {})
    const how = await firstOf(over, options)
    if (how !== 'ended') {
      await killMarked(engine, id, mark)
      await within(SANDBOX_KILL_LIMIT_MS, over, { ref: false })
    }
    stream.destroy()
    const exitCode = how === 'ended' ? await exitCodeOf(engine, exec) : null
    const { stdout, stderr } = { stdout: kept.stdout.text, stderr: kept.stderr.text }
    return {
      exitCode,
      stdout,
      stderr,
      truncated: kept.stdout.isCut || kept.stderr.isCut,
      timedOut: how === 'late',
    }
  } catch (error) {
    throw toRefusal(error, `run "${options.command[0] ?? ''}" in a sandbox`)
  }
}

/** The engine may report the end of the output slightly before the end of the command. */
async function exitCodeOf(engine: Engine, exec: Dockerode.Exec): Promise<number | null> {
  const deadline = Date.now() + SANDBOX_KILL_LIMIT_MS
  for (;;) {
    const { Running: isRunning, ExitCode: exitCode } = await engine.call((_, abortSignal) =>
      exec.inspect({ abortSignal }),
    )
    if (!isRunning || Date.now() > deadline) return exitCode
    await sleep(LOOK_MS)
  }
}

async function firstOf(
  over: Promise<void>,
  { limitMs, signal }: SandboxCommand,
): Promise<'ended' | 'late' | 'stopped'> {
  const stopped = new Promise<'stopped'>((resolve) => {
    if (signal.aborted) resolve('stopped')
    else signal.addEventListener('abort', () => resolve('stopped'), { once: true })
  })
  const ended = over.then(() => 'ended' as const)
  return (await within(limitMs, Promise.race([ended, stopped]))) ?? 'late'
}

function drain(stream: Duplex, kept: Record<'stdout' | 'stderr', Kept>): Promise<void> {
  const demux = new Demux()
  stream.on('data', (chunk: Buffer) => {
    for (const piece of demux.push(chunk)) kept[piece.stream].take(piece.bytes)
  })
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  })
}

/**
 * The engine cannot end a process that it started beside a container's first one. Processes with the mark are therefore ended
 * from inside. In an image without a shell they run until the sandbox is removed.
 */
async function killMarked(engine: Engine, id: string, mark: string): Promise<void> {
  // All are stopped first, so that none continues or starts another while the others are killed.
  const script = `of() { for p in /proc/[0-9]*; do tr '\\0' '\\n' <"$p/environ" 2>/dev/null | grep -qx '${mark}' && echo "\${p#/proc/}"; done; }
    kill -STOP $(of) 2>/dev/null; kill -KILL $(of) 2>/dev/null`
  try {
    const exec = await engine.call((docker, abortSignal) =>
      docker.getContainer(id).exec({ Cmd: ['sh', '-c', script], AttachStdout: true, abortSignal }),
    )
    const stream = (await engine.call((_, abortSignal) =>
      exec.start({ hijack: true, abortSignal }),
    )) as unknown as Duplex
    stream.resume()
    const closed = new Promise((resolve) => stream.once('close', resolve))
    await within(SANDBOX_KILL_LIMIT_MS, closed, { ref: false })
    stream.destroy()
  } catch {
    // The container is gone, or the engine is unreachable; anything left ends with the instance.
  }
}

/**
 * Keeps the last bytes of an output. Earlier bytes are dropped only now and then, so that a flood is not copied again for every
 * chunk.
 */
class Kept {
  #chunks: Buffer[] = []
  #bytes = 0
  isCut = false

  take(bytes: Buffer): void {
    // A copy, because a slice would keep the whole buffer in memory.
    this.#chunks.push(Buffer.from(bytes))
    this.#bytes += bytes.length
    if (this.#bytes > SANDBOX_OUTPUT_MAX_BYTES * 2) this.#cut()
  }

  get text(): string {
    this.#cut()
    return Buffer.concat(this.#chunks).toString('utf8')
  }

  #cut(): void {
    if (this.#bytes <= SANDBOX_OUTPUT_MAX_BYTES) return
    this.isCut = true
    const last = Buffer.from(Buffer.concat(this.#chunks).subarray(-SANDBOX_OUTPUT_MAX_BYTES))
    this.#chunks = [last]
    this.#bytes = last.length
  }
}
