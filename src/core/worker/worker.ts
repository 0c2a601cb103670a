/**
 * The contract between host and worker. The host uses nothing else, so an engine on another machine fits later: no host
 * paths, no container ids. Coordination directory outlives its process: a finished instance still serves its files.
 */

import type { FoundFile } from '../files/safe-root.ts'
import type { Chunk } from '../files/tail.ts'
import type { PlatformEvent } from '../protocol/event.ts'
import type { Channel } from '../rpc/channel.ts'
import type { SandboxNetwork } from './sandbox-network.ts'

/** A worker's coordination files, from the host's side. Paths are relative to `.resolve/`. */
export interface CoordinationDirectory {
  /** The places as the worker sees them (R43). */
  readonly seen: { project: string; resolve: string; workspace: string }
  /** Writes a file whole; with `exclusive` only where there is none (then it answers false). */
  put(path: string, data: string, options?: { mode?: number; exclusive?: boolean; durable?: boolean }): boolean
  remove(path: string): void
  /** Removes what a killed writer left half written. */
  clearDrafts(): void
  /** Throws `coordination_tampered` for anything but a regular file within the limit. */
  read(path: string, maxBytes: number): Buffer | undefined
  /** A file as it is now, to read once or to close; undefined where there is none. */
  open(path: string): OpenFile | undefined
  names(directory: string, max: number): string[]
  list(directory: string, max: number): FoundFile[]
  /** A growing file, read from an offset on. */
  follow(path: string, from: number): Following
  /** Calls back when something may have changed; `swept` at the regular look. Answers its stop. */
  watch(onChange: (swept: boolean) => void): () => void
  close(): void
}

export interface OpenFile {
  bytes: number
  modifiedMs: number
  /** The bytes from `from` up to `to`; the file is closed at the end. Called once at most. */
  read(from: number, to: number): AsyncIterable<Buffer>
  close(): void
}

export interface Following {
  read(): Chunk | undefined
  wasReset(): boolean
  seek(offset: number): void
  readonly offset: number
  close(): void
}

/** One thing to be done before the resolver starts. */
export interface SetupStep {
  /** What a person reads of it. */
  description: string
  /** A line for `/bin/sh -c`. */
  command: string
}

/** What only a worker in a container needs; others pass it over. */
export interface ContainerLaunch {
  /** null for the platform's own. */
  image: string | null
  /** Stages of setup, each kept once it succeeded: a later stage builds on the one before. */
  stages: readonly (readonly SetupStep[])[]
  bundles: readonly string[]
  volume_mounts: readonly unknown[]
  dev_source_overrides: readonly string[]
  /** Where the resolver came from; null where its directory may change at any time. */
  commit: string | null
  /** What the worker may reach; the engine's ordinary network where none is given. */
  network?: SandboxNetwork | undefined
}

export interface LaunchPlan {
  command: readonly string[]
  /** Where the resolver's files are. */
  directory: string
  environment: Readonly<Record<string, string>>
  incarnation: number
  /** Nobody can have started a worker of this instance before. */
  isFirst?: boolean
  container?: ContainerLaunch
  /** Told of each step on the way, for the journal. */
  report?: (event: PlatformEvent, data: Record<string, unknown>) => Promise<void>
  /** Ends a launch that is no longer wanted. */
  signal?: AbortSignal
}

/** What a worker takes now (spec, Limits). */
export interface Usage {
  /** As the kernel counts them: processes and threads. */
  pids: number
  memoryBytes: number
  /** Of everything in its directory; sampled, so a while old. */
  diskBytes: number
  /** Of the file system its directory lies on. */
  diskFreeBytes: number
  diskTotalBytes: number
  /** How many of its processes were ended for want of memory so far; 0 where nobody tells. */
  oomKills: number
}

/** Two separate facts: what the engine says of the worker, and whether it can be reached. */
export interface Condition {
  engine: 'running' | 'exited' | 'lost' | 'unknown'
  link: 'up' | 'down'
  /** Known only to the process that started it. */
  exitCode: number | null
  signal: string | null
  /** Its main process was ended for want of memory; a child that was is only counted in its usage. Unknown without an engine. */
  outOfMemory?: boolean
}

export interface Worker {
  readonly incarnation: number
  /** JSON-RPC lines; what came before an adoption comes again. */
  readonly channel: Channel
  readonly condition: Condition
  /** Resolves when the main process has ended. */
  readonly ended: Promise<void>
  /** Signals every process of the worker. Answers how many there were. */
  signal(name: 'SIGTERM' | 'SIGKILL'): number
  /** What it takes now; undefined where that cannot be told. */
  usage?(): Promise<Usage | undefined>
  /** Whether not a single process of the worker is left. */
  isGone(): boolean | Promise<boolean>
  /** Lets go of the worker without touching it, for the next host to adopt. */
  release(): void
}

export interface Driver {
  /** Makes the coordination directory of an instance, or opens the one that is there. */
  openCoordination(): CoordinationDirectory
  /** Starts a worker and remembers how to reach it again. Throws `launch_failed`. */
  start(coordination: CoordinationDirectory, plan: LaunchPlan): Promise<Worker>
  /** Reaches the remembered worker again, alive or dead; undefined where none of this incarnation was started. */
  adopt(coordination: CoordinationDirectory, incarnation: number): Promise<Worker | undefined>
  /** Ends whatever is left of any worker of the instance, remembered or not. */
  sweep(): Promise<void>
  /** Removes what a worker that has ended leaves with its engine. */
  discard(): Promise<void>
  /** The last bytes the worker wrote to stderr. */
  stderrTail(maxBytes: number): string
  /** Replaces what is kept of the output of a worker that is gone, so that it can be shown for ever (threats B9). */
  rewriteOutput(change: (text: string) => string): void
}
