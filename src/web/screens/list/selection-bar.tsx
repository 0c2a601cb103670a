/** The bar with what can be done with the selected instances; it asks before it stops or removes. */
import { Dialog } from '@base-ui/react/dialog'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import type { InstanceRecord } from '../../../core/protocol/instance.ts'
import { removeEnded, stop } from '../../api/calls.ts'
import { sentenceOf } from '../../api/problem.ts'
import { OFFLINE_WHY, useReachable } from '../../api/reach.ts'
import { useMayAct, useMayAdmin } from '../../parts/use-session.ts'
import { offersFor, outcomeText } from './selection.ts'

interface SelectionBarProps {
  selected: readonly InstanceRecord[]
  onClear: () => void
}

export function SelectionBar({ selected, onClear }: SelectionBarProps) {
  const offers = offersFor(selected)
  const mayStop = useMayAct()
  const mayRemove = useMayAdmin()
  const isOnline = useReachable()
  const client = useQueryClient()
  const [asking, setAsking] = useState<'stop' | 'remove' | null>(null)
  const [said, setSaid] = useState('')
  const run = async (what: 'stop' | 'remove') => {
    setAsking(null)
    setSaid(what === 'stop' ? 'Stopping…' : 'Removing…')
    const ids = offers[what]
    let first: string | null = null
    const fault = (error: unknown) => {
      first ??= sentenceOf(error)
      return undefined
    }
    let done = 0
    if (what === 'remove') done = (await removeEnded(ids).catch(fault))?.length ?? 0
    else for (const id of ids) if ((await stop(id, '').then(() => true, fault)) === true) done += 1
    setSaid(outcomeText(what, done, ids.length, first))
    await client.invalidateQueries({ queryKey: ['instances'] })
    if (done === ids.length) onClear()
  }
  const button = (what: 'stop' | 'remove', label: string, may: boolean) =>
    offers[what].length > 0 &&
    may && (
      <button
        type="button"
        className="button button-small button-danger"
        disabled={!isOnline}
        title={isOnline ? undefined : OFFLINE_WHY}
        onClick={() => setAsking(what)}
      >
        {label} {offers[what].length}
      </button>
    )
  const ended = asking === 'remove'
  return (
    <div className={selected.length === 0 ? 'selection selection-empty' : 'selection'}>
      {selected.length > 0 && (
        <>
          <strong>{selected.length} selected</strong>
          {button('stop', 'Stop', mayStop)}
          {button('remove', 'Remove', mayRemove)}
          {offers.compare !== null && (
            <Link href={offers.compare} className="button button-small">
              Compare
            </Link>
          )}
          <button type="button" className="button button-small button-quiet" onClick={onClear}>
            Clear
          </button>
        </>
      )}
      <span role="status">{said}</span>
      <Dialog.Root open={asking !== null} onOpenChange={(open) => !open && setAsking(null)}>
        <Dialog.Portal>
          <Dialog.Backdrop className="backdrop" />
          <Dialog.Popup className="dialog">
            <Dialog.Title className="dialog-title">
              {ended ? `Remove ${offers.remove.length} instances?` : `Stop ${offers.stop.length} instances?`}
            </Dialog.Title>
            <Dialog.Description>
              {ended
                ? 'Their events, data and work that was not promoted are deleted for good.'
                : 'Their resolvers are asked to end and get time to clean up. Their results so far are kept.'}
            </Dialog.Description>
            <div className="form-end">
              <button
                type="button"
                className="button button-danger"
                onClick={() => asking !== null && void run(asking)}
              >
                {ended ? 'Remove them' : 'Stop them'}
              </button>
              <Dialog.Close className="button">{ended ? 'Keep them' : 'Leave them running'}</Dialog.Close>
            </div>
          </Dialog.Popup>
        </Dialog.Portal>
      </Dialog.Root>
    </div>
  )
}
