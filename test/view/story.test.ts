import { expect, test } from 'vitest'
import type { CreationRecord } from '../../src/core/protocol/journal.ts'
import { applyEvent, beginStory, pendingRequests } from '../../src/core/view/story.ts'

const creation = { instance_id: '0123456789ab', created_at: '2026-01-01T00:00:00.000Z' } as unknown as CreationRecord

function told(...events: [string, Record<string, unknown>][]) {
  const story = beginStory(creation)
  for (const [index, [event_type, data]] of events.entries()) {
    const timestamp = `2026-01-01T00:00:0${index + 1}.000Z`
    applyEvent(story, index + 1, { schema_version: 1, event_type, instance_id: creation.instance_id, data, timestamp })
  }
  return story
}

const move = (from: string, to: string, more = {}): [string, Record<string, unknown>] => [
  'platform.instance.status_changed',
  { from, to, ...more },
]

// verifies: S-RULE-05 S-EVT-06 S-EVT-07 S-EVT-08
test('phases, progress, artifacts and changed data come from their events (R18, R19)', () => {
  const story = told(
    ['resolver:phase', { name: 'plan' }],
    ['resolver:phase', { phase: 'build', previous_phase: 'plan' }],
    ['resolver:progress', { milestone: 'half', fraction: 7 }],
    ['resolver:progress', { milestone: 'unsure', fraction: null, label: 'Working' }],
    ['resolver:artifact', { kind: 'pr', value: 'https://x', metadata: { n: 1 } }],
    ['mine.data_changed', { paths: ['a', 'b', 3] }],
    ['mine.data_changed', { paths: ['a'] }],
  )
  expect(story).toMatchObject({
    phase: 'build',
    progress: { milestone: 'unsure', fraction: null, label: 'Working' },
    artifacts: [{ kind: 'pr', value: 'https://x', metadata: { n: 1 } }],
    changedData: ['b', 'a'],
    lastSeq: 7,
  })
  expect(story.phases.map((phase) => phase.name)).toEqual(['plan', 'build'])
})

test('a request is pending until it is answered or cancelled (R25, R28)', () => {
  const asked: [string, Record<string, unknown>] = [
    'platform.input.requested',
    { request_id: 'a', prompt: '?', schema: {} },
  ]
  const answered: [string, Record<string, unknown>] = [
    'platform.input.answered',
    { request_id: 'a', actor: 'me', via: 'cli' },
  ]
  expect(pendingRequests(told(asked)).map((request) => request.id)).toEqual(['a'])
  expect(told(asked, answered).requests).toMatchObject([{ status: 'answered', actor: 'me', via: 'cli' }])
  expect(told(asked, move('awaiting_input', 'cancelled')).requests).toMatchObject([{ status: 'cancelled' }])
  expect(told(asked, answered, move('running', 'completed')).requests).toMatchObject([{ status: 'answered' }])
})

test('a resume asks for the next worker and clears the result of the run before (R24)', () => {
  const story = told(
    move('created', 'starting'),
    ['platform.worker.launched', { incarnation: 1 }],
    move('starting', 'running'),
    ['resolver:completed', { outcome: 'success', summary: 'paused here' }],
    move('running', 'paused', { output: 'paused here', error: null }),
    move('paused', 'running'),
  )
  expect(story).toMatchObject({
    status: 'running',
    incarnation: 1,
    wantedIncarnation: 2,
    completion: null,
    output: null,
  })
})

test('malformed payloads change nothing and throw nothing', () => {
  for (const data of [
    {},
    { name: 3 },
    { to: 'nowhere' },
    { paths: 'x' },
    { request_id: null },
    { fraction: Number.NaN },
  ]) {
    const types = ['resolver:phase', 'platform.instance.status_changed', 'x.data_changed', 'platform.input.requested']
    const story = told(...types.map((type): [string, Record<string, unknown>] => [type, data]))
    expect(story).toMatchObject({ status: 'created', phase: null, requests: [], changedData: [] })
  }
})
