/** The words of a row: why an instance failed or was stopped, and how far it is. Pure. */
import type { InstanceRecord } from '../../../core/protocol/instance.ts'
import { isTerminal } from '../../../core/protocol/status.ts'
import { cleanLine } from '../../../core/view/clean.ts'

type Told = Pick<InstanceRecord, 'status' | 'error' | 'reason' | 'phase' | 'progress'>

/** Of one that failed or was cancelled; null for others, or without a reason. */
export function reasonOf({ status, error, reason }: Told): string | null {
  if (status === 'failed') return error === null ? null : cleanLine(error.detail)
  // The platform's own word for a cancel says nothing that the status does not.
  return status === 'cancelled' && reason !== 'cancel_requested' && reason !== undefined && reason !== ''
    ? cleanLine(reason)
    : null
}

export interface Step {
  phase: string | null
  /** The progress in words; null for one that has ended, or reports none. */
  progress: string | null
  percent: number | null
}

export function stepOf({ status, phase, progress }: Told): Step {
  const shown = phase === null ? null : cleanLine(phase)
  if (isTerminal(status) || progress === undefined || progress === null)
    return { phase: shown, progress: null, percent: null }
  const percent = progress.fraction === null ? null : Math.round(progress.fraction * 100)
  const words = cleanLine(progress.label ?? progress.milestone)
  return { phase: shown, progress: words === '' ? (percent === null ? null : 'Progress') : words, percent }
}
