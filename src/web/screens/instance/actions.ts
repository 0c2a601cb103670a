/** The actions that are possible in a status, and the reasons why others are not (spec, States; R20, R24). Pure. */
import { isTerminal, type Status } from '../../../core/protocol/status.ts'
import { STATUS_WORDS } from '../../../core/view/status-words.ts'

export const ACTIONS = ['pause', 'resume', 'stop', 'cancel'] as const

export type Action = (typeof ACTIONS)[number]

export interface Offer {
  action: Action
  /** Why the action is not possible now; null if it is. */
  why: string | null
}

/** The actions to show; none for an instance that has ended. */
export function offersOf(status: Status, supportsResume: boolean, mayAct: boolean): Offer[] {
  if (isTerminal(status)) return []
  const shown = ACTIONS.filter((action) => (action === 'resume' ? status === 'paused' : true)).filter(
    (action) => action !== 'pause' || status !== 'paused',
  )
  return shown.map((action) => ({
    action,
    why: mayAct ? why(action, status, supportsResume) : 'Your token can only read.',
  }))
}

function why(action: Action, status: Status, supportsResume: boolean): string | null {
  if (action === 'pause') {
    if (!supportsResume) return 'This resolver can’t be paused: it does not support resuming.'
    if (status !== 'running' && status !== 'awaiting_input')
      return `It can’t be paused while it is ${STATUS_WORDS[status].word}.`
  }
  if (action === 'stop' && status === 'paused')
    return 'A paused instance has no running worker to stop: cancel it instead.'
  return null
}
