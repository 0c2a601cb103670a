/** Updates a cached record from the lines that the journal has after it; {@link file://./record.ts} calls it. */
import { closeSync, fstatSync, openSync } from 'node:fs'
import { isObject } from '../primitives/is-object.ts'
import type { InstanceRecord } from '../protocol/instance.ts'
import type { LabelsMark, NameMark } from '../protocol/journal.ts'
import { phaseName, progressIn } from '../view/story.ts'
import { isPrivate, parseEnvelope, parseLine, parsePrivateLine } from './journal-line.ts'
import { readWholeLines } from './journal-reader.ts'

const CHUNK_BYTES = 256 * 1024
const PHASE = 'resolver:phase'
const PROGRESS = 'resolver:progress'
/** Events of the platform that change a record in ways that only the whole story can compute. */
const CHANGES = /^platform\.(instance|input|resolver)\./

/** What people call it. */
type Naming = Pick<InstanceRecord, 'name' | 'labels'>

/** A record, and the size of the part of the journal that it tells. */
export interface PlacedRecord {
  journal_bytes: number
  record: InstanceRecord
}

/**
 * The record after the lines of the journal from offset `from` on; pauses after each part. undefined where the whole story must be read:
 * the lines change the status or the requests, or the journal has no line at that offset.
 */
export function* recordAfter(
  record: InstanceRecord,
  journal: string,
  from: unknown,
): Generator<void, PlacedRecord | undefined> {
  if (typeof from !== 'number' || !Number.isSafeInteger(from) || from <= 0) return undefined
  const fd = openSync(journal, 'r')
  try {
    if (fstatSync(fd).size < from) return undefined
    let { phase, progress = null, updated_at } = record
    let naming: Naming = { name: record.name, ...(record.labels === undefined ? {} : { labels: record.labels }) }
    for (let at = from; ; ) {
      const bytes = readWholeLines(fd, at, CHUNK_BYTES, journal)
      if (bytes === undefined)
        return { journal_bytes: at, record: { ...record, ...naming, phase, progress, updated_at } }
      at += bytes.length
      const texts = bytes.toString('utf8', 0, bytes.length - 1).split('\n')
      const named = namingIn(texts.filter(isPrivate), naming)
      if (named === undefined) return undefined
      naming = named
      const lines = texts.filter((text) => !isPrivate(text)).map(parseLine)
      for (const line of lines) {
        if (line === undefined) return undefined
        const isLast = line === lines.at(-1)
        // A busy resolver writes thousands of lines that do not change the record: they are not parsed.
        if (line.sourceEnd !== null && !isLast && !line.text.includes(PHASE) && !line.text.includes(PROGRESS)) continue
        const event = parseEnvelope(line.text)
        if (event === undefined || CHANGES.test(event.event_type)) return undefined
        if (event.event_type === PHASE) phase = phaseName(event.data) ?? phase
        if (event.event_type === PROGRESS) progress = progressIn(event.data, event.timestamp)
        updated_at = event.timestamp
      }
      yield
    }
  } finally {
    closeSync(fd)
  }
}

/** With the last name and the last labels in the private lines; undefined where one of these lines is damaged. */
function namingIn(lines: readonly string[], before: Naming): Naming | undefined {
  let now: Naming | undefined = before
  for (const line of lines.map(parsePrivateLine)) {
    // Only the whole story tells whether a stop is still under way.
    if (line === undefined || now === undefined || line.kind === 'stop') return undefined
    if (line.kind === 'name' || line.kind === 'labels') now = renamed(now, line.kind, line.text)
  }
  return now
}

function renamed(before: Naming, kind: 'name' | 'labels', text: string): Naming | undefined {
  try {
    const { name, labels } = JSON.parse(text) as Partial<NameMark & LabelsMark>
    if (kind === 'labels') return isObject(labels) ? { ...before, labels } : undefined
    return typeof name === 'string' || name === null ? { ...before, name } : undefined
  } catch {
    return undefined
  }
}
