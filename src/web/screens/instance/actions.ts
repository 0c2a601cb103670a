/** What may be done with an instance as it stands, and why not where it may not (spec, States; R20, R24). Pure. */
import { isTerminal, type Status } from '../../../core/protocol/status.ts'
import { STATUS_WORDS } from '../../../core/view/status-words.ts'

export const ACTIONS = ['pause', 'resume', 'stop', 'cancel'] as const

export type Action = (typeof ACTIONS)[number]

export interface Offer {
  action: Action
  /** Why it can't be done now; null where it can. */
  why: string | null
}

/** What is worth showing: nothing of an instance that has ended. */
export function offersOf(status: Status, supportsResume: boolean, mayAct: boolean): Offer[] {
  if (isTerminal(status)) return []
  const shown = ACTIONS.filter((action) => (action === 'resume' ? status === 'paused' : true)).filter(
    (action) => action !== 'pause' || status !== 'paused',
  )
  return shown.map((action) => ({
    action,
    why: mayAct ? why(action, status, supportsResume) : 'Your token may only look.',
  }))
}

function why(action: Action, status: Status, supportsResume: boolean): string | null {
  if (action === 'pause') {
    if (!supportsResume) return 'The resolver can’t be paused: it keeps no place to resume from.'
    if (status !== 'running' && status !== 'awaiting_input')
      return `It can’t be paused while it is ${STATUS_WORDS[status].word}.`
  }
  if (action === 'stop' && status === 'paused') return 'Nothing runs that could be asked to stop: cancel it instead.'
  return null
}
