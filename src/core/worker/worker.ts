/**
 * The contract between host and worker; drivers implement it. The host uses nothing else of a worker, so that an engine on
 * another machine fits later: no host paths, no container ids. The coordination directory outlives the process: the files of a
 * finished instance can still be served.
 */
import type { FoundFile } from '../files/safe-root.ts'
import type { Chunk } from '../files/tail.ts'
import type { EventData } from '../protocol/api/events.ts'
import type { PlatformEvent } from '../protocol/event.ts'
import type { Channel } from '../rpc/channel.ts'
import type { SandboxNetwork } from './sandbox-network.ts'

/** A worker's coordination files, as the host accesses them. Paths are relative to `.resolve/`. */
export interface CoordinationDirectory {
  /** The paths as the worker sees them (R43). */
  readonly seen: { project: string; resolve: string; workspace: string }
  /** Writes a file as a whole. With `exclusive`, only where the name is free; returns false where it is taken. */
  put(path: string, data: string, options?: { mode?: number; exclusive?: boolean; durable?: boolean }): boolean
  remove(path: string): void
  /**
   * Moves a complete clone into the workspace, under a name, as the worker's own; replaces what has the name. Only before the first
   * worker begins.
   */
  placeInWorkspace(name: string, tree: string): Promise<void>
  /** Removes unfinished files of a killed writer. */
  clearDrafts(): void
  /** Throws `coordination_tampered` for anything but a regular file within the limit. */
  read(path: string, maxBytes: number): Buffer | undefined
  /** Opens a file for one read; undefined where there is none. */
  open(path: string): OpenFile | undefined
  names(directory: string, max: number): string[]
  /** Lets other work of the process go on meanwhile. */
  list(directory: string, max: number): Promise<FoundFile[]>
  /** A growing file, read from an offset on. */
  follow(path: string, from: number): Following
  /**
   * Calls `onChange` when something may have changed; `swept` is true at the periodic sweep. Returns the function that stops
   * it.
   */
  watch(onChange: (swept: boolean) => void): () => void
  close(): void
}

export interface OpenFile {
  bytes: number
  modifiedMs: number
  /** The bytes from `from` up to `to`. Closes the file at the end; may be called once. */
  read(from: number, to: number): AsyncIterable<Buffer>
  close(): void
}

export interface Following {
  read(): Chunk | undefined
  wasReset(): boolean
  seek(offset: number): void
  readonly offset: number
  /** How many bytes are there and not read yet. */
  readonly behind: number
  close(): void
}

/** One setup command, run before the resolver starts. */
export interface SetupStep {
  /** The command as shown to people. */
  description: string
  /** A line for `/bin/sh -c`. */
  command: string
}

/** Options that only a worker in a container needs; other drivers ignore them. */
export interface ContainerLaunch {
  /** null for the platform's default image. */
  image: string | null
  /** The stages of setup. Each result is kept once it succeeded; a later stage builds on the ones before. */
  stages: readonly (readonly SetupStep[])[]
  volume_mounts: readonly unknown[]
  dev_source_overrides: readonly string[]
  /** The source of the resolver; null where its directory may change at any time. */
  commit: string | null
  /** What the worker may reach; the engine's default network where it is absent. */
  network?: SandboxNetwork | undefined
  /** A further network that it joins before it starts. */
  joins?: string | undefined
}

/** A step of the setup begins, prints, or has ended with an exit code. */
export type SetupProgress = EventData<'platform.setup.progress'>

/** Why a setup failed, for the journal. */
export type SetupFailure = EventData<'platform.setup.failed'>

/** The reason of a signal that ends a launch because another process goes on with it: what can be adopted is left running. */
export const HANDED_OVER = 'handed over'

/** A directory with bundles for the sessions of a worker, which only reads it. */
export interface BundleDirectory {
  /** On this machine; null where the image has it. */
  source: string | null
  /** As the worker sees it. */
  seen: string
  /** RESOLVE_BUNDLES names it. */
  isListed: boolean
}

export interface LaunchPlan {
  command: readonly string[]
  /** The directory of the resolver's files. */
  directory: string
  environment: Readonly<Record<string, string>>
  incarnation: number
  /** True where no worker of this instance can exist yet. */
  isFirst?: boolean
  container?: ContainerLaunch
  bundles?: readonly BundleDirectory[]
  /** A directory of this machine whose programs the worker finds first. */
  tools?: string | undefined
  /** How many stages of the setup {@link Driver.prepare} has reported for this launch. */
  reportedStages?: number
  /** Called at each step of the launch, for the journal. */
  report?: <T extends PlatformEvent>(event: T, data: EventData<T>) => Promise<void>
  /** Aborts a launch that is no longer wanted. */
  signal?: AbortSignal
}

/** The current resource usage of a worker (spec, Limits). */
export interface Usage {
  /** Processes and threads, as the kernel counts them. */
  pids: number
  memoryBytes: number
  /** The size of the instance's directory; sampled, so it may be out of date. */
  diskBytes: number
  /** Free space of the file system that holds the directory. */
  diskFreeBytes: number
  diskTotalBytes: number
  /** How many of its processes were killed for lack of memory so far; 0 where this is not reported. */
  oomKills: number
}

/** Two separate facts: the state of the worker, and whether it can be reached. */
export interface Condition {
  engine: 'running' | 'exited' | 'lost' | 'unknown'
  link: 'up' | 'down'
  /** Known only to the process that started the worker. */
  exitCode: number | null
  signal: string | null
  /** The main process was killed for lack of memory; a killed child only counts in the usage. Unknown without an engine. */
  outOfMemory?: boolean
  /** How many processes had removed all that marks them as the worker's own, and were found all the same. */
  escaped?: number
}

/** Takes what a worker writes to stderr, in order. */
export interface StderrListener {
  /** These bytes of this incarnation, from the offset `start` on. */
  take(bytes: Buffer, start: number): void
  /** So many bytes were left out before the next ones. */
  skipped(bytes: number): void
  /** The next bytes have this offset, by default 0: the driver has cut what it keeps, or gives all of it again. */
  restarted(offset?: number): void
}

export interface StderrReading {
  /** Reads all that is there now: after the worker has ended, all that there is. */
  drain(): void
  close(): void
}

/** A program of the platform beside the main process of a worker, with the worker's files, network, user and limits. */
export interface HelperPlan {
  /** The path of the program below `dist/`. */
  program: string
  /** Unique; every process of the helper carries it in RESOLVE_HELPER. */
  mark: string
  /** The directory of the resolver's files, on this machine. */
  directory: string
  environment: Readonly<Record<string, string>>
  /** As in {@link LaunchPlan}. */
  tools?: string | undefined
  onStderr: (bytes: Buffer) => void
}

export interface Helper {
  /** Its stdio. It ends with its input: when the channel is closed, and with this host. */
  readonly channel: Channel
  /** How it ended, in words. */
  readonly ended: Promise<string>
}

export interface Worker {
  readonly incarnation: number
  /** JSON-RPC lines. After an adoption, earlier lines are received again. */
  readonly channel: Channel
  readonly condition: Condition
  /** Resolves when the main process has ended. */
  readonly ended: Promise<void>
  /** Signals every process of the worker. Returns how many there were. */
  signal(name: 'SIGTERM' | 'SIGKILL'): number
  /**
   * Reads stderr from an offset that an earlier reader was given; without one, or where the driver cannot begin there, from the beginning
   * of this incarnation. Only one reader.
   */
  readStderr(listener: StderrListener, from: number | undefined): StderrReading
  /** After an adoption, output is given again from its beginning, with the same offsets, as long as it is shorter than this. */
  readonly replayBytes: number
  /** Starts a helper, which ends with the worker too. Throws `launch_failed`, `container_refused`, `docker_unreachable`. */
  startHelper(plan: HelperPlan): Promise<Helper>
  /** The current usage; undefined where it cannot be read. */
  usage?(): Promise<Usage | undefined>
  /** Whether no process of the worker is left. */
  isGone(): boolean | Promise<boolean>
  /** Detaches from the worker without changing it, so that the next host can adopt it. */
  release(): void
}

export interface Driver {
  /** Creates the coordination directory of an instance, or opens the existing one. */
  openCoordination(): CoordinationDirectory
  /**
   * Does the setup that the resolver needs before it can be asked anything; absent where there is none. Throws `setup_failed`, and as
   * {@link start}.
   */
  prepare?(plan: LaunchPlan): Promise<void>
  /** Starts a worker and stores how to reach it again. Throws `launch_failed`. */
  start(coordination: CoordinationDirectory, plan: LaunchPlan): Promise<Worker>
  /** Connects to the stored worker again, running or ended; undefined where none of this incarnation was started. */
  adopt(coordination: CoordinationDirectory, incarnation: number): Promise<Worker | undefined>
  /** Ends every worker of the instance, stored or not. */
  sweep(): Promise<void>
  /** Removes what an ended worker leaves in its engine. */
  discard(): Promise<void>
  /** The end of the worker's stderr. */
  stderrTail(maxBytes: number): string
  /** Redacts the stored output of an ended worker, because it may be shown later (threats B9). */
  rewriteOutput(change: (text: string) => string): void
}
