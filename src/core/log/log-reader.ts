/** Reads a page of an instance's log, from any line on, without reading the lines before it. Any process may call it. */
import { closeSync } from 'node:fs'
import { LOG_PAGE_BYTES } from '../limits.ts'
import type { LogLine, LogSource } from '../protocol/log.ts'
import { headOf, olderLog, openLog, parseLogLine, readAt } from './log-file.ts'

export interface LogQuery {
  /** Only lines with a greater number. Default 0: all that are kept. */
  after?: number
  /** Only the last lines, this many. */
  tail?: number
  /** Only lines from this time on, ISO-8601 UTC. */
  since?: string
  /** Only lines of these sources. */
  sources?: readonly LogSource[]
  /** How many at most. */
  limit: number
}

interface Opened {
  fd: number
  size: number
}

const LF = 0x0a
/** Below this distance lines are read one after the other. */
const PROBE_BYTES = 64 * 1024
const CHUNK_BYTES = 256 * 1024

/** `next`: the number to continue after; lines of other sources count too. */
export function readLog(path: string, query: LogQuery): { lines: LogLine[]; next: number } {
  const files = openBoth(path)
  try {
    return read(files, query)
  } finally {
    for (const { fd } of files) closeSync(fd)
  }
}

/** The older file first. */
function openBoth(path: string): Opened[] {
  const now = openLog(path)
  const before = openLog(olderLog(path))
  // Opened in this order, a rotation in between shows the same file twice, and never loses one.
  const found = before !== undefined && before.stat.ino === now?.stat.ino ? [before] : [before, now]
  if (found.length === 1 && now !== undefined) closeSync(now.fd)
  return found.filter((one) => one !== undefined).map(({ fd, stat }) => ({ fd, size: stat.size }))
}

function read(files: readonly Opened[], query: LogQuery): { lines: LogLine[]; next: number } {
  const { since, sources, limit } = query
  const after = Math.max(query.after ?? 0, query.tail === undefined ? 0 : lastNumber(files) - query.tail)
  const isWanted = ({ n, at }: { n: number; at: string }) => n > after && (since === undefined || at >= since)
  const lines: LogLine[] = []
  let next = after
  let bytes = 0
  for (const file of files) {
    for (const text of linesFrom(file, firstWanted(file, isWanted))) {
      const line = parseLogLine(text)
      if (line === undefined || !isWanted(line) || line.n <= next) continue
      if (lines.length === limit || bytes > LOG_PAGE_BYTES) return { lines, next }
      next = line.n
      if (sources !== undefined && !sources.includes(line.source)) continue
      const { cursor: _, ...shown } = line
      lines.push(shown)
      bytes += text.length
    }
  }
  return { lines, next }
}

/** The start of a line at or before the first wanted one, and near it. Numbers and times grow from line to line. */
function firstWanted({ fd, size }: Opened, isWanted: (head: { n: number; at: string }) => boolean): number {
  let low = 0
  let high = size
  while (high - low > PROBE_BYTES) {
    const middle = low + Math.floor((high - low) / 2)
    const start = nextStart(fd, middle, high)
    const head = start === undefined ? undefined : headOf(readAt(fd, start, 128).toString('utf8'))
    if (start === undefined || head === undefined || isWanted(head)) high = middle
    else low = start
  }
  return low
}

/** The start of the first line that begins after `from` and before `to`. */
function nextStart(fd: number, from: number, to: number): number | undefined {
  for (let at = from; at < to; at += PROBE_BYTES) {
    const end = readAt(fd, at, Math.min(PROBE_BYTES, to - at)).indexOf(LF)
    if (end !== -1) return at + end + 1 < to ? at + end + 1 : undefined
  }
  return undefined
}

/** Whole lines from an offset on; what the writer appends meanwhile comes with the next page. */
function* linesFrom({ fd, size }: Opened, from: number): Generator<string> {
  let rest: Buffer = Buffer.alloc(0)
  for (let at = from; at < size; ) {
    const chunk = readAt(fd, at, Math.min(CHUNK_BYTES, size - at))
    if (chunk.length === 0) return
    at += chunk.length
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      yield bytes.toString('utf8', start, end)
      start = end + 1
    }
    rest = bytes.subarray(start)
  }
}

function lastNumber(files: readonly Opened[]): number {
  for (const file of files.toReversed()) {
    for (let bytes = PROBE_BYTES; ; bytes *= 4) {
      const from = Math.max(0, file.size - bytes)
      const numbers = [...linesFrom(file, from)].map((line) => headOf(line)?.n).filter((n) => n !== undefined)
      if (numbers.length > 0) return numbers.at(-1) as number
      if (from === 0) break
    }
  }
  return 0
}
