/** The verdict of an agent: from its file, from an object in its reply, or from its silence. */
import { expect, test } from 'vitest'
import { outcomeOf } from '../../src/pipeline/engine/outcome.ts'

const said = (reply: string, more: { statusFile?: string; needsVerdict?: boolean } = {}) =>
  outcomeOf({ reply, statusFile: more.statusFile, needsVerdict: more.needsVerdict ?? false })

test.each([
  ['{"outcome":"success"}', { status: 'success' }],
  ['{"status":"fail","failure_reason":"Red."}', { status: 'fail', failure_reason: 'Red.' }],
  ['{"outcome":"FAILED","notes":"Why."}', { status: 'fail', notes: 'Why.', failure_reason: 'Why.' }],
  ['{"outcome":"retry"}', { status: 'retry' }],
  ['{"outcome":"approve"}', { status: 'success', preferred_label: 'approve' }],
  [
    '{"outcome":"success","preferred_label":"go","suggested_next_ids":["b",1],"context_updates":{"x":1}}',
    { status: 'success', preferred_label: 'go', suggested_next_ids: ['b'], context_updates: { x: 1 } },
  ],
])('status.json %s', (statusFile, outcome) => {
  expect(said('It went wrong, {"outcome":"fail"}', { statusFile })).toEqual(outcome)
})

test.each(['', '{', '[]', '"success"', '{"result":"success"}', '{"outcome":1}'])(
  'a malformed status.json fails: %j',
  (statusFile) => {
    expect(said('{"outcome":"success"}', { statusFile })).toMatchObject({
      status: 'fail',
      failure_reason: expect.stringContaining('status.json'),
    })
  },
)

test.each([
  ['{"outcome":"fail"}', 'fail'],
  ['All done.\n```json\n{"outcome": "partial_success"}\n```\nBye', 'partial_success'],
  ['I think:\n{"status": "retry", "context_updates": {"a": {"b": 1}}}\n', 'retry'],
  ['first {"outcome":"fail"} then {"outcome":"success"}', 'success'],
  ['```json\n{"outcome":"fail"}\n```\nand then ```json\n{"outcome":"success"}\n```', 'success'],
  ['An example is {"name": 1}.', 'success'],
  ['plain words', 'success'],
  ['', 'success'],
])('reply %j: %s', (reply, status) => {
  expect(said(reply)).toMatchObject({ status })
})

test('plain words satisfy no goal gate; a verdict does', () => {
  expect(said('All tests pass!', { needsVerdict: true })).toMatchObject({ status: 'retry' })
  expect(said('{"a":1}', { needsVerdict: true })).toMatchObject({ status: 'retry' })
  expect(said('{"outcome":"success"}', { needsVerdict: true })).toEqual({ status: 'success' })
})

test('deep braces are read without a throw', () => {
  expect(said(`${'{'.repeat(50_000)}${'}'.repeat(50_000)}`)).toEqual({ status: 'success' })
  expect(said('}'.repeat(100_000))).toEqual({ status: 'success' })
})
