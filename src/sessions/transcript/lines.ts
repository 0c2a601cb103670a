/** The lines of a transcript, as a session writes them; {@link file://./history.ts} reads them back. */
import type { AssistantModelMessage, ModelMessage } from 'ai'
import type { InstanceError } from '../../core/protocol/instance.ts'
import type { SessionKind, SessionUsage } from '../../core/protocol/session/session.ts'
import type { KeptImage } from './images.ts'

export interface LineOf {
  /** A process opened the session. */
  session: {
    name: string
    model: string
    kind: SessionKind
    parent: string | null
    instructions_sha256: string
    tools: string[]
  }
  prompt: { turn: number; text: string; images?: readonly KeptImage[] }
  /** What `steer` said, with its number, or what the loop tells the model. */
  steer: { turn: number; text: string; by: 'resolver' | 'session'; number?: number }
  retry: { turn: number; attempt: number; wait_ms: number; reason: string; status: number | null }
  /** An answer of the model, before its calls run. */
  step: {
    turn: number
    step: number
    message: AssistantModelMessage
    calls: ToolCall[]
    text: string
    finish: string
    usage: SessionUsage
    cost_usd: number | null
  }
  tool_call: { turn: number; call: string; tool: string; input: unknown }
  tool_result: {
    turn: number
    call: string
    tool: string
    output: string
    is_error: boolean
    duration_ms: number
    image?: KeptImage
  }
  /** What a task of an agent used: it counts for the limits of the session, not for its own usage. */
  agent: { turn: number; call: string; session: string; usage: SessionUsage; cost_usd: number | null }
  guardian: { turn: number; rule: string; action: 'refused' | 'warned' | 'ended'; detail: string }
  /** The history that replaces the one before. */
  compaction: {
    turn: number
    how: 'dropped' | 'summary'
    messages: ModelMessage[]
    usage: SessionUsage
    cost_usd: number | null
  }
  answer: { turn: number; output: string; duration_ms: number }
  failure: { turn: number; error: InstanceError; duration_ms: number }
  /** The resolver gave another prompt at this place than before: this turn and those after it are dropped. Numbers are not used again. */
  diverged: { turn: number }
}

export type LineType = keyof LineOf

export type Line = { [T in LineType]: { seq: number; at: string; type: T } & LineOf[T] }[LineType]

export interface ToolCall {
  id: string
  tool: string
  input: unknown
  /** Why the call can't run: bad JSON, cut by the output limit. */
  fault?: string
}
