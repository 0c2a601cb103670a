/** The words of every form of the report: verdicts, statuses, the facts of a check. */

import { CHECK_REPORT_LIST_MAX } from '../../limits.ts'
import type { CheckResult, TestStatus } from '../../protocol/check/reality-check.ts'
import { fitLine } from './outside-text.ts'

export const STATUS_WORDS: Readonly<Record<TestStatus, string>> = {
  passed: 'Passed',
  failed: 'Failed',
  missing: 'Missing',
}

export type VerdictKey = 'pass' | 'partial' | 'fail' | 'none' | 'cancelled'

export function verdictKey({ verdict, status }: CheckResult): VerdictKey {
  return verdict ?? (status === 'cancelled' ? 'cancelled' : 'none')
}

export const VERDICT_WORDS: Readonly<Record<VerdictKey, string>> = {
  pass: 'Pass',
  partial: 'Partial',
  fail: 'Fail',
  none: 'No verdict',
  cancelled: 'Cancelled',
}

/** Names and values, each on one line. */
export function factsOf(result: CheckResult): [string, string][] {
  const { report, failure_mode } = result
  const { statistics, kept } = report
  const counts = `${statistics.passed} passed, ${statistics.failed} failed, ${statistics.missing} missing`
  const facts: [string, string | null][] = [
    ['Software', result.software],
    ['Commit', report.commit],
    ['Tests', statistics.total === 0 ? 'none' : `${statistics.pass_rate}: ${counts}`],
    ['Cause', failure_mode],
    ['Ended at', report.stage === 'done' ? null : report.stage],
    ['Kept', kept === null ? null : `${kept.dtu_id}, until ${kept.expires_at}`],
    ['Check', result.session_id],
  ]
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, fitLine(value)] as [string, string]]))
}

export function planFactsOf({ report: { plan } }: CheckResult): [string, string][] {
  if (plan === null) return []
  const env = Object.entries(plan.env).map(([name, value]) => `${name}=${value}`)
  const facts: [string, string | null][] = [
    ['Language', plan.language],
    ['Type', plan.type],
    ['Directory', plan.workdir],
    ['Dependencies', plan.fetch?.command ?? null],
    ['Install', plan.install],
    ['Build', plan.build],
    ['Start', plan.start],
    ['Port', plan.port === null ? null : `${plan.port}${plan.port_given ? ' (given)' : ''}`],
    ['Environment', env.length === 0 ? null : env.slice(0, CHECK_REPORT_LIST_MAX).join(' ')],
    ['Because of', plan.because.length === 0 ? null : plan.because.slice(0, CHECK_REPORT_LIST_MAX).join(', ')],
  ]
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, fitLine(value)] as [string, string]]))
}

export function durationsOf({ report }: CheckResult): [string, number][] {
  return Object.entries(report.durations).slice(0, CHECK_REPORT_LIST_MAX)
}
