/** The driver of {@link file://./../worker.ts} for local processes. A worker does not depend on its host and outlives it. */
import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, isScarcity, systemCode } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { identify, isSameProcess, type ProcessIdentity } from '../../files/process-identity.ts'
import { watchAndSweep } from '../../files/watch.ts'
import { writeWhole } from '../../files/write-whole.ts'
import {
  START_TURN_MS,
  STARTS_PER_CORE,
  STDERR_END_BYTES,
  STDERR_KEEP_BYTES,
  SWEEP_MS,
  TERM_LIMIT_MS,
  WATCHDOG_TABLE_MS,
} from '../../limits.ts'
import { ConcurrencyLimiter } from '../concurrency-limiter.ts'
import { openLocalCoordination } from '../coordination-directory.ts'
import { DiskSample } from '../disk-sample.ts'
import { rewriteFiles } from '../output-files.ts'
import { keepEnd, tailOf } from '../stderr-file.ts'
import type {
  Condition,
  CoordinationDirectory,
  Driver,
  Helper,
  HelperPlan,
  LaunchPlan,
  StderrListener,
  StderrReading,
  Usage,
  Worker,
} from '../worker.ts'
import { workerEnvironment } from './environment.ts'
import { areFifos, makeFifos } from './fifo.ts'
import { startHelperProcess } from './helper-process.ts'
import { holdersOf, stdioWithLifeline, watchLifeline } from './lifeline.ts'
import { LocalChannel } from './local-channel.ts'
import { freshProcesses, recentProcesses } from './process-table.ts'
import { escapedFrom, killTree, processesOf, signalAll, type TreeMark, unlessScarce, usageOf } from './process-tree.ts'
import { StderrReader } from './stderr-reader.ts'

/** Where the driver keeps the state of a worker: in the instance's directory. */
export interface LocalPlaces {
  worker: string
  stdin: string
  stdout: string
  stderr: string
  lifeline: string
  project: string
}

/** The content of worker.json; only this driver reads it. */
interface Saved {
  incarnation: number
  process: ProcessIdentity
  /** Where its stderr begins in the file, which all incarnations share. Absent in files of an earlier version. */
  stderr_from?: number
}

/**
 * A burst of creations starts its workers one after the other: hundreds of programs that load at the same time on two cores would all
 * miss the limit of their first answer, and fill the memory.
 */
const startTurns = new ConcurrencyLimiter('starts of workers', {
  atOnce: STARTS_PER_CORE * availableParallelism(),
  waiting: Number.POSITIVE_INFINITY,
})

export class LocalDriver implements Driver {
  readonly #places: LocalPlaces
  readonly #compileCache: string | undefined
  #sawAlive = false

  /** `compileCache`: the directory of compiled code for workers of this home; undefined for none. */
  constructor(places: LocalPlaces, { compileCache }: { compileCache?: string } = {}) {
    this.#places = places
    this.#compileCache = compileCache
  }

  openCoordination(): CoordinationDirectory {
    return openLocalCoordination(this.#places.project)
  }

  async start(coordination: CoordinationDirectory, plan: LaunchPlan): Promise<Worker> {
    if (plan.isFirst !== true) await this.sweep()
    const giveBack = await startTurns.take('', plan.signal)
    try {
      if (plan.signal?.aborted === true)
        throw fail('launch_failed', { command: plan.command.join(' '), reason: 'it was aborted' })
      const worker = await this.#start(coordination, plan)
      void Promise.race([worker.channel.spoke, worker.ended, sleep(START_TURN_MS, undefined, { ref: false })]).then(
        giveBack,
      )
      return worker
    } catch (error) {
      giveBack()
      throw error
    }
  }

  async #start(coordination: CoordinationDirectory, plan: LaunchPlan): Promise<LocalWorker> {
    const { stdin, stdout, stderr, lifeline } = this.#places
    const fifos = [stdin, lifeline]
    // Those that creation made are used by the first launch alone: no worker has had them in its hands.
    if (plan.isFirst !== true || !areFifos(fifos)) await makeFifos(fifos)
    failpoint('launch.piped')
    const fds = [
      fs.openSync(stdin, fs.constants.O_RDWR),
      fs.openSync(stdout, 'w', 0o600),
      fs.openSync(stderr, 'a', 0o600),
      // Opening it for writing alone would wait for a reader.
      fs.openSync(lifeline, fs.constants.O_RDWR),
    ] as const
    const stderrFrom = fs.fstatSync(fds[2]).size
    // Truncated above, and opened for appending from here on, so that two writers never overwrite each other.
    const appending = fs.openSync(stdout, 'a')
    try {
      const [command = '', ...args] = plan.command
      const environment = workerEnvironment({
        resolveDirectory: coordination.seen.resolve,
        compileCache: this.#compileCache,
        added: plan.environment,
        tools: plan.tools,
        bundles: plan.bundles,
      })
      const child = spawn(command, args, {
        cwd: plan.directory,
        env: environment,
        detached: true,
        stdio: stdioWithLifeline([fds[0], appending, fds[2]], fds[3]),
      })
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve)
        child.once('error', (error) =>
          reject(
            fail('launch_failed', { command: plan.command.join(' '), reason: launchReason(error) }, { cause: error }),
          ),
        )
      })
      failpoint('launch.spawned')
      child.unref()
      const pid = child.pid as number
      const identity = identify(pid) ?? { pid, startTime: '', bootId: '' }
      const saved: Saved = { incarnation: plan.incarnation, process: identity, stderr_from: stderrFrom }
      this.#sawAlive = true
      const worker = new LocalWorker(this.#places, saved, false)
      child.once('exit', (code, signal) => worker.noteExit(code, signal))
      try {
        // Not synchronously: the disk takes its time while the worker starts up and the host serves others.
        await writeWhole(this.#places.worker, JSON.stringify(saved), { durable: true })
        failpoint('launch.saved')
      } catch (error) {
        worker.release()
        throw error
      }
      return worker
    } finally {
      for (const fd of [...fds, appending]) fs.closeSync(fd)
    }
  }

  async adopt(_coordination: CoordinationDirectory, incarnation: number): Promise<Worker | undefined> {
    const saved = this.#readSaved()
    if (saved?.incarnation !== incarnation) return undefined
    this.#sawAlive = isSameProcess(saved.process)
    try {
      return new LocalWorker(this.#places, saved, true)
    } catch (error) {
      // Opened again by the next host.
      if (isScarcity(error)) throw error
      const reason = systemCode(error) ?? 'it cannot be opened'
      throw fail('coordination_tampered', { path: 'the stdio of the worker', reason }, { cause: error })
    }
  }

  async sweep(): Promise<void> {
    await killTree(() => markOf(this.#places, this.#readSaved()?.process, this.#sawAlive), TERM_LIMIT_MS)
  }

  async discard(): Promise<void> {}

  stderrTail(maxBytes: number): string {
    return tailOf(this.#places.stderr, maxBytes)
  }

  rewriteOutput(change: (text: string) => string): void {
    rewriteFiles([this.#places.stderr, this.#places.stdout], change)
  }

  #readSaved(): Saved | undefined {
    try {
      const saved = JSON.parse(fs.readFileSync(this.#places.worker, 'utf8')) as Partial<Saved> | null
      const { pid, startTime, bootId } = saved?.process ?? {}
      const isWhole = typeof pid === 'number' && pid > 0 && typeof startTime === 'string' && typeof bootId === 'string'
      return isWhole && typeof saved?.incarnation === 'number' ? (saved as Saved) : undefined
    } catch {
      return undefined
    }
  }
}

/** How long after the end of its lifeline a process is polled for its exit. */
const EXIT_LIMIT_MS = 64

class LocalWorker implements Worker {
  readonly incarnation: number
  readonly channel: LocalChannel
  readonly condition: Condition
  readonly ended: Promise<void>
  readonly #places: LocalPlaces
  readonly #identity: ProcessIdentity
  readonly #stops: (() => void)[] = []
  readonly #sawAlive: boolean
  readonly #knownSince = performance.now()
  readonly #disk: DiskSample
  readonly #stderrFrom: number
  /** The file of its output is whole, however long it is. */
  readonly replayBytes = Number.POSITIVE_INFINITY
  #stderr: StderrReader | undefined
  #noteEnd: () => void = () => {}

  constructor(places: LocalPlaces, saved: Saved, adopted: boolean) {
    this.#places = places
    this.#identity = saved.process
    this.#sawAlive = !adopted || isSameProcess(saved.process)
    this.#disk = new DiskSample(places.project)
    this.incarnation = saved.incarnation
    this.#stderrFrom = saved.stderr_from ?? 0
    this.condition = { engine: 'running', link: 'up', exitCode: null, signal: null }
    this.ended = new Promise((resolve) => {
      this.#noteEnd = resolve
    })
    this.channel = new LocalChannel(places.stdin, places.stdout, adopted)
    // Not their directory, in which the host itself writes: each line of the journal would be a reason to look.
    this.#stops.push(watchAndSweep([places.stdout, places.stderr], (swept) => this.#tryCheck(swept)))
    if (!adopted) return
    // Only the parent process is notified of an exit; an adopting host has to poll.
    const exitTimer = setInterval(() => this.#checkExit(), SWEEP_MS).unref()
    this.#stops.push(
      () => clearInterval(exitTimer),
      watchLifeline(places.lifeline, () => this.#pollForExit(1)),
    )
    setImmediate(() => this.#tryCheck(true))
  }

  readStderr(listener: StderrListener, from = this.#stderrFrom): StderrReading {
    this.#stderr = new StderrReader(this.#places.stderr, listener, from)
    // In a later turn: a check also reads stdout, whose reader may not be there yet.
    setImmediate(() => this.#tryCheck(false))
    return this.#stderr
  }

  async startHelper(plan: HelperPlan): Promise<Helper> {
    const { project, lifeline } = this.#places
    return await startHelperProcess(plan, { resolveDirectory: `${project}/.resolve`, lifeline })
  }

  noteExit(code: number | null, signal: string | null): void {
    this.condition.exitCode = code
    this.condition.signal = signal
    this.#markEnded()
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): number {
    // A process that cannot be checked now is left to the sweep, which waits until it can.
    const pids = unlessScarce(() => {
      const tree = processesOf(markOf(this.#places, this.#identity, this.#sawAlive))
      return new Set([...tree, ...holdersOf(this.#places.lifeline, false)])
    })
    signalAll([...(pids ?? [])], name)
    return pids?.size ?? 0
  }

  async usage(): Promise<Usage | undefined> {
    // A process that was seen before this time cannot belong to this worker.
    const knownForMs = performance.now() - this.#knownSince
    const recent = recentProcesses(Math.min(WATCHDOG_TABLE_MS, knownForMs))
    const tree = usageOf(processesOf(markOf(this.#places, this.#identity, this.#sawAlive), recent))
    return tree === undefined ? undefined : { ...tree, ...(await this.#disk.sample()), oomKills: 0 }
  }

  async isGone(): Promise<boolean> {
    const table = await freshProcesses()
    const isGone = unlessScarce(() => {
      const { lifeline: _, ...mark } = markOf(this.#places, this.#identity, this.#sawAlive)
      if (processesOf(mark, table).length > 0) return false
      const { length } = escapedFrom(this.#places.lifeline)
      if (length > 0) this.condition.escaped = Math.max(length, this.condition.escaped ?? 0)
      return length === 0
    })
    return isGone === true
  }

  release(): void {
    for (const stop of this.#stops.splice(0)) stop()
    this.#stderr?.close()
    this.channel.close()
    this.condition.link = 'down'
  }

  /** Runs often and for each worker, so it only tests whether a process with that pid exists. The sweep checks its identity. */
  #checkExit(): void {
    if (!hasProcess(this.#identity.pid)) this.#tryCheck(true)
  }

  /** A process closes its files shortly before it counts as ended. One that only closed its lifeline is left to the sweep. */
  #pollForExit(waitMs: number): void {
    this.#tryCheck(true)
    if (this.condition.engine === 'exited' || this.condition.link === 'down' || waitMs > EXIT_LIMIT_MS) return
    setTimeout(() => this.#pollForExit(waitMs * 2), waitMs).unref()
  }

  /** A failure for lack of resources is tried again at the next check. */
  #tryCheck(swept: boolean): void {
    try {
      this.#check(swept)
    } catch (error) {
      if (systemCode(error) === undefined) throw error
    }
  }

  #check(swept: boolean): void {
    this.channel.poll()
    this.#stderr?.check()
    if (!swept || this.condition.engine === 'exited') return
    if (!isSameProcess(this.#identity)) this.#markEnded()
    this.#trimStderr()
  }

  #markEnded(): void {
    if (this.condition.engine === 'exited') return
    this.channel.poll()
    this.condition.engine = 'exited'
    this.#noteEnd()
  }

  /** A flood on stderr must not fill the disk: the excess is cut off (the worker appends, so cutting is safe), and its end stays. */
  #trimStderr(): void {
    const size = fs.statSync(this.#places.stderr, { throwIfNoEntry: false })?.size ?? 0
    if (size <= STDERR_KEEP_BYTES) return
    this.#stderr?.drain()
    this.#stderr?.cut(keepEnd(this.#places.stderr, STDERR_END_BYTES))
  }
}

/**
 * By its mark in any case. By session and group only while its main process lives or this host saw it alive: a pid read from a
 * file may belong to another process by now.
 */
function markOf(places: LocalPlaces, identity: ProcessIdentity | undefined, sawAlive: boolean): TreeMark {
  const variable = `RESOLVE_DIR=${places.project}/.resolve`
  if (identity === undefined) return { leader: 0, variable, lifeline: places.lifeline }
  const isFree = identify(identity.pid) === undefined
  const isOurs = isSameProcess(identity) || (isFree && sawAlive)
  return { leader: isOurs ? identity.pid : 0, variable, lifeline: places.lifeline }
}

function hasProcess(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
}

function launchReason(error: Error): string {
  const code = systemCode(error)
  if (code === 'ENOENT') return 'the program or its directory does not exist'
  if (code === 'EACCES') return 'it may not be executed'
  return code ?? 'it cannot be started'
}
