/**
 * A worker in a container, as its host sees it. The state of the container and the connection to the engine are two facts: when
 * an attach ends, the container is inspected before an exit is reported (reliability F4; threats D6, D7).
 */
import type { Duplex, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { ENGINE_LOOK_MS, ENGINE_RETRY_MAX_MS, ENGINE_RETRY_MIN_MS, MIB } from '../../limits.ts'
import { backoffMs } from '../../primitives/backoff.ts'
import { DiskSample } from '../disk-sample.ts'
import { ContainerOutput } from '../engine/container-output.ts'
import { Demux, type Piece } from '../engine/demux.ts'
import type { Engine } from '../engine/engine.ts'
import { StderrFile } from '../stderr-file.ts'
import type { Condition, Helper, HelperPlan, StderrListener, StderrReading, Usage, Worker } from '../worker.ts'
import { startContainerHelper } from './container-helper.ts'
import { DockerChannel } from './docker-channel.ts'
import { usageOfContainer } from './docker-usage.ts'
import { EarlyStderr } from './early-stderr.ts'

/** Below this size the engine's log cannot have been rotated yet, so the part already read can be skipped exactly. */
const REPLAY_EXACT_BYTES = 8 * MIB
const LAST_WORDS_MS = 2_000
const REMOVAL_MS = 300
const KILLED = 137

/** The exit codes by which an init reports that a signal ended the process. */
const SIGNALS: Readonly<Record<number, string>> = { 134: 'SIGABRT', 137: 'SIGKILL', 139: 'SIGSEGV', 143: 'SIGTERM' }

export interface DockerWorkerParts {
  engine: Engine
  container: string
  incarnation: number
  stderr: string
  /** The instance's directory on this machine. */
  project: string
  /** An earlier host may have written to its stdin. */
  isAdopted: boolean
}

export class DockerWorker implements Worker {
  readonly incarnation: number
  readonly channel = new DockerChannel()
  readonly condition: Condition = { engine: 'running', link: 'down', exitCode: null, signal: null }
  readonly ended: Promise<void>
  readonly #parts: DockerWorkerParts
  readonly #stderr: StderrFile
  readonly #disk: DiskSample
  readonly #read = { stdout: 0, stderr: 0 }
  readonly replayBytes = REPLAY_EXACT_BYTES
  #listener: StderrListener = new EarlyStderr()
  readonly #released = new AbortController()
  /** Attached before the container is started. */
  #first: Duplex | undefined
  #output: ContainerOutput | undefined
  #isFirst: boolean
  #noteEnd: () => void = () => {}

  constructor(parts: DockerWorkerParts) {
    this.#parts = parts
    this.#disk = new DiskSample(parts.project)
    this.#isFirst = !parts.isAdopted
    this.incarnation = parts.incarnation
    this.#stderr = new StderrFile(parts.stderr)
    this.#stderr.restart()
    this.ended = new Promise((resolve) => {
      this.#noteEnd = resolve
    })
  }

  /** Attaches before the container is started, so that its first line is read, and read once. Throws `docker_unreachable`. */
  async open(): Promise<void> {
    this.#first = await this.#attach()
  }

  /** Reads the worker's output, from {@link open} on or all of it from the engine's log, until the worker ends or is released. */
  begin(): void {
    void this.#keepInTouch()
  }

  /** Whether the container may still have a process. The signal is only on its way when this returns. */
  signal(name: 'SIGTERM' | 'SIGKILL'): number {
    if (this.isGone()) return 0
    const { engine, container } = this.#parts
    void engine
      .call((docker, abortSignal) => docker.getContainer(container).kill({ signal: name, abortSignal }))
      // The container ended meanwhile, or the engine is away. The caller checks again, and sweeps at the end.
      .catch(() => undefined)
    return 1
  }

  /** All of it: the log knows what it has already. */
  readStderr(listener: StderrListener): StderrReading {
    const early = this.#listener
    this.#listener = listener
    if (early instanceof EarlyStderr) early.pass(listener)
    // What has arrived was passed on when it arrived.
    return { drain: () => {}, close: () => {} }
  }

  async startHelper(plan: HelperPlan): Promise<Helper> {
    const { engine, container } = this.#parts
    return await startContainerHelper(engine, container, plan)
  }

  async usage(): Promise<Usage | undefined> {
    const { engine, container } = this.#parts
    const taken = await usageOfContainer(engine, container)
    return taken === undefined ? undefined : { ...taken, ...(await this.#disk.sample()) }
  }

  /** When the first process of a container ends, the kernel ends all others. */
  isGone(): boolean {
    return this.condition.engine === 'exited' || this.condition.engine === 'lost'
  }

  release(): void {
    if (this.#released.signal.aborted) return
    this.#released.abort()
    this.condition.link = 'down'
    this.#first?.destroy()
    this.#output?.destroy()
    this.#stderr.close()
    this.channel.close()
  }

  async #keepInTouch(): Promise<void> {
    let tries = 0
    while (!this.#isOver()) {
      if (await this.#attachOnce()) tries = 0
      if (this.#isOver()) break
      await this.#inspectEnd()
      if (this.#isOver()) break
      const waitMs = backoffMs(tries, ENGINE_RETRY_MIN_MS, ENGINE_RETRY_MAX_MS)
      await sleep(waitMs, undefined, { signal: this.#released.signal, ref: false }).catch(() => undefined)
      tries += 1
    }
  }

  #isOver(): boolean {
    return this.#released.signal.aborted || this.isGone()
  }

  async #attach(): Promise<Duplex> {
    const { engine, container } = this.#parts
    const what = { hijack: true, stream: true, stdin: true, stdout: true, stderr: true }
    const stream = await engine.call((docker, abortSignal) =>
      docker.getContainer(container).attach({ ...what, abortSignal }),
    )
    return stream as unknown as Duplex
  }

  /** The log from its beginning, and what comes; undefined where the engine can't read it. */
  async #followLog(): Promise<Readable | undefined> {
    const { engine, container } = this.#parts
    const what = { stdout: true, stderr: true, follow: true } as const
    const log = await engine.callUnless([400, 500, 501], (docker, abortSignal) =>
      docker.getContainer(container).logs({ ...what, abortSignal }),
    )
    return log as unknown as Readable | undefined
  }

  /** An attach to an ended container returns nothing until its limit; the log has all of its output. */
  async #readLog(): Promise<void> {
    const { engine, container } = this.#parts
    const log = await engine.callUnless([404, 409], (docker, abortSignal) =>
      docker.getContainer(container).logs({ stdout: true, stderr: true, follow: false, abortSignal }),
    )
    if (log === undefined || this.#isOver()) return
    const take = this.#skipping()
    for (const { stream, bytes } of new Demux().push(log)) take(stream, bytes)
  }

  /** Attaches, and reads until the output ends. Returns whether the attach succeeded. */
  async #attachOnce(): Promise<boolean> {
    let stream = this.#first
    this.#first = undefined
    let log: Readable | undefined
    try {
      if (stream === undefined) {
        if (typeof (await this.#ask()) === 'object') {
          await this.#readLog()
          return true
        }
        stream = await this.#attach()
        log = await this.#followLog()
      }
    } catch {
      stream?.destroy()
      return false
    }
    const output = new ContainerOutput(stream, log, (...piece) => this.#take(...piece), this.#skipping())
    if (this.#isOver()) {
      output.destroy()
      return false
    }
    this.#output = output
    this.condition.link = 'up'
    this.channel.attach(stream, this.#isFirst)
    this.#isFirst = false
    const stopPolling = this.#pollForEnd(output)
    await output.over
    stopPolling()
    this.#output = undefined
    this.channel.detach()
    this.condition.link = 'down'
    return true
  }

  /** Takes the log from its beginning: what was read before is left out. */
  #skipping(): (stream: Piece['stream'], bytes: Buffer) => void {
    const skip = this.#whatToSkip()
    return (stream, bytes) => {
      const known = Math.min(skip[stream], bytes.length)
      skip[stream] -= known
      this.#take(stream, bytes.subarray(known))
    }
  }

  #take(stream: Piece['stream'], bytes: Buffer): void {
    if (bytes.length === 0) return
    const start = this.#read[stream]
    this.#read[stream] += bytes.length
    if (stream === 'stdout') {
      this.channel.take(bytes)
      return
    }
    this.#stderr.append(bytes)
    if (!this.#released.signal.aborted) this.#listener.take(bytes, start)
  }

  /**
   * The log is read from its beginning. Once the log may have been rotated, repeating calls is better than losing
   * them.
   */
  #whatToSkip(): { stdout: number; stderr: number } {
    if (this.#read.stdout + this.#read.stderr < REPLAY_EXACT_BYTES) return { ...this.#read }
    Object.assign(this.#read, { stdout: 0, stderr: 0 })
    this.channel.restart()
    this.#stderr.restart()
    this.#listener.restarted()
    return { stdout: 0, stderr: 0 }
  }

  /** A frozen daemon keeps its streams open and silent, and a restarted one may have missed the end of the container. */
  #pollForEnd(output: ContainerOutput): () => void {
    const timer = setInterval(async () => {
      const found = await this.#ask()
      this.condition.link = found === 'away' ? 'down' : 'up'
      // The last output may still arrive; the end of the worker must not wait for it longer than this.
      if (found !== 'away' && found !== 'running') setTimeout(() => output.destroy(), LAST_WORDS_MS).unref()
    }, ENGINE_LOOK_MS)
    timer.unref()
    return () => clearInterval(timer)
  }

  /** How the container ended, after all of its output was read. */
  async #inspectEnd(): Promise<void> {
    let found = await this.#ask()
    if (typeof found === 'object' && found.exitCode === KILLED) {
      // Exit code 137: the container was killed, or is being removed. A moment later the two can be told apart.
      await sleep(REMOVAL_MS)
      found = await this.#ask()
    }
    if (this.#released.signal.aborted || found === 'away' || found === 'running') return
    const { condition } = this
    condition.engine = found === 'lost' ? 'lost' : 'exited'
    if (found !== 'lost') {
      const signal = SIGNALS[found.exitCode]
      if (signal === undefined) condition.exitCode = found.exitCode
      else condition.signal = signal
      // A child killed for memory sets the same flag; only when its main process is killed the container itself ends with a
      // kill.
      condition.outOfMemory = found.isOutOfMemory && found.exitCode === KILLED
    }
    this.#noteEnd()
  }

  async #ask(): Promise<'running' | 'away' | 'lost' | { exitCode: number; isOutOfMemory: boolean }> {
    const { engine, container } = this.#parts
    try {
      const found = await engine.callUnless(404, (docker, abortSignal) =>
        docker.getContainer(container).inspect({ abortSignal }),
      )
      if (found === undefined || found.State.Dead || found.State.Status === 'removing') return 'lost'
      const { Running: isRunning, Restarting: isRestarting, ExitCode: exitCode, OOMKilled: isOutOfMemory } = found.State
      return isRunning || isRestarting ? 'running' : { exitCode, isOutOfMemory }
    } catch {
      return 'away'
    }
  }
}
