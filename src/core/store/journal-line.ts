/**
 * The shapes of a journal line (docs/on-disk.md, The journal): `seq TAB source_end TAB envelope` for events and line 0, and
 * `p TAB kind TAB JSON` for a private line, which has no number and is never sent to a reader.
 */
import type { EventEnvelope } from '../protocol/event.ts'
import type { CreationRecord, PrivateLine } from '../protocol/journal.ts'

export interface JournalLine {
  seq: number
  /** null for an event of the platform. */
  sourceEnd: number | null
  text: string
}

/** Where the next line goes. */
export interface JournalEnd {
  /** The number of the last line. */
  seq: number
  /** The offset up to which the worker's events file is journaled. */
  sourceEnd: number
  /** The size of all whole lines. */
  offset: number
}

/** The position of a private line's JSON. */
export interface Place {
  path: string
  offset: number
  bytes: number
}

/** A private line as read: its JSON is parsed only when it is needed. */
export interface PrivateText {
  kind: string
  text: string
}

/** The first byte of every private line; lines with a number begin with a digit. */
export const PRIVATE_MARK = 'p'

/** White space around an envelope comes from the worker and is valid: a source line that ended in CR LF ends in a space here. */
const LINE = /^(\d+)\t(-|\d+)\t([ \t]*\{.*\}[ \t]*)$/s
const PRIVATE_LINE = /^p\t([a-z_]+)\t(\{.*\})$/s

/** Parses a line without its LF; undefined where it is not a numbered line. The envelope is not parsed. */
export function parseLine(line: string): JournalLine | undefined {
  const match = LINE.exec(line)
  if (match === null) return undefined
  return {
    seq: Number(match[1]),
    sourceEnd: match[2] === '-' ? null : Number(match[2]),
    text: match[3] as string,
  }
}

/** Parses a private line without its LF; undefined where it is not one. Its JSON is not parsed. */
export function parsePrivateLine(line: string): PrivateText | undefined {
  const match = PRIVATE_LINE.exec(line)
  return match === null ? undefined : { kind: match[1] as string, text: match[2] as string }
}

export function isPrivate(line: string): boolean {
  return line.startsWith(PRIVATE_MARK)
}

/** The envelope of a line's text, or undefined where it is malformed. */
export function parseEnvelope(text: string): EventEnvelope | undefined {
  try {
    const event = JSON.parse(text) as Partial<EventEnvelope> | null
    const isWhole = typeof event?.event_type === 'string' && typeof event.data === 'object' && event.data !== null
    return isWhole && typeof event.timestamp === 'string' ? (event as EventEnvelope) : undefined
  } catch {
    return undefined
  }
}

export function prefixOf(seq: number, sourceEnd: number | null): string {
  return `${seq}\t${sourceEnd ?? '-'}\t`
}

export function privatePrefixOf(kind: string): string {
  return `${PRIVATE_MARK}\t${kind}\t`
}

/** With its LF. */
export function formatPrivateLine({ kind, ...rest }: PrivateLine): string {
  return `${privatePrefixOf(kind)}${JSON.stringify(rest)}\n`
}

export function creationLine(creation: CreationRecord): string {
  return `${prefixOf(0, null)}${JSON.stringify(creation)}\n`
}
