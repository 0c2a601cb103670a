/**
 * Formats raw journal lines as frames of the event stream, without parsing their envelopes, and leaves private lines out
 * (R15).
 */
import { fail } from '../../errors.ts'
import { isStatus, isTerminal } from '../../protocol/status.ts'
import { PRIVATE_MARK } from '../../store/journal-line.ts'

/** A part of a journal, formatted for the event stream. */
export interface Page {
  /** `id: SEQ\ndata: ENVELOPE\n\n` for each line, with the envelope's bytes unchanged. Shared by readers: never modified. */
  frames: Buffer
  /** The offset after these lines. */
  next: number
  /** The number of its last event. */
  lastSeq: number
  /** The number of its events; 0 where there were only private lines. */
  count: number
  /** Whether its last event is the move to a final status. No event is shown after that. */
  isFinal: boolean
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const DASH = 0x2d
const PRIVATE = PRIVATE_MARK.charCodeAt(0)
const [ZERO, NINE] = [0x30, 0x39]
const ID = Buffer.from('id: ')
const DATA = Buffer.from('\ndata: ')
/** How much longer a frame can be than its line: two field names and one LF more, two TABs less. */
const GROWTH = ID.length + DATA.length + 1 - 2
const MOVE = Buffer.from('"platform.instance.status_changed"')

/**
 * `bytes` are whole lines, found at `offset`; they are the page's own from here on. Throws `journal_broken`.
 * A replay is as fast as this is: it copies each envelope once and makes nothing for a line.
 */
export function formatPage(path: string, bytes: Buffer, offset: number): Page {
  clearReturns(bytes)
  const frames = Buffer.allocUnsafe(bytes.length + countLines(bytes) * GROWTH)
  let size = 0
  let lastSeq = 0
  let count = 0
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(LF, start)
    if (bytes[start] === PRIVATE) {
      start = end + 1
      continue
    }
    const afterSeq = endOfNumber(bytes, start)
    let afterSource = afterSeq + 1
    while (afterSource < end && bytes[afterSource] !== TAB) afterSource += 1
    if (afterSeq === start || bytes[afterSeq] !== TAB || afterSource >= end) {
      throw fail('journal_broken', { path, reason: `there is no valid line at byte ${offset + start}` })
    }
    size = put(frames, size, ID, 0, ID.length)
    size = put(frames, size, bytes, start, afterSeq)
    size = put(frames, size, DATA, 0, DATA.length)
    size += bytes.copy(frames, size, afterSource + 1, end + 1)
    frames[size] = LF
    size += 1
    lastSeq = numberIn(bytes, start, afterSeq)
    count += 1
    start = end + 1
    const isOfPlatform = afterSource === afterSeq + 2 && bytes[afterSeq + 1] === DASH
    if (isOfPlatform && isFinalMove(bytes.subarray(afterSource + 1, end))) {
      return { frames: frames.subarray(0, size), next: offset + start, lastSeq, count, isFinal: true }
    }
  }
  return { frames: frames.subarray(0, size), next: offset + bytes.length, lastSeq, count, isFinal: false }
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) lines += 1
  return lines
}

function endOfNumber(bytes: Buffer, start: number): number {
  let at = start
  for (let digit = bytes[at] ?? 0; digit >= ZERO && digit <= NINE; digit = bytes[at] ?? 0) at += 1
  return at
}

function numberIn(bytes: Buffer, start: number, end: number): number {
  let number = 0
  for (let at = start; at < end; at += 1) number = number * 10 + (bytes[at] as number) - ZERO
  return number
}

/** Copies a few bytes faster than a call would. Returns the next position. */
function put(to: Buffer, at: number, from: Buffer, start: number, end: number): number {
  for (let next = start; next < end; next += 1) to[at + next - start] = from[next] as number
  return at + end - start
}

/** Host and journal write no raw CR, which would split a frame in two (threats WEB-10). */
function clearReturns(bytes: Buffer): void {
  for (let at = bytes.indexOf(CR); at !== -1; at = bytes.indexOf(CR, at + 1)) bytes[at] = SPACE
}

function isFinalMove(text: Buffer): boolean {
  if (!text.includes(MOVE)) return false
  try {
    const event = JSON.parse(text.toString('utf8')) as { event_type?: unknown; data?: { to?: unknown } }
    const to = event.data?.to
    return event.event_type === 'platform.instance.status_changed' && isStatus(to) && isTerminal(to)
  } catch {
    return false
  }
}
