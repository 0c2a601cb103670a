/** Updates a cached record from the lines that the journal has after it; {@link file://./record.ts} calls it. */
import { closeSync, fstatSync, openSync } from 'node:fs'
import type { InstanceRecord } from '../protocol/instance.ts'
import type { NameMark } from '../protocol/journal.ts'
import { phaseName } from '../view/story.ts'
import { isPrivate, parseEnvelope, parseLine, parsePrivateLine } from './journal-line.ts'
import { readWholeLines } from './journal-reader.ts'

const CHUNK_BYTES = 256 * 1024
const PHASE = 'resolver:phase'
/** Events of the platform that change a record in ways that only the whole story can compute. */
const CHANGES = /^platform\.(instance|input)\./

type Named = Pick<NameMark, 'name'>

/**
 * The record after the lines of the journal from offset `from` on. undefined where the whole story must be read: the lines
 * change the status or the requests, or the journal has no line at that offset.
 */
export function recordAfter(record: InstanceRecord, journal: string, from: unknown): InstanceRecord | undefined {
  if (typeof from !== 'number' || !Number.isSafeInteger(from) || from <= 0) return undefined
  const fd = openSync(journal, 'r')
  try {
    if (fstatSync(fd).size < from) return undefined
    let { name, phase, updated_at } = record
    for (let at = from; ; ) {
      const bytes = readWholeLines(fd, at, CHUNK_BYTES)
      if (bytes === undefined) return { ...record, name, phase, updated_at }
      at += bytes.length
      const texts = bytes.toString('utf8', 0, bytes.length - 1).split('\n')
      const named = nameIn(texts.filter(isPrivate), name)
      if (named === undefined) return undefined
      name = named.name
      const lines = texts.filter((text) => !isPrivate(text)).map(parseLine)
      for (const line of lines) {
        if (line === undefined) return undefined
        const isLast = line === lines.at(-1)
        // A busy resolver writes thousands of lines that do not change the record: they are not parsed.
        if (line.sourceEnd !== null && !isLast && !line.text.includes(PHASE)) continue
        const event = parseEnvelope(line.text)
        if (event === undefined || CHANGES.test(event.event_type)) return undefined
        if (event.event_type === PHASE) phase = phaseName(event.data) ?? phase
        updated_at = event.timestamp
      }
    }
  } finally {
    closeSync(fd)
  }
}

/** The last name in the private lines; undefined where one of these lines is damaged. */
function nameIn(lines: readonly string[], before: string | null): Named | undefined {
  const parsed = lines.map(parsePrivateLine)
  // Only the whole story tells whether a stop is still under way.
  if (parsed.some((line) => line === undefined || line.kind === 'stop')) return undefined
  const last = parsed.findLast((line) => line?.kind === 'name')
  return last === undefined ? { name: before } : parseName(last.text)
}

function parseName(text: string): Named | undefined {
  try {
    const { name } = JSON.parse(text) as Partial<NameMark>
    return typeof name === 'string' || name === null ? { name } : undefined
  } catch {
    return undefined
  }
}
