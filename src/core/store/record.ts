/** The record: a cache of what the journal says, for lists. Deleted, it is rebuilt from the journal (plan, decision 1). */
import { readFileSync } from 'node:fs'
import { writeWholeSync } from '../files/write-whole.ts'
import type { EventEnvelope } from '../protocol/event.ts'
import type { InstanceRecord } from '../protocol/instance.ts'
import { beginStory, pendingRequests, type Story, tell } from '../view/story.ts'
import { JournalReader, readBirth } from './journal-reader.ts'

/** R8, without the state snapshot, which is read from its own file. */
export function toRecord(story: Story): InstanceRecord {
  const { birth } = story
  return {
    instance_id: birth.instance_id,
    name: birth.name,
    resolver: birth.resolver.name,
    resolver_version: birth.resolver.version,
    status: story.status,
    input: birth.input,
    output: story.output,
    error: story.error,
    supports_resume: birth.resolver.manifest.supports_resume === true,
    resolver_state: null,
    phase: story.phase,
    pending_inputs: pendingRequests(story).length,
    created_at: birth.created_at,
    updated_at: story.lastEventAt,
    ended_at: story.endedAt,
    parent_id: birth.parent_id,
  }
}

/** The whole story of a journal up to now. Throws `journal_broken`. */
export function readStory(journal: string): Story {
  const story = beginStory(readBirth(journal))
  const reader = new JournalReader(journal, 0)
  try {
    for (let lines = reader.read(); lines.length > 0; lines = reader.read()) {
      for (const line of lines) tell(story, line.seq, JSON.parse(line.text) as EventEnvelope)
    }
  } finally {
    reader.close()
  }
  return story
}

export function writeRecord(path: string, story: Story): void {
  writeWholeSync(path, JSON.stringify(toRecord(story)))
}

/** The cached record; rebuilt from the journal where there is none or it cannot be read. */
export function readRecord(paths: { record: string; journal: string }): InstanceRecord {
  try {
    return JSON.parse(readFileSync(paths.record, 'utf8')) as InstanceRecord
  } catch {
    return toRecord(readStory(paths.journal))
  }
}
