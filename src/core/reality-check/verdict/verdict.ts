/** Decides the verdict of a reality check from what became of its tests (docs/reality-check.md, Verdict and failure mode). Pure. */
import type {
  CheckReport,
  CheckResult,
  FailureMode,
  Stage,
  TestResult,
  Verdict,
} from '../../protocol/check/reality-check.ts'

type Mode = Exclude<FailureMode, null>

/** Why a check ended before its tests were over, or did without. */
export interface Ending {
  stage: Stage
  mode: Mode
  /** A sentence. */
  error: string
}

export interface Decision {
  verdict: Verdict
  mode: FailureMode
  status: CheckResult['status']
}

/**
 * The software that is not there (its build fails, it does not start, it dies) has failed. A check that is cancelled has no verdict. Otherwise the
 * tests decide: all passed; some failed; or some could not be judged, which is never a pass.
 */
export function decide(results: readonly TestResult[], ending: Ending | null): Decision {
  if (ending?.mode === 'cancelled') return { verdict: null, mode: 'cancelled', status: 'cancelled' }
  const passed = results.filter(({ status }) => status === 'passed').length
  const failed = results.filter(({ status }) => status === 'failed').length
  const hasFailed = failed > 0 || ending?.mode === 'software'
  if (hasFailed) return { verdict: passed > 0 ? 'partial' : 'fail', mode: 'software', status: 'completed' }
  if (results.length > 0 && passed === results.length && ending === null)
    return { verdict: 'pass', mode: null, status: 'completed' }
  const mode = ending?.mode ?? worstOf(results)
  if (passed > 0) return { verdict: 'partial', mode, status: 'completed' }
  return { verdict: null, mode, status: 'failed' }
}

/** The mode of the tests that are missing: what the caller can mend comes first. */
function worstOf(results: readonly TestResult[]): Mode {
  const modes = results.flatMap(({ mode }) => mode ?? [])
  return (['config', 'timeout', 'infrastructure'] as const).find((mode) => modes.includes(mode)) ?? 'config'
}

export function statisticsOf(results: readonly TestResult[]): CheckReport['statistics'] {
  const number = (wanted: TestResult['status']) => results.filter(({ status }) => status === wanted).length
  const [passed, failed, missing] = [number('passed'), number('failed'), number('missing')]
  return { total: results.length, passed, failed, missing, pass_rate: `${passed}/${results.length}` }
}

/** One sentence for people. */
export function summaryOf({ verdict, mode }: Decision, results: readonly TestResult[], ending: Ending | null): string {
  const { total, passed, failed, missing } = statisticsOf(results)
  if (verdict === 'pass') return total === 1 ? 'The one criterion is met.' : `All ${total} criteria are met.`
  if (ending !== null && (total === 0 || verdict === null || ending.mode === 'software')) return ending.error
  const parts = [`${passed} of ${total} criteria are met`]
  if (failed > 0) parts.push(`${failed} failed`)
  if (missing > 0) parts.push(`${missing} could not be judged`)
  const why = ending === null ? '' : ` ${ending.error}`
  return `${parts.join(', ')}${mode === 'software' || why !== '' ? '' : ` (${mode})`}.${why}`
}

/** The exit code of a command that made the check (docs/exit-codes.md). */
export function exitCodeOfCheck({ verdict, mode }: Pick<Decision, 'verdict' | 'mode'>): number {
  if (verdict === 'pass') return 0
  if (verdict === 'partial') return 11
  if (verdict === 'fail') return 1
  return { config: 2, infrastructure: 10, timeout: 124, cancelled: 3, software: 1 }[mode ?? 'infrastructure']
}
