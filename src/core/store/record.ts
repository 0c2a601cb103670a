/**
 * The record: a cache of an instance's journal for lists. If it is deleted, it is rebuilt from the journal (docs/on-disk.md,
 * The journal).
 */
import { readFileSync, statSync } from 'node:fs'
import { writeWholeSync } from '../files/write-whole.ts'
import { READ_SLICE_MS, RECORD_KEPT_MIN_BYTES, RECORDS_KEPT_MAX } from '../limits.ts'
import { atOnce, inTurns } from '../primitives/in-turns.ts'
import type { InstanceRecord } from '../protocol/instance.ts'
import { isStatus } from '../protocol/status.ts'
import { spendingOf } from '../view/spending.ts'
import { pendingRequests, type Story } from '../view/story.ts'
import { JournalProjector, readStory } from './journal-projection.ts'
import { type PlacedRecord, recordAfter } from './record-tail.ts'

/** R8, without the state snapshot, which is read from its own file. */
export function toRecord(story: Story): InstanceRecord {
  const { creation } = story
  const change = story.history.at(-1)
  return {
    instance_id: creation.instance_id,
    name: creation.name,
    resolver: creation.resolver.name,
    resolver_version: creation.resolver.version,
    status: story.status,
    ...(typeof change?.reason === 'string' ? { reason: change.reason } : {}),
    ...(story.stop === undefined ? {} : { stop: story.stop }),
    ...(change?.forced === true ? { forced: true } : {}),
    input: creation.input,
    ...(creation.secret_fields === undefined ? {} : { secret_fields: creation.secret_fields }),
    output: story.output,
    error: story.error,
    supports_resume: creation.resolver.manifest.supports_resume === true,
    resolver_state: null,
    phase: story.phase,
    progress: story.progress,
    sessions_used: story.sessionsUsed ?? 0,
    ...spendingOf(story),
    pending_inputs: pendingRequests(story).length,
    created_at: creation.created_at,
    updated_at: story.lastEventAt,
    ended_at: story.endedAt,
    parent_id: creation.parent_id,
    labels: creation.labels ?? {},
    schedule: creation.schedule ?? null,
    queue: story.queue ?? null,
  }
}

/** Stores the record, and the size of the journal that it was built from. */
export function writeRecord(paths: { record: string; journal: string }, story: Story): void {
  const cached: Cached = { journal_bytes: statSync(paths.journal).size, record: toRecord(story) }
  writeWholeSync(paths.record, JSON.stringify(cached))
}

/**
 * The cached record, or one rebuilt from the journal where the cache is missing, damaged or out of date. Throws
 * `journal_broken`.
 */
export function readRecord(paths: RecordPaths): InstanceRecord {
  return atOnce(reading(paths))
}

/** The record as it was last stored, for an instance whose journal can't be read; undefined where there is none. */
export function lastRecord(paths: RecordPaths): InstanceRecord | undefined {
  return readCached(paths)?.record
}

/** As {@link readRecord}, and the event loop serves others where a long journal must be read. */
export async function readRecordInTurns(paths: RecordPaths): Promise<InstanceRecord> {
  return await inTurns(reading(paths), READ_SLICE_MS)
}

type RecordPaths = Readonly<{ record: string; journal: string }>
type Cached = PlacedRecord

/** Records that were read from long journals by this process, which may not write them; the one that was read last is the last. */
const kept = new Map<string, Cached & { ino: number }>()

function* reading(paths: RecordPaths): Generator<void, InstanceRecord> {
  const cached = readCached(paths)
  const journal = statSync(paths.journal, { throwIfNoEntry: false })
  if (cached !== undefined && (journal === undefined || journal.size === cached.journal_bytes)) return cached.record
  // A directory or a FIFO in its place cannot be read from an offset; reading the story says what is wrong.
  if (journal?.isFile() !== true) return toRecord(readStory(paths.journal))
  const own = kept.get(paths.journal)
  const isOwn = own?.ino === journal.ino && own.journal_bytes <= journal.size
  const from = isOwn && !(Number(cached?.journal_bytes) > own.journal_bytes) ? own : cached
  // A host writes the record slightly after the journal, or not at all if it is killed in between.
  const after = from === undefined ? undefined : yield* recordAfter(from.record, paths.journal, from.journal_bytes)
  const now = after ?? (yield* wholeRecord(paths.journal))
  const readBytes = now.journal_bytes - (after === undefined ? 0 : Number(from?.journal_bytes))
  if (readBytes >= RECORD_KEPT_MIN_BYTES) keep(paths.journal, { ...now, ino: journal.ino })
  return now.record
}

function* wholeRecord(journal: string): Generator<void, Cached> {
  const projector = new JournalProjector(journal)
  yield* projector.catchUp()
  return { journal_bytes: projector.end.offset, record: toRecord(projector.projection().story) }
}

function keep(journal: string, record: Cached & { ino: number }): void {
  kept.delete(journal)
  const [oldest] = kept.keys()
  if (kept.size >= RECORDS_KEPT_MAX && oldest !== undefined) kept.delete(oldest)
  kept.set(journal, record)
}

function readCached(paths: RecordPaths): Cached | undefined {
  let cached: Partial<Cached> | null
  try {
    cached = JSON.parse(readFileSync(paths.record, 'utf8')) as Partial<Cached> | null
  } catch {
    return undefined
  }
  const record = cached?.record
  if (!isStatus(record?.status) || typeof record?.instance_id !== 'string' || typeof record.created_at !== 'string') {
    return undefined
  }
  return cached as Cached
}
