/** The decision table of verdicts, row by row (docs/reality-check.md, Verdict and failure mode). */
import { expect, test } from 'vitest'
import type { TestResult } from '../../src/core/protocol/check/reality-check.ts'
import { decide, type Ending, exitCodeOfCheck, summaryOf } from '../../src/core/reality-check/verdict/verdict.ts'

const of = (
  status: TestResult['status'],
  mode: TestResult['mode'] = status === 'failed' ? 'software' : null,
): TestResult => ({
  ...{ id: '00000000', test: 'a', validator: 'http', status, evidence: [], screenshots: [], observations: [] },
  ...{ trace: null, reason: null, mode, duration_ms: 1 },
})
const [passed, failed, noModel, noBrowser] = [
  of('passed'),
  of('failed'),
  of('missing', 'config'),
  of('missing', 'infrastructure'),
]
const end = (mode: Ending['mode'], stage: Ending['stage'] = 'tests'): Ending => ({ mode, stage, error: 'Why' })

test.each<[TestResult[], Ending | null, unknown[]]>([
  [[passed, passed], null, ['pass', null, 'completed', 0]],
  [[passed, failed], null, ['partial', 'software', 'completed', 11]],
  [[failed, failed], null, ['fail', 'software', 'completed', 1]],
  [[failed, noModel], null, ['fail', 'software', 'completed', 1]],
  [[passed, noModel], null, ['partial', 'config', 'completed', 11]],
  [[passed, noBrowser], null, ['partial', 'infrastructure', 'completed', 11]],
  [[noModel], null, [null, 'config', 'failed', 2]],
  [[noBrowser], null, [null, 'infrastructure', 'failed', 10]],
  [[], null, [null, 'config', 'failed', 2]],
  [[], end('software', 'build'), ['fail', 'software', 'completed', 1]],
  [[passed], end('software'), ['partial', 'software', 'completed', 11]],
  [[], end('config', 'plan'), [null, 'config', 'failed', 2]],
  [[], end('infrastructure', 'clone'), [null, 'infrastructure', 'failed', 10]],
  [[], end('timeout', 'build'), [null, 'timeout', 'failed', 124]],
  [[passed, of('missing', 'timeout')], end('timeout'), ['partial', 'timeout', 'completed', 11]],
  [[passed, passed], end('infrastructure'), ['partial', 'infrastructure', 'completed', 11]],
  [[failed, of('missing', 'timeout')], end('timeout'), ['fail', 'software', 'completed', 1]],
  [[passed, failed], end('cancelled'), [null, 'cancelled', 'cancelled', 3]],
])('row %#', (results, ending, wanted) => {
  const decision = decide(results, ending)
  expect([decision.verdict, decision.mode, decision.status, exitCodeOfCheck(decision)]).toEqual(wanted)
  // The two sides of the table.
  expect(decision.verdict === 'pass').toBe(decision.mode === null)
  expect(decision.verdict === null).toBe(decision.status !== 'completed')
  expect(summaryOf(decision, results, ending)).not.toBe('')
})
