/** What the parts of one run of a pipeline share (docs/decisions/0034, Contract). */
import type { Session } from '../../sdk/index.ts'
import type { Family } from '../check/family.ts'
import type { Walks } from '../walks/walk.ts'
import type { Answers } from './answers.ts'
import type { NodeFiles } from './node-files.ts'
import type { PipelineContext, RunView } from './run-view.ts'

export interface RunOptions {
  /** What answers instead of models: replies by node, or rules. Undefined: models. */
  answers: Answers | undefined
  /** Questions take their first choice. */
  isAutoApproved: boolean
  /** A goal gate is satisfied by an answer without a verdict. */
  hasProseGates: boolean
  /** `provider/model`; undefined: that of the host. */
  model: string | undefined
}

/** A session that several nodes go on in. */
export interface Thread {
  session: Session
  /** Prompts that were answered. */
  turns: number
}

export interface Run {
  ctx: PipelineContext
  options: RunOptions
  walks: Walks
  /** The pipeline with its children. */
  family: Family
  /** A file that belongs to the pipeline, by its path from the folder of the pipeline. */
  fileOf(path: string): string | undefined
  view: RunView
  files: NodeFiles
  threads: Map<string, Promise<Thread>>
  /** Turns of threads that an earlier process finished, by thread. */
  turnsBefore: Map<string, number>
  /** How many replies of a script were given, by node. */
  replies: Map<string, number>
  /** When the run has to be over, of the process's monotonic clock in milliseconds. */
  endsAt: number | undefined
}
