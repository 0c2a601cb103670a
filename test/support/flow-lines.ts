/** What the process of {@link file://./flow-program.ts} is told, and what it prints. */
import type { InstanceRecord } from '../../src/core/protocol/instance.ts'
import type { Exchange } from './invariants-http.ts'

/** How long one process tries; the next one continues. */
const FLOW_LIMIT_MS = 40_000
/** A stop takes half a minute to become a SIGTERM. */
const WAIT_LIMIT_MS = 75_000

export function limitOf(flows: readonly FlowCase[]): number {
  return flows.some(({ kind }) => kind === 'wait') ? WAIT_LIMIT_MS : FLOW_LIMIT_MS
}

/**
 * complete: emits and ends. answer: asks once. secret: is given a secret in its input and asks for another. message: waits for one. stop: ends when it is stopped. wait: does not, and takes SIGTERM.
 * ignore: is stopped by force. pause: pauses, and is resumed. linger: ends, and its process does not. home: as complete, of a resolver
 * that is added before.
 */
export type FlowKind =
  | 'complete'
  | 'answer'
  | 'secret'
  | 'message'
  | 'stop'
  | 'wait'
  | 'ignore'
  | 'pause'
  | 'linger'
  | 'home'

export interface FlowCase {
  /** The Idempotency-Key of its creation. */
  name: string
  kind: FlowKind
  resolver: string
  /** Where the resolver is, for `home`. */
  directory?: string
  executor?: 'local' | 'docker'
}

export interface FlowOrder {
  flows: FlowCase[]
  /** Dies as soon as every flow has an open question. */
  leaveWhenAsked?: boolean
}

export interface FlowLine {
  flow: string
  id?: string
  ack?: Exchange
  refused?: string
  message?: string
  end?: InstanceRecord
}
