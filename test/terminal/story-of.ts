/** Stories of an instance as a few events tell them, for tests of what is drawn. */
import type { EventEnvelope } from '../../src/core/protocol/event.ts'
import type { CreationRecord } from '../../src/core/protocol/journal.ts'
import type { Status } from '../../src/core/protocol/status.ts'
import { applyEvent, beginStory, type Story } from '../../src/core/view/story.ts'

export const BORN = '2026-01-01T00:00:00.000Z'

type Told = [string, Record<string, unknown>]

/** Each event comes a second after the one before. */
export function storyOf(...events: Told[]): Story {
  const creation = {
    schema: 'resolve.journal/1',
    instance_id: '0123456789ab',
    name: null,
    created_at: BORN,
    input: {},
    resolver: { name: 'tour', version: '1.0.0' },
  } as unknown as CreationRecord
  const story = beginStory(creation)
  for (const [at, [event_type, data]] of events.entries()) applyEvent(story, at + 1, envelope(event_type, data, at + 1))
  return story
}

export function envelope(event_type: string, data: Record<string, unknown>, second = 0): EventEnvelope {
  const timestamp = new Date(Date.parse(BORN) + second * 1_000).toISOString()
  return { schema_version: 1, event_type, instance_id: '0123456789ab', data, timestamp }
}

export const moved = (from: Status, to: Status, more: Record<string, unknown> = {}): Told => [
  'platform.instance.status_changed',
  { from, to, ...more },
]

/** A run that stands at each of the eight statuses, with a phase, progress and artifacts where it has come that far. */
export function storyAt(status: Status): Story {
  const started: Told[] = [moved('created', 'starting'), moved('starting', 'running')]
  const working: Told[] = [
    ...started,
    ['resolver:phase', { name: 'building' }],
    ['resolver:progress', { milestone: 'roof', fraction: 0.5, label: 'Putting the roof on the lighthouse' }],
    ['resolver:artifact', { kind: 'file', value: 'building.md' }],
    ['resolver:artifact', { kind: 'summary', value: 'a lighthouse: 4 of 4 parts built, and all of them stand' }],
  ]
  const question: Told = [
    'platform.input.requested',
    { request_id: 'go', prompt: 'Build a lighthouse in 4 steps?', schema: { type: 'form', components: [] } },
  ]
  const error = { code: 'broke', detail: 'The ground gave way' }
  const way: Record<Status, Told[]> = {
    created: [],
    starting: [moved('created', 'starting')],
    running: working,
    awaiting_input: [...working, question, moved('running', 'awaiting_input')],
    paused: [...working, moved('running', 'paused')],
    completed: [...working, moved('running', 'completed', { output: 'Built a lighthouse' })],
    failed: [...working, moved('running', 'failed', { error })],
    cancelled: [...working, moved('running', 'cancelled')],
  }
  return storyOf(...way[status])
}
