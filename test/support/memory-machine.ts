/**
 * The third driver of workers, for tests alone: a machine in memory whose processes are functions. Its workers outlive their hosts
 * as those of the others do, and the coordination directory is real files; the model test of the instance walks beside it.
 */
import * as fs from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { fail } from '../../src/core/errors.ts'
import type { Channel } from '../../src/core/rpc/channel.ts'
import type { InstancePaths } from '../../src/core/store/home.ts'
import { openLocalCoordination } from '../../src/core/worker/coordination-directory.ts'
import { workerEnvironment } from '../../src/core/worker/local/environment.ts'
import type {
  Condition,
  CoordinationDirectory,
  Driver,
  HelperPlan,
  LaunchPlan,
  StderrListener,
  StderrReading,
  Worker,
} from '../../src/core/worker/worker.ts'

/** What runs on the machine: called once, with the process that it is. It ends when it says so, or when nothing is left to wait for. */
export type Program = (me: MemoryProcess, args: readonly string[]) => void

/** What is kept of the worker of one instance, whichever host it has. */
interface Place {
  incarnation: number
  main: MemoryProcess | undefined
  processes: Set<MemoryProcess>
  stdout: string
  stderr: string
  workers: Set<MemoryWorker>
}

export class MemoryMachine {
  readonly #programs: Record<string, Program>
  readonly #places = new Map<string, Place>()

  /** Programs by the word they are called with. */
  constructor(programs: Record<string, Program>) {
    this.#programs = programs
  }

  driver(paths: Pick<InstancePaths, 'root' | 'project'>): Driver {
    return new MemoryDriver(paths.project, this.#place(paths.root), (command) => this.#programs[command])
  }

  /** Half a frame from a host that died while it wrote. */
  writeHalfFrame(root: string, text: string): void {
    this.#place(root).main?.take(text)
  }

  #place(root: string): Place {
    const fresh = { incarnation: 0, main: undefined, stdout: '', stderr: '' }
    const place = this.#places.get(root) ?? { ...fresh, processes: new Set(), workers: new Set() }
    this.#places.set(root, place)
    return place
  }
}

let lastPid = 0
const later = globalThis.setImmediate

export class MemoryProcess {
  readonly pid = ++lastPid
  readonly environment: Readonly<Record<string, string>>
  readonly #place: Place
  readonly #program: Program
  readonly #timers = new Set<NodeJS.Timeout>()
  #input = ''
  #onInput: ((text: string) => void) | undefined
  #onTerminate: (() => void) | undefined
  hasEnded = false
  exitCode: number | null = null
  exitSignal: string | null = null

  constructor(place: Place, environment: Readonly<Record<string, string>>, program: Program) {
    this.#place = place
    this.environment = environment
    this.#program = program
    place.processes.add(this)
  }

  /** Later than this turn, as a real process. */
  begin(args: readonly string[]): void {
    later(() => {
      if (this.hasEnded) return
      this.#program(this, args)
      this.#endIfIdle()
    })
  }

  take(text: string): void {
    this.#input += text
    later(() => this.#flush())
  }

  onInput(listener: (text: string) => void): void {
    this.#onInput = listener
    later(() => this.#flush())
  }

  onTerminate(handler: () => void): void {
    this.#onTerminate = handler
  }

  print(text: string): void {
    if (this.hasEnded) return
    this.#place.stdout += text
    for (const worker of this.#place.workers) worker.channel.ring()
  }

  complain(text: string): void {
    this.#place.stderr += text
  }

  after(ms: number, call: () => void, again = false): void {
    const timer = (again ? setInterval : setTimeout)(() => {
      if (!again) this.#timers.delete(timer)
      if (!this.hasEnded) call()
      this.#endIfIdle()
    }, ms)
    this.#timers.add(timer)
  }

  /** A process of the same worker, in a session of its own. */
  spawn(args: readonly string[]): void {
    new MemoryProcess(this.#place, this.environment, this.#program).begin(args)
  }

  exit(code: number | null, signal: string | null = null): void {
    if (this.hasEnded) return
    this.hasEnded = true
    Object.assign(this, { exitCode: code, exitSignal: signal })
    for (const timer of this.#timers) clearTimeout(timer)
    this.#place.processes.delete(this)
    if (this === this.#place.main) for (const worker of this.#place.workers) worker.noteExit(code, signal)
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (name === 'SIGTERM' && this.#onTerminate !== undefined) this.#onTerminate()
    else this.exit(null, name)
  }

  #flush(): void {
    if (this.hasEnded || this.#onInput === undefined || this.#input === '') return
    const text = this.#input
    this.#input = ''
    this.#onInput(text)
  }

  #endIfIdle(): void {
    if (this.#timers.size === 0 && this.#onInput === undefined) this.exit(0)
  }
}

class MemoryDriver implements Driver {
  readonly #project: string
  readonly #place: Place
  readonly #find: (command: string) => Program | undefined

  constructor(project: string, place: Place, find: (command: string) => Program | undefined) {
    this.#project = project
    this.#place = place
    this.#find = find
  }

  openCoordination(): CoordinationDirectory {
    return openLocalCoordination(this.#project)
  }

  async start(coordination: CoordinationDirectory, plan: LaunchPlan): Promise<Worker> {
    await this.sweep()
    const [command = '', ...args] = plan.command
    const program = this.#find(command)
    if (plan.signal?.aborted === true) throw fail('launch_failed', { command, reason: 'it was aborted' })
    if (program === undefined)
      throw fail('launch_failed', { command, reason: 'the program or its directory does not exist' })
    const environment = workerEnvironment({ resolveDirectory: coordination.seen.resolve, added: plan.environment })
    this.#place.incarnation = plan.incarnation
    this.#place.stdout = ''
    this.#place.main = new MemoryProcess(this.#place, environment as Record<string, string>, program)
    this.#place.main.begin(args)
    await setImmediate()
    return new MemoryWorker(this.#place, false)
  }

  async adopt(_coordination: CoordinationDirectory, incarnation: number): Promise<Worker | undefined> {
    await setImmediate()
    return this.#place.incarnation === incarnation ? new MemoryWorker(this.#place, true) : undefined
  }

  async sweep(): Promise<void> {
    for (const name of ['SIGTERM', 'SIGKILL'] as const) {
      for (const process of [...this.#place.processes]) process.signal(name)
    }
  }

  async discard(): Promise<void> {}

  stderrTail(maxBytes: number): string {
    return this.#place.stderr.slice(-maxBytes)
  }

  rewriteOutput(change: (text: string) => string): void {
    this.#place.stdout = change(this.#place.stdout)
    this.#place.stderr = change(this.#place.stderr)
  }
}

class MemoryWorker implements Worker {
  readonly incarnation: number
  readonly channel: MemoryChannel
  readonly condition: Condition = { engine: 'running', link: 'up', exitCode: null, signal: null }
  readonly ended: Promise<void>
  readonly #place: Place
  readonly #main: MemoryProcess
  readonly #isAdopted: boolean
  readonly replayBytes = Number.POSITIVE_INFINITY
  #noteEnd: () => void = () => {}

  constructor(place: Place, isAdopted: boolean) {
    this.#place = place
    this.#main = place.main as MemoryProcess
    this.#isAdopted = isAdopted
    this.incarnation = place.incarnation
    this.ended = new Promise((resolve) => {
      this.#noteEnd = resolve
    })
    this.channel = new MemoryChannel(place, this.#main)
    place.workers.add(this)
    // It may have been quicker than its host.
    if (this.#main.hasEnded) later(() => this.noteExit(this.#main.exitCode, this.#main.exitSignal))
    if (!isAdopted) return
    // The first byte of an adopting host ends what a dead one left half written (threats D5).
    this.#main.take('\n')
    this.channel.ring()
  }

  /** Only its own starter is told how it ended. */
  noteExit(code: number | null, signal: string | null): void {
    if (this.condition.engine === 'exited' || this.condition.link === 'down') return
    this.channel.poll()
    if (!this.#isAdopted) Object.assign(this.condition, { exitCode: code, signal })
    this.condition.engine = 'exited'
    this.#noteEnd()
  }

  readStderr(listener: StderrListener, from = 0): StderrReading {
    let at = from
    const drain = () => {
      const bytes = Buffer.from(this.#place.stderr).subarray(at)
      if (bytes.length > 0) listener.take(bytes, at)
      at += bytes.length
    }
    drain()
    return { drain, close: () => {} }
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): number {
    const processes = [...this.#place.processes]
    for (const process of processes) process.signal(name)
    return processes.length
  }

  async startHelper({ program: command }: HelperPlan): Promise<never> {
    throw fail('launch_failed', { command, reason: 'this machine runs functions' })
  }

  isGone(): boolean {
    return this.#place.processes.size === 0
  }

  release(): void {
    this.#place.workers.delete(this)
    this.channel.close()
    this.condition.link = 'down'
  }
}

/** Reads what the worker printed from the beginning on: what came before an adoption comes again. */
class MemoryChannel implements Channel {
  readonly #place: Place
  readonly #main: MemoryProcess
  #at = 0
  #isRung = false
  #isClosed = false
  #onLine: ((line: string) => void) | undefined
  #onClose: () => void = () => {}

  constructor(place: Place, main: MemoryProcess) {
    this.#place = place
    this.#main = main
  }

  send(line: string): void {
    if (!this.#isClosed) this.#main.take(`${line}\n`)
  }

  onLine(listener: (line: string) => void): void {
    this.#onLine = listener
    this.ring()
  }

  onClose(listener: () => void): void {
    this.#onClose = listener
  }

  ring(): void {
    if (this.#isRung) return
    this.#isRung = true
    later(() => {
      this.#isRung = false
      this.poll()
    })
  }

  poll(): void {
    while (!this.#isClosed && this.#onLine !== undefined) {
      const end = this.#place.stdout.indexOf('\n', this.#at)
      if (end === -1) return
      const line = this.#place.stdout.slice(this.#at, end)
      this.#at = end + 1
      this.#onLine(line)
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onClose()
  }
}

/** What `node -e CODE` is on the machine: as much of Node as the contract's programs use. */
export const nodeInMemory: Program = (me, [, code = '']) => {
  const process = {
    pid: me.pid,
    env: me.environment,
    execPath: 'node',
    exit: (status: number) => me.exit(status),
    on: (_signal: string, handler: () => void) => me.onTerminate(handler),
    stdin: { on: (_data: string, listener: (text: string) => void) => me.onInput(listener) },
    stderr: { write: (text: string) => me.complain(text) },
  }
  const modules: Record<string, unknown> = {
    'node:fs': { ...fs, writeSync: (_stdout: number, text: string) => me.print(text) },
    'node:child_process': {
      spawn: (_node: string, args: readonly string[]) => {
        me.spawn(args)
        return { unref: () => {} }
      },
    },
  }
  const run = new Function('process', 'require', 'setTimeout', 'setInterval', code)
  run(
    process,
    (name: string) => modules[name],
    (call: () => void, ms: number) => me.after(ms, call),
    (call: () => void, ms: number) => me.after(ms, call, true),
  )
}
