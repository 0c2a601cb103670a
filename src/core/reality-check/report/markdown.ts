/** The result of a reality check as Markdown, for the step summary of GitHub Actions. Text from outside is neither Markdown nor HTML. */

import { CHECK_REPORT_LIST_MAX, CHECK_REPORT_LOG_MAX_BYTES, CHECK_REPORT_MARKDOWN_MAX_BYTES } from '../../limits.ts'
import type { CheckResult, TestResult } from '../../protocol/check/reality-check.ts'
import { durationText, evidenceOf, fitEnd, fitLine, fitText, testsOf, withinBytes } from './outside-text.ts'
import { durationsOf, factsOf, planFactsOf, STATUS_WORDS, VERDICT_WORDS, type VerdictKey, verdictKey } from './words.ts'

const SIGNS: Readonly<Record<VerdictKey | TestResult['status'], string>> = {
  pass: '✅',
  partial: '🟡',
  fail: '❌',
  none: '⚠️',
  cancelled: '⏹️',
  passed: '✅',
  failed: '❌',
  missing: '⚠️',
}

export function markdownOf(result: CheckResult): string {
  const { report, error } = result
  const key = verdictKey(result)
  const tests = testsOf(result)
  const log = fitEnd(report.log_tail, CHECK_REPORT_LOG_MAX_BYTES)
  const head = [
    `## ${SIGNS[key]} Reality check: ${VERDICT_WORDS[key]}`,
    inert(report.summary),
    ...(error === null ? [] : [block(fitText(error))]),
    table(['', ''], factsOf(result)),
  ]
  const assumptions = report.assumptions.slice(0, CHECK_REPORT_LIST_MAX).map((one) => `- ${inert(one)}`)
  const durations = durationsOf(result).map(([name, ms]): [string, string] => [name, durationText(ms)])
  const tail = [
    ...(assumptions.length === 0 ? [] : ['### Assumptions', assumptions.join('\n')]),
    ...folded('Plan', table(['', ''], planFactsOf(result))),
    ...folded('Durations', table(['Stage', 'Time'], durations)),
    ...folded('Log', log === '' ? '' : block(log)),
  ]
  const before = `${head.join('\n\n')}\n\n`
  const after = tail.length === 0 ? '' : `${tail.join('\n\n')}\n`
  const room = CHECK_REPORT_MARKDOWN_MAX_BYTES - Buffer.byteLength(before + after) - LEFT_OUT_BYTES
  const { text, left } = withinBytes(partsOf(tests), tests.length, room)
  const title = tests.length === 0 ? '' : '### Tests\n\n'
  return (
    before +
    title +
    text +
    (left === 0 ? '' : `${left} more tests are left out: the summary has its full size.\n\n`) +
    after
  )
}

const LEFT_OUT_BYTES = 200

/** Each is written when it is asked for, so that no more is written than fits. */
function* partsOf(tests: readonly TestResult[]): Generator<string> {
  for (const test of tests) yield testPart(test)
}

/** Passed tests are one line; the others have their reason and evidence below them. */
function testPart(test: TestResult): string {
  const line = `${SIGNS[test.status]} **${STATUS_WORDS[test.status]}** ${inert(test.test)} (${durationText(test.duration_ms)})`
  if (test.status === 'passed') return `${line}\n\n`
  const evidence = evidenceOf(test)
  const reason = inert(test.reason ?? 'No reason was given')
  return `${line}\n\n${reason}\n\n${evidence.length === 0 ? '' : `${block(evidence.join('\n'))}\n\n`}`
}

function table(names: [string, string], rows: readonly [string, string][]): string {
  if (rows.length === 0) return ''
  const lines = rows.map(([name, value]) => `| ${inert(name)} | ${inert(value)} |`)
  return [`| ${names[0]} | ${names[1]} |`, '|---|---|', ...lines].join('\n')
}

function folded(title: string, body: string): string[] {
  return body === '' ? [] : [`<details><summary>${title}</summary>\n\n${body}\n\n</details>`]
}

/**
 * One line. Every mark that means something to Markdown, HTML or a workflow command is written as its number, which means only itself.
 * After `@` stands a space of no width, so that no account is mentioned.
 */
function inert(text: string): string {
  return fitLine(text)
    .replace(/[^\p{L}\p{N}\p{M} ,\u0080-\u{10ffff}]/gu, (mark) => `&#${mark.charCodeAt(0)};`)
    .replaceAll('&#64;', '&#64;\u200b')
}

/** Lines as they are. Markdown is not read within `<pre>`; a `::` is written so that a copy in a log is no workflow command. */
function block(text: string): string {
  const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', ':': '&#58;', '#': '&#35;' }
  return `<pre>${text.replace(/[&<>]|:(?=:)|#(?=#)/g, (mark) => marks[mark] ?? '')}</pre>`
}
