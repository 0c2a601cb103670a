/** The result of a reality check as lines for a terminal, without colours: the caller adds them. */

import { CHECK_REPORT_LIST_MAX, CHECK_REPORT_LOG_MAX_BYTES } from '../../limits.ts'
import type { CheckResult, TestResult } from '../../protocol/check/reality-check.ts'
import { durationText, evidenceOf, fitEnd, fitLine, fitText, testsOf } from './outside-text.ts'
import { factsOf, STATUS_WORDS, VERDICT_WORDS, verdictKey } from './words.ts'

/** No line has a line break or a control character. The log is left out of a check that passed. */
export function textOf(result: CheckResult): string[] {
  const { report, error } = result
  const log = result.verdict === 'pass' ? '' : fitEnd(report.log_tail, CHECK_REPORT_LOG_MAX_BYTES)
  return [
    `${VERDICT_WORDS[verdictKey(result)]}: ${fitLine(report.summary)}`,
    ...(error === null ? [] : indented(fitText(error), '  ')),
    ...factsOf(result).map(([name, value]) => `  ${name.padEnd(9)} ${value}`),
    ...testsOf(result).flatMap(testLines),
    ...listLines(
      'Assumptions',
      report.assumptions.slice(0, CHECK_REPORT_LIST_MAX).map((one) => fitLine(one)),
    ),
    ...listLines('Log', log === '' ? [] : log.split('\n')),
  ].map((line) => line.replaceAll('\t', '  '))
}

/**
 * Between these lines GitHub Actions takes no line for a workflow command. The token has to be a random one of the caller; a line that
 * holds it would end the fence, so it is taken out of the lines.
 */
export function fenced(lines: readonly string[], token: string): string[] {
  const inside = lines.flatMap((line) => line.split(/[\r\n]+/)).map((line) => line.replaceAll(token, '…'))
  return [`::stop-commands::${token}`, ...inside, `::${token}::`]
}

function testLines(test: TestResult): string[] {
  const details = test.status === 'passed' ? [] : [fitText(test.reason ?? 'No reason was given'), ...evidenceOf(test)]
  const files = test.status === 'passed' ? [] : test.screenshots.slice(0, CHECK_REPORT_LIST_MAX)
  return [
    `  ${STATUS_WORDS[test.status].padEnd(8)} ${fitLine(test.test)} [${fitLine(test.id)}] (${durationText(test.duration_ms)})`,
    ...details.flatMap((one) => indented(one, '           ')),
    ...files.map((one) => `           ${fitLine(one)}`),
  ]
}

function listLines(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`  ${title}`, ...lines.map((line) => `    ${line}`)]
}

function indented(text: string, by: string): string[] {
  return text.split('\n').map((line) => `${by}${line}`)
}
