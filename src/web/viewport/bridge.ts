/**
 * The messages between the page and a viewport, in both directions (threats UI-3). The frame sends strings of bounded size, so that the
 * page checks the length before it parses them. No message contains a token or data of another instance.
 */
import { isObject } from '../../core/primitives/is-object.ts'
import type { EventEnvelope } from '../../core/protocol/event.ts'
import type { Payload } from '../../core/protocol/form.ts'
import type { InputRequest } from '../../core/protocol/instance.ts'

export interface ViewportState {
  status: string
  state: Record<string, unknown> | null
  inputRequests: InputRequest[]
  theme: 'light' | 'dark'
}

export type ToFrame =
  | {
      type: 'begin'
      code: string
      instanceId: string
      resolverName: string
      events: EventEnvelope[]
      now: ViewportState
    }
  | { type: 'events'; events: EventEnvelope[] }
  | { type: 'now'; now: ViewportState }
  | { type: 'ping' }
  | { type: 'file'; call: number; status: number; contentType: string; bytes: ArrayBuffer }
  | { type: 'done'; call: number }
  | { type: 'refused'; call: number; message: string }

export type FromFrame =
  | { type: 'ready' | 'mounted' | 'pong' }
  | { type: 'failed'; message: string }
  | { type: 'fetchData'; call: number; path: string }
  | { type: 'sendMessage'; call: number; message_type: string; payload: Payload }
  | { type: 'respond'; call: number; request: string; payload: Payload }

/** The maximum length of a message of the frame, in characters: the largest answer with its envelope. */
export const FROM_FRAME_MAX_CHARS = 2_000_000
/** The maximum number of messages per second; a frame that sends more is removed. */
export const FROM_FRAME_PER_SECOND = 200
/** The maximum size of a data file for a viewport, in bytes. */
export const FILE_MAX_BYTES = 32 * 1024 * 1024

/** Undefined if the text is not a valid message. */
export function parseFromFrame(text: unknown): FromFrame | undefined {
  if (typeof text !== 'string' || text.length > FROM_FRAME_MAX_CHARS) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { type, call } = value
  if (type === 'ready' || type === 'mounted' || type === 'pong') return { type }
  if (type === 'failed') return { type, message: String(value['message']).slice(0, 500) }
  if (typeof call !== 'number') return undefined
  const { path, message_type, request, payload } = value
  if (type === 'fetchData' && typeof path === 'string') return { type, call, path }
  if (!isObject(payload)) return undefined
  if (type === 'sendMessage' && typeof message_type === 'string') return { type, call, message_type, payload }
  if (type === 'respond' && typeof request === 'string') return { type, call, request, payload }
  return undefined
}
