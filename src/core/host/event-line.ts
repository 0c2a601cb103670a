/** Judges one line of a worker's events file: an envelope that may go on untouched, or the reason why not (R14, R16). */
import { isUtf8 } from 'node:buffer'
import { JSON_MAX_DEPTH } from '../limits.ts'
import { DONE_MARKER, EVENT_SCHEMA_VERSION, type EventEnvelope } from '../protocol/event.ts'

export type RejectReason =
  | 'too_long'
  | 'not_utf8'
  | 'not_json'
  | 'not_an_object'
  | 'too_deep'
  | 'not_an_envelope'
  | 'platform_prefix'
  | 'done_marker'
  | 'foreign_instance'

export type Verdict = { event: EventEnvelope; text: Buffer } | { reason: RejectReason; detail?: string }

const CR = 0x0d
const FIELDS = ['schema_version', 'event_type', 'instance_id', 'data', 'timestamp']
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)$/

export function judgeLine(bytes: Buffer, instanceId: string): Verdict {
  if (!isUtf8(bytes)) return { reason: 'not_utf8' }
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    return { reason: 'not_json' }
  }
  if (!isObject(value)) return { reason: 'not_an_object' }
  if (!isWithinDepth(value, JSON_MAX_DEPTH)) return { reason: 'too_deep' }
  if (value['type'] === DONE_MARKER) return { reason: 'done_marker' }
  const fault = findFault(value)
  if (fault !== undefined) return { reason: 'not_an_envelope', detail: fault }
  const event = value as unknown as EventEnvelope
  if (event.event_type.startsWith('platform.')) return { reason: 'platform_prefix' }
  if (event.instance_id !== instanceId) return { reason: 'foreign_instance' }
  return { event, text: withoutReturns(bytes) }
}

function findFault(value: Record<string, unknown>): string | undefined {
  for (const key of Object.keys(value)) if (!FIELDS.includes(key)) return `it has a field "${key.slice(0, 64)}"`
  if (value['schema_version'] !== EVENT_SCHEMA_VERSION) return `schema_version is not ${EVENT_SCHEMA_VERSION}`
  if (typeof value['event_type'] !== 'string' || value['event_type'] === '') return 'event_type is not a text'
  if (typeof value['instance_id'] !== 'string') return 'instance_id is not a text'
  if (!isObject(value['data'])) return 'data is not an object'
  const at = value['timestamp']
  if (typeof at !== 'string' || !TIMESTAMP.test(at)) return 'timestamp is not ISO-8601'
  return undefined
}

/** A raw CR is legal only as white space in JSON, but would cut a frame of the event stream in two (threats WEB-10). */
function withoutReturns(bytes: Buffer): Buffer {
  if (!bytes.includes(CR)) return bytes
  const clean = Buffer.from(bytes)
  for (let at = clean.indexOf(CR); at !== -1; at = clean.indexOf(CR, at + 1)) clean[at] = 0x20
  return clean
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether arrays and objects nest no deeper than `depth`. */
export function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (depth === 0) return false
  for (const inner of Array.isArray(value) ? value : Object.values(value)) {
    if (!isWithinDepth(inner, depth - 1)) return false
  }
  return true
}
