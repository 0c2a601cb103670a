/** Formats and parses a journal line: `seq TAB source_end TAB envelope` (architecture, decision 1). */
import type { EventEnvelope } from '../protocol/event.ts'
import type { CreationRecord } from '../protocol/journal.ts'

export interface JournalLine {
  seq: number
  /** null for an event of the platform. */
  sourceEnd: number | null
  text: string
}

/** The worker's white space around an envelope is kept and valid: a source line that ended in CR LF ends in a space here. */
const LINE = /^(\d+)\t(-|\d+)\t([ \t]*\{.*\}[ \t]*)$/s

/** Parses a line without its LF; undefined where it is malformed. The envelope is not parsed. */
export function parseLine(line: string): JournalLine | undefined {
  const match = LINE.exec(line)
  if (match === null) return undefined
  return {
    seq: Number(match[1]),
    sourceEnd: match[2] === '-' ? null : Number(match[2]),
    text: match[3] as string,
  }
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

export function creationLine(creation: CreationRecord): string {
  return `${prefixOf(0, null)}${JSON.stringify(creation)}\n`
}
