/**
 * A home with many instances, written as hosts write them: real journals and records, through the store. Most have ended, each in one of
 * several ways; some are paused. `node test/support/seeded-home.ts HOME COUNT` makes one by hand.
 */
import { mkdirSync } from 'node:fs'
import type { EventEnvelope } from '../../src/core/protocol/event.ts'
import type { CreationRecord } from '../../src/core/protocol/journal.ts'
import type { Status } from '../../src/core/protocol/status.ts'
import { createInstance } from '../../src/core/store/create-instance.ts'
import { instancePaths, newInstanceId, prepareHome } from '../../src/core/store/home.ts'
import { readStory } from '../../src/core/store/journal-projection.ts'
import { JournalWriter } from '../../src/core/store/journal-writer.ts'
import { writeRecord } from '../../src/core/store/record.ts'

type Step = [type: string, data: Record<string, unknown>]

const move = (from: Status, to: Status, more: Record<string, unknown> = {}): Step => [
  'platform.instance.status_changed',
  { from, to, ...more },
]
const BEGIN: Step[] = [
  move('created', 'starting'),
  ['platform.worker.launched', { incarnation: 1, executor: 'local', events_offset: 0 }],
  ['platform.worker.ready', { incarnation: 1 }],
  move('starting', 'running'),
  ['resolver:phase', { name: 'thinking' }],
  ['resolver:progress', { milestone: 'half', fraction: 0.5, label: 'half way through' }],
]
const ASKING: Step = [
  'platform.input.requested',
  { request_id: 'q', prompt: 'Go on?', schema: null, status: 'pending' },
]

/** How instances stand, and how often. */
const WAYS: { share: number; steps: Step[] }[] = [
  { share: 70, steps: [...BEGIN, move('running', 'completed', { output: 'All is well.' })] },
  {
    share: 15,
    steps: [...BEGIN, move('running', 'failed', { error: { code: 'worker_exited', detail: 'It ended.' } })],
  },
  { share: 10, steps: [...BEGIN, ASKING, move('running', 'awaiting_input'), move('awaiting_input', 'cancelled')] },
  { share: 5, steps: [...BEGIN, move('running', 'paused')] },
]
const RESOLVERS = ['hello', 'tour', 'mender'] as const
/** Between the creations of two. */
const APART_MS = 60_000
const BEGAN_AT = Date.parse('2026-01-01T00:00:00Z')

/** Adds `count` instances. Answers their ids, oldest first. */
export async function seedHome(home: string, count: number): Promise<string[]> {
  prepareHome(home)
  const ids: string[] = []
  for (let n = 0; n < count; n += 1) {
    const id = newInstanceId()
    ids.push(id)
    const at = BEGAN_AT + n * APART_MS
    await createInstance(home, creationOf(id, RESOLVERS[n % RESOLVERS.length] as string, at))
    const paths = instancePaths(home, id)
    const writer = JournalWriter.open(paths.journal)
    // Prime to a hundred: every way in its share, and none in a row.
    const entries = wayOf((n * 37) % 100).map(([type, data], index) => ({
      text: JSON.stringify(envelope(id, type, data, at + index * 1_000)),
      sourceEnd: null,
    }))
    writer.append(entries)
    writer.close()
    writeRecord(paths, readStory(paths.journal))
  }
  return ids
}

function wayOf(hundredth: number): Step[] {
  let upTo = 0
  for (const { share, steps } of WAYS) {
    upTo += share
    if (hundredth < upTo) return steps
  }
  return BEGIN
}

function envelope(id: string, type: string, data: Record<string, unknown>, at: number): EventEnvelope {
  return { schema_version: 1, event_type: type, instance_id: id, data, timestamp: new Date(at).toISOString() }
}

function creationOf(id: string, name: string, at: number): CreationRecord {
  return {
    schema: 'resolve.journal/1',
    instance_id: id,
    name: null,
    parent_id: null,
    created_at: new Date(at).toISOString(),
    input: { repository: 'https://example.com/some/where.git', task: 'Make the tests pass. '.repeat(10) },
    executor: 'local',
    environment: {},
    resolver: {
      ...{ name, version: '1.0.0', dir: `/nowhere/${name}`, commit: null },
      manifest: { name, version: '1.0.0', description: 'Was here', command: ['true'] },
    },
  }
}

if (import.meta.main) {
  const [home = '', count = '0'] = process.argv.slice(2)
  mkdirSync(home, { recursive: true })
  await seedHome(home, Number(count))
}
