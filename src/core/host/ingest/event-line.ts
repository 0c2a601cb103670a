/**
 * Validates the lines of a worker's events file: a valid envelope is journaled unchanged, one without a usable timestamp gets
 * the host's time, any other line is rejected with a reason (R14, R16). The monitor calls it.
 */
import { isUtf8 } from 'node:buffer'
import { EVENT_LINE_MAX_BYTES, JSON_MAX_DEPTH } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { isWithinDepth } from '../../primitives/json-depth.ts'
import { DONE_MARKER, EVENT_SCHEMA_VERSION, type EventEnvelope } from '../../protocol/event.ts'
import type { Line, LineSplitter } from '../../rpc/lines.ts'

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

export type Verdict = { event: EventEnvelope; text: string } | { reason: RejectReason; detail?: string }

/** A validated line; undefined for an empty one. */
export interface JudgedLine {
  verdict: Verdict | undefined
  /** The size of the line in bytes, including its LF. */
  size: number
}

const LF = 0x0a
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,12})?(Z|[+-]\d\d:?\d\d)$/

/** Validates the lines that end in this chunk. Checks that cost the same for many lines as for one run once for all of them. */
export function judgeChunk(splitter: LineSplitter, chunk: Buffer, instanceId: string): JudgedLine[] {
  const { first, whole } = splitter.take(chunk)
  const lines = first === undefined ? [] : [judged(first, instanceId)]
  // An LF byte is never part of a UTF-8 character: the lines are valid exactly when the chunk is.
  if (isUtf8(whole)) judgeTexts(whole, instanceId, lines)
  else judgeEach(whole, instanceId, lines)
  return lines
}

function judgeTexts(whole: Buffer, instanceId: string, lines: JudgedLine[]): void {
  const texts = whole.toString('utf8')
  const isAscii = texts.length === whole.length
  for (let start = 0; start < texts.length; ) {
    const end = texts.indexOf('\n', start)
    const text = texts.slice(start, end)
    const bytes = isAscii ? text.length : Buffer.byteLength(text)
    lines.push({ verdict: verdictOn(text, bytes, instanceId), size: bytes + 1 })
    start = end + 1
  }
}

function judgeEach(whole: Buffer, instanceId: string, lines: JudgedLine[]): void {
  for (let start = 0; start < whole.length; ) {
    const end = whole.indexOf(LF, start)
    lines.push(judged({ bytes: whole.subarray(start, end), size: end - start + 1 }, instanceId))
    start = end + 1
  }
}

function judged({ bytes, size }: Line, instanceId: string): JudgedLine {
  if (bytes === null) return { verdict: { reason: 'too_long' }, size }
  if (!isUtf8(bytes)) return { verdict: { reason: size - 1 > EVENT_LINE_MAX_BYTES ? 'too_long' : 'not_utf8' }, size }
  return { verdict: verdictOn(bytes.toString('utf8'), bytes.length, instanceId), size }
}

function verdictOn(text: string, bytes: number, instanceId: string): Verdict | undefined {
  if (bytes === 0) return undefined
  return bytes > EVENT_LINE_MAX_BYTES ? { reason: 'too_long' } : judgeText(text, instanceId)
}

/** One line without its LF. */
export function judgeLine(bytes: Buffer, instanceId: string): Verdict {
  return isUtf8(bytes) ? judgeText(bytes.toString('utf8'), instanceId) : { reason: 'not_utf8' }
}

function judgeText(text: string, instanceId: string): Verdict {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { reason: 'not_json' }
  }
  if (!isObject(value)) return { reason: 'not_an_object' }
  if (!isWithinDepth(value, JSON_MAX_DEPTH)) return { reason: 'too_deep' }
  if (value['type'] === DONE_MARKER || value['event_type'] === DONE_MARKER) return { reason: 'done_marker' }
  const fault = findFault(value)
  if (fault !== undefined) return { reason: 'not_an_envelope', detail: fault }
  const event = value as Record<string, unknown> & EventEnvelope
  if (event.event_type.startsWith('platform.')) return { reason: 'platform_prefix' }
  if (event.instance_id !== instanceId) return { reason: 'foreign_instance' }
  return isTimestamp(event.timestamp) ? { event, text: withoutReturns(text) } : stamped(event)
}

/** What is wrong with the envelope. Further fields are the resolver's own, and no stamp is a reason to lose an end (R14). */
function findFault(value: Record<string, unknown>): string | undefined {
  if (value['schema_version'] !== EVENT_SCHEMA_VERSION) return `schema_version is not ${EVENT_SCHEMA_VERSION}`
  if (typeof value['event_type'] !== 'string' || value['event_type'] === '') return 'event_type is not a text'
  if (typeof value['instance_id'] !== 'string') return 'instance_id is not a text'
  if (!isObject(value['data'])) return 'data is not an object'
  return undefined
}

/** With the host's time in place of a timestamp that cannot be read. */
function stamped(line: EventEnvelope): Verdict {
  const event = { ...line, timestamp: new Date().toISOString() }
  const text = JSON.stringify(event)
  // Numbers may be longer than the resolver wrote them: 1e20.
  return Buffer.byteLength(text) > 2 * EVENT_LINE_MAX_BYTES ? { reason: 'too_long' } : { event, text }
}

let lastTimestamp = ''

/** Whether it tells one moment: without a time zone it does not. In a flood, many events have the same timestamp. */
function isTimestamp(value: unknown): boolean {
  if (value === lastTimestamp) return true
  if (typeof value !== 'string' || !TIMESTAMP.test(value) || Number.isNaN(Date.parse(value))) return false
  lastTimestamp = value
  return true
}

/** A raw CR is legal JSON white space, but would split a frame of the event stream (threats WEB-10): it becomes a space. */
function withoutReturns(text: string): string {
  return text.includes('\r') ? text.replaceAll('\r', ' ') : text
}
