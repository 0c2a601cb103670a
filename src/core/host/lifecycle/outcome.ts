/** Decides the final status of a run (R21–R24, R26, R27). Pure. */

import type { InstanceError, ResolverResult } from '../../protocol/instance.ts'
import { LIFETIME_REASON, PAUSE_REASON, WORKER_LOST } from '../../protocol/methods.ts'
import type { Status } from '../../protocol/status.ts'
import { REQUESTS_WITHDRAWN, type StoryCompletion } from '../../view/story.ts'

export { REQUESTS_WITHDRAWN }

/** What a run left when it ended; the first that is present counts. */
export interface RunEnd {
  result: ResolverResult | null
  completion: StoryCompletion | null
  /** The error when there is neither: the process ended, or broke the protocol. */
  exit: InstanceError
  /** The process did not end by itself: it was killed, ran out of memory, or the machine was started anew (R58). */
  isLost: boolean
  /** A session was refused for the budget of the instance. */
  refusal?: InstanceError | null
}

/** What decides whether a run can be continued. */
export interface Resumability {
  /** Of the manifest. */
  supportsResume: boolean
  hasCheckpoint: boolean
}

/** What a consumer or the lifetime demanded of the run before it ended. */
export interface StopRequest {
  kind: 'stop' | 'cancel' | 'pause' | 'lifetime'
  reason: string
  /** The worker was killed. */
  forced: boolean
}

export interface Ending {
  status: Status
  reason?: string
  /** R57: the worker was killed. */
  forced?: true
  /** How the worker was lost, where that is why the instance is paused (R58). */
  lost?: string
  output: string | null
  error: InstanceError | null
  sessions_used?: number
}

/** Decides the ending with the stop that is pending when it is recorded. */
export type EndingOf = (stop: StopRequest | undefined) => Ending

export function decide(end: RunEnd, stop: StopRequest | undefined, resumability: Resumability): Ending {
  const reported = reportedBy(end)
  if (reported === undefined) return withoutReport(end, stop, resumability)
  if (stop?.kind === 'lifetime' && reported.status !== 'paused') return lifetimeExceeded(reported.output)
  switch (reported.status) {
    case 'completed':
      if (end.refusal != null) return overBudget(end.refusal, reported)
      return { status: 'completed', output: reported.output, error: null }
    case 'failed':
      if (end.refusal != null) return overBudget(end.refusal, reported)
      return {
        status: 'failed',
        output: reported.output,
        error: reported.error ?? { code: 'resolver_failed', detail: '' },
      }
    case 'cancelled':
      return cancelled(reported, stop)
    case 'paused':
      return paused(reported, stop, resumability.supportsResume)
  }
}

/** Whatever a resolver makes of the refusal, the instance did not do all that it set out to do: its output is what was done until then. */
function overBudget({ code, detail }: InstanceError, { output, error }: Reported): Ending {
  const own = error === null || error.code === code ? '' : error.detail
  return { status: 'failed', output, error: { code, detail: own === '' ? detail : `${detail} ${own}` } }
}

interface Reported {
  status: ResolverResult['status']
  output: string | null
  error: InstanceError | null
}

/** R21: the result counts, else `resolver:completed`. */
function reportedBy({ result, completion }: RunEnd): Reported | undefined {
  if (result !== null) {
    const detail = result.error ?? completion?.error?.detail ?? ''
    const failed = result.status === 'failed'
    return {
      status: result.status,
      output: result.output ?? null,
      error: failed ? { code: 'resolver_failed', ...completion?.error, detail } : null,
    }
  }
  if (completion === null) return undefined
  const { outcome, summary, error } = completion
  if (outcome === 'failed') {
    const status = error?.code === 'cancelled' ? 'cancelled' : 'failed'
    return { status, output: null, error: error ?? { code: 'resolver_failed', detail: summary } }
  }
  // R23: the summary of a paused run begins with "paused".
  return { status: summary.startsWith('paused') ? 'paused' : 'completed', output: summary, error: null }
}

/** Whether the instance shall end. A pause only concerns a running resolver, and waits for it. */
export function isToEnd(stop: StopRequest | undefined): stop is StopRequest {
  return stop !== undefined && stop.kind !== 'pause'
}

/** The ending of an instance whose resolver never ran: `ending`, unless a stop is pending. */
export function orEndedBeforeRun(ending: Ending): EndingOf {
  return (stop) => (isToEnd(stop) ? endedBeforeRun(stop) : ending)
}

/** As {@link orEndedBeforeRun}, for an instance that had no worker: none was killed, however it was stopped (R57). */
export function orEndedWithoutWorker(ending: Ending): EndingOf {
  return (stop) => orEndedBeforeRun(ending)(stop && { ...stop, forced: false })
}

/** A resumed instance that was paused while it waited for its turn. */
export const PAUSED_AGAIN: Ending = { status: 'paused', reason: PAUSE_REASON, output: null, error: null }

function endedBeforeRun(stop: StopRequest): Ending {
  if (stop.kind === 'lifetime') return lifetimeExceeded(null)
  return cancelledBy(stop, null)
}

function withoutReport(end: RunEnd, stop: StopRequest | undefined, resumability: Resumability): Ending {
  if (stop?.kind === 'lifetime') return lifetimeExceeded(null)
  if (stop !== undefined && stop.kind !== 'pause') return cancelledBy(stop, null)
  if (end.isLost && isResumable(resumability)) return pausedByLoss(end.exit.detail)
  return { status: 'failed', output: null, error: end.exit }
}

/** R58: whether another worker can go on where a lost one was. */
export function isResumable({ supportsResume, hasCheckpoint }: Resumability): boolean {
  return supportsResume && hasCheckpoint
}

/** `how`: how the worker ended. */
export function pausedByLoss(how: string): Ending {
  return { status: 'paused', reason: WORKER_LOST, lost: how, output: null, error: null }
}

/** R57: the reason is the one that was given, also where the worker had to be killed. */
function cancelledBy({ reason, forced }: StopRequest, output: string | null): Ending {
  return { status: 'cancelled', reason, ...(forced ? { forced } : {}), output, error: null }
}

function cancelled(reported: Reported, stop: StopRequest | undefined): Ending {
  if (stop === undefined) {
    const detail = reported.error?.detail || 'The resolver returned "cancelled" without a stop request.'
    return { status: 'failed', output: reported.output, error: { code: 'cancelled', detail } }
  }
  return cancelledBy(stop, reported.output)
}

function paused(reported: Reported, stop: StopRequest | undefined, supportsResume: boolean): Ending {
  if (stop?.kind === 'cancel') return cancelledBy(stop, reported.output)
  if (stop?.kind === 'lifetime' && !supportsResume) return lifetimeExceeded(reported.output)
  if (!supportsResume) {
    const detail = 'The resolver returned "paused", but its manifest does not say supports_resume.'
    return { status: 'failed', output: reported.output, error: { code: 'not_resumable', detail } }
  }
  const reason = stop === undefined ? undefined : stop.kind === 'pause' ? PAUSE_REASON : stop.reason
  return { status: 'paused', ...(reason === undefined ? {} : { reason }), output: reported.output, error: null }
}

function lifetimeExceeded(output: string | null): Ending {
  return {
    status: 'failed',
    reason: LIFETIME_REASON,
    output,
    error: { code: 'lifetime_exceeded', detail: 'The instance was up for longer than its lifetime.' },
  }
}
