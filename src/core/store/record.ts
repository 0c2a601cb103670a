/**
 * The record: a cache of an instance's journal for lists. If it is deleted, it is rebuilt from the journal (docs/on-disk.md,
 * The journal).
 */
import { readFileSync, statSync } from 'node:fs'
import { writeWholeSync } from '../files/write-whole.ts'
import type { InstanceRecord } from '../protocol/instance.ts'
import { isStatus } from '../protocol/status.ts'
import { pendingRequests, type Story } from '../view/story.ts'
import { readStory } from './journal-projection.ts'
import { recordAfter } from './record-tail.ts'

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
    sessions_used: story.sessionsUsed ?? 0,
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
export function readRecord(paths: { record: string; journal: string }): InstanceRecord {
  return readCached(paths) ?? toRecord(readStory(paths.journal))
}

interface Cached {
  journal_bytes: number
  record: InstanceRecord
}

function readCached(paths: { record: string; journal: string }): InstanceRecord | undefined {
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
  const journal = statSync(paths.journal, { throwIfNoEntry: false })
  if (journal === undefined || journal.size === cached?.journal_bytes) return record
  // A directory or a FIFO in its place cannot be read from an offset; reading the story says what is wrong.
  if (!journal.isFile()) return undefined
  // A host writes the record slightly after the journal, or not at all if it is killed in between.
  return recordAfter(record, paths.journal, cached?.journal_bytes)
}
