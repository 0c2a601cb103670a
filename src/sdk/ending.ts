/**
 * Decides how a run ends, from what run() returned or threw and from the stop that was requested (R21–R24, R27). Pure. A run
 * that ends because of a stop (it let the stop's error through, or returned nothing after it) is `cancelled`; where the
 * platform requested a pause and the resolver supports resume, it is `paused`. A result that run() returns explicitly is kept.
 */
import { ResolveError } from '../core/errors.ts'
import type { InstanceError, ResolverResult } from '../core/protocol/instance.ts'
import { LIFETIME_REASON, PAUSE_REASON } from '../core/protocol/methods.ts'

/** `left`: the process ends while run() has not returned; the value says why. */
export type Outcome = { returned: ResolverResult | undefined } | { threw: unknown } | { left: string }

export interface Circumstances {
  /** The latest reason of a stop; undefined without a stop. */
  stopReason: string | undefined
  supportsResume: boolean
  /** A checkpoint exists, from this run or an earlier one. */
  hasCheckpoint: boolean
  /** The file and line of the author's code where an error comes from. */
  placeOf: (error: Error) => string | undefined
}

export interface Ending {
  result: ResolverResult
  /** The data of resolver:completed without its counts and duration. */
  completed: { outcome: 'success' | 'failed'; summary: string; error?: InstanceError }
}

export function decideEnding(outcome: Outcome, circumstances: Circumstances): Ending {
  if ('threw' in outcome) return fromThrown(outcome.threw, circumstances)
  if ('left' in outcome) return fromLeft(outcome.left, circumstances)
  if (outcome.returned !== undefined) return fromResult(outcome.returned)
  return circumstances.stopReason === undefined ? fromResult({ status: 'completed' }) : stopped(circumstances)
}

function fromThrown(thrown: unknown, circumstances: Circumstances): Ending {
  if (thrown instanceof ResolveError && thrown.code === 'run_paused') {
    return fromResult({ status: 'paused', output: thrown.message })
  }
  if (circumstances.stopReason !== undefined && isStop(thrown)) return stopped(circumstances)
  const budget = budgetIn(thrown)
  if (budget !== undefined) return failed({ status: 'failed', error: budget.message }, budget.code)
  const detail = (thrown instanceof Error ? thrown.message : String(thrown)) || 'an error without a message'
  if (thrown instanceof ResolveError) return failed({ status: 'failed', error: detail }, thrown.code)
  // The message alone does not tell an author where to look.
  const place = thrown instanceof Error ? circumstances.placeOf(thrown) : undefined
  return failed({ status: 'failed', error: detail }, 'unexpected_error', place)
}

/** process.exit after a stop counts as stopping. A pause needs more: without a checkpoint the work could not be resumed. */
function fromLeft(by: string, circumstances: Circumstances): Ending {
  if (circumstances.stopReason === undefined) return failed({ status: 'failed', error: by }, 'unexpected_error')
  return stopped({ ...circumstances, supportsResume: circumstances.supportsResume && circumstances.hasCheckpoint })
}

/** The stop's own error, or one derived from it: Node's functions throw `AbortError` for an aborted signal. */
function isStop(thrown: unknown, depth = 0): boolean {
  if (!(thrown instanceof Error) || depth > 5) return false
  if (thrown instanceof ResolveError && thrown.code === 'instance_stopped') return true
  return thrown.name === 'AbortError' || isStop(thrown.cause, depth + 1)
}

/** Also where the resolver passes it on as the cause of an error of its own. */
function budgetIn(thrown: unknown, depth = 0): ResolveError | undefined {
  if (!(thrown instanceof Error) || depth > 5) return undefined
  if (thrown instanceof ResolveError && thrown.code === 'budget_exceeded') return thrown
  return budgetIn(thrown.cause, depth + 1)
}

function stopped({ stopReason = '', supportsResume }: Circumstances): Ending {
  const isPause = stopReason === PAUSE_REASON || stopReason === LIFETIME_REASON
  if (isPause && supportsResume) return fromResult({ status: 'paused', output: `paused: ${stopReason}` })
  return fromResult({ status: 'cancelled', output: null, error: stopReason })
}

function fromResult(result: ResolverResult): Ending {
  switch (result.status) {
    case 'completed':
      return { result, completed: { outcome: 'success', summary: result.output || 'completed' } }
    case 'paused': {
      const text = result.output || 'paused'
      const summary = text.startsWith('paused') ? text : `paused: ${text}`
      return { result, completed: { outcome: 'success', summary } }
    }
    case 'cancelled':
      return failed(result, 'cancelled')
    case 'failed':
      return failed(result, 'failed')
  }
}

function failed(result: ResolverResult, code: string, place?: string): Ending {
  const detail = result.error || result.output || result.status
  const summary = result.status === 'cancelled' ? `cancelled: ${detail}` : detail
  return {
    result,
    completed: { outcome: 'failed', summary, error: { code, detail, ...(place === undefined ? {} : { place }) } },
  }
}
