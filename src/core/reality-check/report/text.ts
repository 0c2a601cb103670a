/** The result of a check as lines for a terminal. What checked software said stands in them without control characters. Pure. */
import type { CheckResult, TestResult } from '../../protocol/reality-check.ts'
import { cut } from '../expectation/told.ts'

const SIGNS = { passed: '✓', failed: '✗', missing: '?' } as const
const LOG_LINES = 20
const LINE_MAX_CHARS = 300

export function textOf({ verdict, failure_mode: mode, report }: CheckResult): string[] {
  const { passed, failures, missing, log_tail: log, summary } = report
  const lines = [...passed, ...failures, ...missing].flatMap(testLines)
  const told =
    verdict === null ? `no verdict (${mode})` : mode === null || mode === 'software' ? verdict : `${verdict} (${mode})`
  lines.push(`${told}: ${cut(summary, LINE_MAX_CHARS)}`)
  if (verdict === 'pass' || log.trim() === '') return lines
  const last = log.trimEnd().split('\n').slice(-LOG_LINES)
  return [...lines, 'The last that was printed:', ...last.map((line) => `  ${cut(line, LINE_MAX_CHARS)}`)]
}

function testLines({ test, status, reason }: TestResult): string[] {
  const first = `${SIGNS[status]} ${cut(test, LINE_MAX_CHARS)}`
  return reason === null ? [first] : [first, `    ${cut(reason, LINE_MAX_CHARS)}`]
}
