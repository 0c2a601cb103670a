/** The result of a reality check as JUnit XML, for CI servers. Called by the command line and when a check writes its files. */

import { CHECK_REPORT_LOG_MAX_BYTES } from '../../limits.ts'
import type { CheckResult, TestResult } from '../../protocol/check/reality-check.ts'
import { evidenceOf, fitEnd, fitLine, fitText } from './outside-text.ts'
import { VERDICT_WORDS, verdictKey } from './words.ts'

interface Fault {
  tag: 'failure' | 'error'
  type: string
  message: string
  text: string
}

/**
 * A missing test is an error and never skipped: CI servers count skipped tests as good. A check that did not pass always has a
 * test case that says so, also where the software could not be built and no test was judged.
 */
export function junitOf(result: CheckResult, { name }: { name: string }): string {
  const { passed, failures, missing, log_tail } = result.report
  const suite = fitLine(name) || 'reality check'
  const whole = faultOfCheck(result)
  const faults = [...failures, ...missing].map((test) => ({ test, fault: faultOf(test) }))
  const cases = [
    ...(whole === null ? [] : [testCase(suite, 'The check reached a verdict', 0, whole)]),
    ...faults.map(({ test, fault }) => testCase(suite, titleOf(test), test.duration_ms, fault)),
    ...passed.map((test) => testCase(suite, titleOf(test), test.duration_ms, null)),
  ]
  const all = [...(whole === null ? [] : [whole]), ...faults.map(({ fault }) => fault)]
  const countOf = (tag: Fault['tag']) => all.filter((one) => one.tag === tag).length
  const time = [...passed, ...failures, ...missing].reduce((sum, { duration_ms }) => sum + millis(duration_ms), 0)
  const counts = `tests="${cases.length}" failures="${countOf('failure')}" errors="${countOf('error')}" time="${seconds(time)}"`
  const log = fitEnd(log_tail, CHECK_REPORT_LOG_MAX_BYTES)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escaped(suite)}" ${counts}>`,
    `  <testsuite name="${escaped(suite)}" ${counts} skipped="0">`,
    ...cases,
    ...(log === '' ? [] : [`    <system-out>${escaped(log)}</system-out>`]),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

/** null where the tests say everything. */
function faultOfCheck(result: CheckResult): Fault | null {
  const { report, verdict, failure_mode } = result
  const type = failure_mode ?? 'unknown'
  const why = result.error ?? report.summary
  const words = `${VERDICT_WORDS[verdictKey(result)]}: ${fitLine(why)}`
  const text = `${fitText(why)}\nended at: ${report.stage}`
  if (verdict === null) return { tag: 'error', type, message: words, text }
  const isTold = verdict === 'pass' || report.failures.length + report.missing.length > 0
  return isTold ? null : { tag: 'failure', type, message: words, text }
}

function faultOf(test: TestResult): Fault {
  const isMissing = test.status === 'missing'
  const reason = test.reason ?? (isMissing ? 'There is no result' : 'The test failed')
  const files = [...test.screenshots, ...test.observations, ...(test.trace === null ? [] : [test.trace])]
  return {
    tag: isMissing ? 'error' : 'failure',
    type: test.mode ?? (isMissing ? 'missing' : 'software'),
    message: fitLine(reason),
    text: [
      fitText(reason),
      ...evidenceOf(test),
      ...(files.length === 0 ? [] : [fitText(`files: ${files.join(', ')}`)]),
    ].join('\n'),
  }
}

function testCase(suite: string, title: string, durationMs: number, fault: Fault | null): string {
  const open = `    <testcase classname="${escaped(suite)}" name="${escaped(title)}" time="${seconds(durationMs)}"`
  if (fault === null) return `${open}/>`
  const { tag, type, message, text } = fault
  return `${open}>\n      <${tag} message="${escaped(message)}" type="${escaped(type)}">${escaped(text)}</${tag}>\n    </testcase>`
}

/** The id keeps two tests with the same description apart. */
function titleOf({ id, test }: TestResult): string {
  return `${fitLine(test)} [${fitLine(id)}]`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Its input is without control characters. A `]]>` ends nothing, because its last character is escaped. */
function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character] ?? '')
}

function millis(duration: number): number {
  return Number.isFinite(duration) && duration > 0 ? duration : 0
}

function seconds(durationMs: number): string {
  return (millis(durationMs) / 1_000).toFixed(3)
}
