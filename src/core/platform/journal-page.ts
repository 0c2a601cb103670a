/** Turns raw lines of a journal into frames of the event stream, without parsing what they hold (R15, plan, decision 1). */
import { fail } from '../errors.ts'
import { isStatus, isTerminal } from '../protocol/status.ts'

/** A stretch of a journal as it goes over the wire. */
export interface Page {
  /** `id: SEQ\ndata: ENVELOPE\n\n` for each line, envelopes byte for byte as they stand in the journal. Shared: never written to. */
  frames: Buffer
  /** The offset of the first line after these. */
  next: number
  /** The number of the last line in it. */
  lastSeq: number
  /** How many lines are in it. */
  count: number
  /** Whether it ends with the move into a final status. Nothing is shown after that. */
  isFinal: boolean
}

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const NEWLINE = Buffer.from('\n')
const MOVE = Buffer.from('"platform.instance.status_changed"')

/** `bytes` are whole lines, found at `offset`; they are the page's own from here on. Throws `journal_broken`. */
export function formatPage(path: string, bytes: Buffer, offset: number): Page {
  clearReturns(bytes)
  const parts: Buffer[] = []
  let lastSeq = 0
  let count = 0
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(LF, start)
    const afterSeq = bytes.indexOf(TAB, start)
    const afterSource = bytes.indexOf(TAB, afterSeq + 1)
    const seq = afterSeq > start ? bytes.toString('latin1', start, afterSeq) : ''
    if (!/^\d+$/.test(seq) || afterSource === -1 || afterSource > end) {
      throw fail('journal_broken', { path, reason: `what stands at byte ${offset + start} is not a line of it` })
    }
    lastSeq = Number(seq)
    count += 1
    parts.push(Buffer.from(`id: ${seq}\ndata: `, 'latin1'), bytes.subarray(afterSource + 1, end + 1), NEWLINE)
    start = end + 1
    const isOfPlatform = afterSource === afterSeq + 2 && bytes[afterSeq + 1] === 0x2d
    if (isOfPlatform && isFinalMove(bytes.subarray(afterSource + 1, end))) {
      return { frames: Buffer.concat(parts), next: offset + start, lastSeq, count, isFinal: true }
    }
  }
  return { frames: Buffer.concat(parts), next: offset + bytes.length, lastSeq, count, isFinal: false }
}

/** Host and journal let no raw CR through; one all the same would cut a frame in two (threats WEB-10). */
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
