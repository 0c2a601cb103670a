/** The result of a check as JUnit XML, which CI servers read: failed is a failure, missing is an error, never skipped (docs/reality-check.md, Reports). Pure. */
import type { CheckResult, TestResult } from '../../protocol/reality-check.ts'

const TEXT_MAX_CHARS = 2_048

export function junitOf(result: CheckResult, { name }: { name: string }): string {
  const { passed, failures, missing, statistics, durations, log_tail: log } = result.report
  const tests = [...passed, ...failures, ...missing]
  const cases = tests.length === 0 ? [noVerdict(result)] : tests.map(caseOf)
  const errors = tests.length === 0 && result.verdict !== 'pass' ? 1 : statistics.missing
  const seconds = Object.values(durations)
    .reduce((sum, one) => sum + one, 0)
    .toFixed(3)
  const counts = `tests="${cases.length}" failures="${statistics.failed}" errors="${errors}" time="${seconds}"`
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${attribute(name)}" ${counts}>`,
    `  <testsuite name="${attribute(name)}" ${counts} skipped="0">`,
    ...cases,
    `    <system-out>${content(log)}</system-out>`,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function caseOf({ id, test, status, reason, evidence, duration_ms: ms, validator }: TestResult): string {
  const head = `    <testcase name="${attribute(`${test} (${id})`)}" classname="reality-check.${validator}" time="${(ms / 1_000).toFixed(3)}"`
  if (status === 'passed') return `${head}/>`
  const kind = status === 'failed' ? 'failure' : 'error'
  const text = content([reason ?? '', ...evidence].join('\n'))
  return `${head}><${kind} message="${attribute(reason ?? status)}" type="${status}">${text}</${kind}></testcase>`
}

/** A check that judged nothing must not look like a suite without faults. */
function noVerdict({ verdict, failure_mode: mode, report }: CheckResult): string {
  const head = '    <testcase name="reality check" classname="reality-check" time="0"'
  if (verdict === 'pass') return `${head}/>`
  const kind = verdict === 'fail' ? 'failure' : 'error'
  return `${head}><${kind} message="${attribute(report.summary)}" type="${mode ?? 'missing'}">${content(report.log_tail)}</${kind}></testcase>`
}

function attribute(text: string): string {
  return content(text).replace(/[\t\n\r]+/g, ' ')
}

/** XML 1.0 has no place for most control characters, not even escaped. */
function content(text: string): string {
  return text
    .slice(0, TEXT_MAX_CHARS)
    .toWellFormed()
    .replace(/[^\t\n\r\u{20}-\u{7e}\u{85}\u{a0}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, '\u{fffd}')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
}
