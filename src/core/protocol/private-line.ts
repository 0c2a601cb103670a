/** What the private lines of a journal hold: the host's own notes, which no reader is sent (docs/on-disk.md, The journal). */
import type { Payload } from './form.ts'
import type { Actor } from './instance.ts'

/** An answer that was accepted. */
export interface AnswerIntent extends Actor {
  kind: 'answer'
  request_id: string
  payload: Payload
  at: string
}

/** A message that was accepted. Messages of an instance are numbered from 1 without gaps. */
export interface MessageIntent extends Actor {
  kind: 'message'
  number: number
  message_type: string
  payload: Payload
  at: string
}

/** A stop, cancel or pause that was accepted. It holds for one incarnation of the worker. */
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
  /** Names the boot of the machine. Absent from what an earlier version wrote. */
  boot?: string
}

/** The instance had a sandbox: the host that ends it looks for what is left. */
export interface SandboxMark {
  kind: 'sandbox'
}

/** The name a consumer gave the instance after its creation (R9). */
export interface NameMark {
  kind: 'name'
  name: string | null
  at: string
}

/** All that lay beside the journal in the layout of an earlier version stands in it now. */
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
