/** What can be done with the selected instances. Pure. */
import type { InstanceRecord } from '../../../core/protocol/instance.ts'
import { isTerminal } from '../../../core/protocol/status.ts'

type Selected = Pick<InstanceRecord, 'instance_id' | 'status'>

export interface SelectionOffers {
  /** The ids that can be asked to stop. */
  stop: string[]
  /** The ids that can be removed: their files are deleted. */
  remove: string[]
  /** The address where the two are compared; null unless two are selected. */
  compare: string | null
}

export function offersFor(selected: readonly Selected[]): SelectionOffers {
  const idsOf = (fits: (one: Selected) => boolean) => selected.filter(fits).map(({ instance_id: id }) => id)
  const [left, right, ...more] = selected
  const isPair = left !== undefined && right !== undefined && more.length === 0
  return {
    // A paused instance has no worker to stop: it is cancelled on its own screen.
    stop: idsOf(({ status }) => !isTerminal(status) && status !== 'paused'),
    remove: idsOf(({ status }) => isTerminal(status)),
    compare: isPair ? `/instances/compare?left=${left.instance_id}&right=${right.instance_id}` : null,
  }
}

/** `done` of `all` were done; `first` says why one was not. */
export function outcomeText(what: 'stop' | 'remove', done: number, all: number, first: string | null): string {
  const word = what === 'stop' ? 'asked to stop' : 'removed'
  const told = `${done} of ${all} ${all === 1 ? 'instance was' : 'instances were'} ${word}.`
  if (done === all) return told
  return first === null ? `${told} The others may be still in use: try again in a moment.` : `${told} ${first}`
}
