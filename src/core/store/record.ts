/**
 * The record: a cache of an instance's journal for lists. If it is deleted, it is rebuilt from the journal (architecture,
 * decision 1).
 */
import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { writeWholeSync } from '../files/write-whole.ts'
import type { InstanceRecord } from '../protocol/instance.ts'
import { isStatus } from '../protocol/status.ts'
import { applyEvent, beginStory, pendingRequests, type Story } from '../view/story.ts'
import { JournalReader, readCreationRecord, readEnvelope } from './journal-reader.ts'
import { readName } from './name.ts'
import { recordAfter } from './record-tail.ts'

/** R8, without the state snapshot, which has its own file. `root` is the instance's directory, where its name is stored. */
export function toRecord(story: Story, root: string): InstanceRecord {
  const { creation } = story
  const renamed = readName(root)
  return {
    instance_id: creation.instance_id,
    name: renamed === undefined ? creation.name : renamed,
    resolver: creation.resolver.name,
    resolver_version: creation.resolver.version,
    status: story.status,
    input: creation.input,
    output: story.output,
    error: story.error,
    supports_resume: creation.resolver.manifest.supports_resume === true,
    resolver_state: null,
    phase: story.phase,
    pending_inputs: pendingRequests(story).length,
    created_at: creation.created_at,
    updated_at: story.lastEventAt,
    ended_at: story.endedAt,
    parent_id: creation.parent_id,
  }
}

/** Reduces the whole journal to its present state. Throws `journal_broken`. */
export function readStory(journal: string): Story {
  const story = beginStory(readCreationRecord(journal))
  const reader = new JournalReader(journal, 0)
  try {
    for (let lines = reader.read(); lines.length > 0; lines = reader.read()) {
      for (const line of lines) applyEvent(story, line.seq, readEnvelope(journal, line))
    }
  } finally {
    reader.close()
  }
  return story
}

/** Stores the record, and the size of the journal that it was built from. */
export function writeRecord(paths: { record: string; journal: string }, story: Story): void {
  const cached: Cached = { journal_bytes: statSync(paths.journal).size, record: toRecord(story, dirname(paths.record)) }
  writeWholeSync(paths.record, JSON.stringify(cached))
}

/**
 * The cached record, or one rebuilt from the journal where the cache is missing, damaged or out of date. Throws
 * `journal_broken`.
 */
export function readRecord(paths: { record: string; journal: string }): InstanceRecord {
  return readCached(paths) ?? toRecord(readStory(paths.journal), dirname(paths.record))
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
  // A host writes a record a moment after the journal, or never, if it is killed in between.
  return recordAfter(record, paths.journal, cached?.journal_bytes)
}
