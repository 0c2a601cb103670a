/** Decides what a run's end means (R21–R24, R26, R27). Pure. */

import type { InstanceError, ResolverResult } from '../../protocol/instance.ts'
import { LIFETIME_REASON, PAUSE_REASON } from '../../protocol/methods.ts'
import type { Status } from '../../protocol/status.ts'
import { REQUESTS_WITHDRAWN, type StoryCompletion } from '../../view/story.ts'

export { REQUESTS_WITHDRAWN }

/** What is known when a run has ended, strongest first. */
export interface RunEnd {
  result: ResolverResult | null
  completion: StoryCompletion | null
  /** Why there is neither: the process ended, or spoke no protocol. */
  exit: InstanceError
}

/** What was asked of the run before it ended. */
export interface StopRequest {
  kind: 'stop' | 'cancel' | 'pause' | 'lifetime'
  reason: string
  /** The worker had to be terminated. */
  forced: boolean
}

export interface Ending {
  status: Status
  reason?: string
  output: string | null
  error: InstanceError | null
}

/** What is made of what was asked of the run until its very end. */
export type EndingOf = (stop: StopRequest | undefined) => Ending

export function decide(end: RunEnd, stop: StopRequest | undefined, supportsResume: boolean): Ending {
  const said = whatWasSaid(end)
  if (said === undefined) return withoutWord(end, stop)
  if (stop?.kind === 'lifetime' && said.status !== 'paused') return lifetimeExceeded(said.output)
  switch (said.status) {
    case 'completed':
      return { status: 'completed', output: said.output, error: null }
    case 'failed':
      return { status: 'failed', output: said.output, error: said.error ?? { code: 'resolver_failed', detail: '' } }
    case 'cancelled':
      return cancelled(said, stop)
    case 'paused':
      return paused(said, stop, supportsResume)
  }
}

interface Said {
  status: ResolverResult['status']
  output: string | null
  error: InstanceError | null
}

/** R21: the result, then `resolver:completed`. */
function whatWasSaid({ result, completion }: RunEnd): Said | undefined {
  if (result !== null) {
    const detail = result.error ?? completion?.error?.detail ?? ''
    const failed = result.status === 'failed'
    return {
      status: result.status,
      output: result.output ?? null,
      error: failed ? { code: completion?.error?.code ?? 'resolver_failed', detail } : null,
    }
  }
  if (completion === null) return undefined
  const { outcome, summary, error } = completion
  if (outcome === 'failed') {
    const status = error?.code === 'cancelled' ? 'cancelled' : 'failed'
    return { status, output: null, error: error ?? { code: 'resolver_failed', detail: summary } }
  }
  // R23: a paused run says so at the beginning of its summary.
  return { status: summary.startsWith('paused') ? 'paused' : 'completed', output: summary, error: null }
}

/** Whether the instance is to end; a pause is asked of a run, and waits for it. */
export function isToEnd(stop: StopRequest | undefined): stop is StopRequest {
  return stop !== undefined && stop.kind !== 'pause'
}

/** Of an instance whose resolver never ran: what it was to be, unless it was to end anyway. */
export function orEndedBeforeRun(ending: Ending): EndingOf {
  return (stop) => (isToEnd(stop) ? endedBeforeRun(stop) : ending)
}

function endedBeforeRun(stop: StopRequest): Ending {
  if (stop.kind === 'lifetime') return lifetimeExceeded(null)
  return { status: 'cancelled', reason: stop.forced ? 'forced' : stop.reason, output: null, error: null }
}

function withoutWord(end: RunEnd, stop: StopRequest | undefined): Ending {
  if (stop?.kind === 'lifetime') return lifetimeExceeded(null)
  if (stop !== undefined && stop.kind !== 'pause') {
    return { status: 'cancelled', reason: stop.forced ? 'forced' : stop.reason, output: null, error: null }
  }
  return { status: 'failed', output: null, error: end.exit }
}

function cancelled(said: Said, stop: StopRequest | undefined): Ending {
  if (stop === undefined) {
    const detail = said.error?.detail || 'The resolver returned "cancelled" without a stop request.'
    return { status: 'failed', output: said.output, error: { code: 'cancelled', detail } }
  }
  return { status: 'cancelled', reason: stop.forced ? 'forced' : stop.reason, output: said.output, error: null }
}

function paused(said: Said, stop: StopRequest | undefined, supportsResume: boolean): Ending {
  if (stop?.kind === 'cancel') return { status: 'cancelled', reason: stop.reason, output: said.output, error: null }
  if (stop?.kind === 'lifetime' && !supportsResume) return lifetimeExceeded(said.output)
  if (!supportsResume) {
    const detail = 'The resolver returned "paused", but its manifest does not say supports_resume.'
    return { status: 'failed', output: said.output, error: { code: 'not_resumable', detail } }
  }
  const reason = stop === undefined ? undefined : stop.kind === 'pause' ? PAUSE_REASON : stop.reason
  return { status: 'paused', ...(reason === undefined ? {} : { reason }), output: said.output, error: null }
}

function lifetimeExceeded(output: string | null): Ending {
  return {
    status: 'failed',
    reason: LIFETIME_REASON,
    output,
    error: { code: 'lifetime_exceeded', detail: 'The instance was up for longer than its lifetime.' },
  }
}
