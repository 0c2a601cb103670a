/** What the loop works with: {@link file://./../session.ts} gives it. */
import {
  MCP_CALL_LIMIT_MS,
  MCP_START_LIMIT_MS,
  SESSION_CHUNK_MS,
  SESSION_FIRST_CHUNK_MS,
  SESSION_RETRY_MIN_MS,
} from '../../core/limits.ts'
import type { SessionLimits } from '../contract/contract.ts'
import type { Guardian } from '../guardian/guardian.ts'
import type { Model } from '../provider/model.ts'
import type { Toolbox } from '../tools/toolbox.ts'
import type { Steering } from '../transcript/steering.ts'
import type { Transcript } from '../transcript/transcript.ts'
import type { Bounds } from './bounds.ts'
import type { Budget } from './budget.ts'
import type { Lock } from './lock.ts'

export interface CallParts {
  session: string
  toolbox: Toolbox
  guardian: Guardian
  transcript: Transcript
  /** For calls that write or run: one at a time. */
  lock: Lock
  /** For calls that only read. */
  reading: Lock
  signal: AbortSignal
}

/** How long the loop waits; tests make it shorter. */
export interface Pace {
  retryMs: number
  firstChunkMs: number
  chunkMs: number
  /** For an MCP server to start, and for a call of its tools. */
  mcpStartMs: number
  mcpCallMs: number
}

export const USUAL_PACE: Pace = {
  retryMs: SESSION_RETRY_MIN_MS,
  firstChunkMs: SESSION_FIRST_CHUNK_MS,
  chunkMs: SESSION_CHUNK_MS,
  mcpStartMs: MCP_START_LIMIT_MS,
  mcpCallMs: MCP_CALL_LIMIT_MS,
}

export interface TurnParts extends CallParts {
  model: Model
  instructions: string
  limits: SessionLimits
  bounds: Bounds
  /** Of the instance; undefined where it has none. */
  budget: Budget | undefined
  pace: Pace
  /** What `steer` said and was not sent yet. */
  steering: Steering
}
