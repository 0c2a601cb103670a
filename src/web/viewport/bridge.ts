/**
 * What passes between the page and a viewport: the whole list, in both directions (threats UI-3). The frame speaks in texts of a
 * bounded size, so that whatever it sends is measured before it is looked at; no token, and no other instance, is ever part of it.
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

/** Characters of one message of the frame: an answer of the largest size, and what stands around it. */
export const FROM_FRAME_MAX_CHARS = 2_000_000
/** Messages of the frame in a second; whoever sends more is cut off. */
export const FROM_FRAME_PER_SECOND = 200
/** Bytes of a data file that a viewport may have. */
export const FILE_MAX_BYTES = 32 * 1024 * 1024

/** Undefined for anything that is not on the list. */
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
