/** The private lines of a journal: the host's own notes, which are never sent to a reader (docs/on-disk.md, The journal). */
import type { Payload } from './form.ts'
import type { Actor } from './instance.ts'

/** An accepted answer. */
export interface AnswerIntent extends Actor {
  kind: 'answer'
  request_id: string
  payload: Payload
  at: string
}

/** An accepted message. The messages of an instance are numbered from 1 without gaps. */
export interface MessageIntent extends Actor {
  kind: 'message'
  number: number
  message_type: string
  payload: Payload
  at: string
}

/** An accepted stop, cancel or pause. It applies to one incarnation of the worker. */
export interface StopIntent {
  kind: 'stop'
  how: 'stop' | 'cancel' | 'pause'
  reason: string
  force: boolean
  incarnation: number
  at: string
}

/** The resolver took an answer, or a message. */
export type Delivered = { kind: 'delivered'; request_id: string } | { kind: 'delivered'; number: number }

/** The resolver acknowledged `run()` for this incarnation. */
export interface RunMark {
  kind: 'run'
  incarnation: number
  /** The id of the machine's boot. Absent in lines of an earlier version. */
  boot?: string
}

/** The instance had a sandbox: the host that ends the instance removes what is left. */
export interface SandboxMark {
  kind: 'sandbox'
}

/** The name a consumer gave the instance after its creation (R9). */
export interface NameMark {
  kind: 'name'
  name: string | null
  at: string
}

/** The files of the earlier layout have been copied into the journal. */
export interface ImportMark {
  kind: 'imported'
}

export type PrivateLine =
  | AnswerIntent
  | MessageIntent
  | StopIntent
  | Delivered
  | RunMark
  | SandboxMark
  | NameMark
  | ImportMark
