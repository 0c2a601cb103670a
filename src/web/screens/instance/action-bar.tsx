/** The buttons to pause, resume, stop and cancel. A button that is disabled shows the reason. */
import { Dialog } from '@base-ui/react/dialog'
import { Tooltip } from '@base-ui/react/tooltip'
import { type FormEvent, useState } from 'react'
import { isTerminal, type Status } from '../../../core/protocol/status.ts'
import type { StoryStop } from '../../../core/view/story.ts'
import { cancel, pause, resume, stop } from '../../api/calls.ts'
import { sentenceOf } from '../../api/problem.ts'
import { OFFLINE_WHY, useReachable } from '../../api/reach.ts'
import { useMayAct } from '../../parts/use-session.ts'
import { type Action, type Offer, offersOf } from './actions.ts'
import { StopProgress } from './stop-progress.tsx'

/** What tells Stop and Cancel apart before either is pressed. */
const HINTS: Readonly<Partial<Record<Action, string>>> = {
  stop: 'Asks the resolver to end; it gets time to clean up',
  cancel: 'Ends it permanently, without asking for a reason',
}

const LABELS: Readonly<Record<Action, string>> = { pause: 'Pause', resume: 'Resume', stop: 'Stop', cancel: 'Cancel' }

/** Shown from the request until an event reports its effect. */
const UNDER_WAY: Readonly<Record<Action, string>> = {
  pause: 'Pause requested…',
  resume: 'Resuming…',
  stop: 'Stop requested…',
  cancel: 'Cancelling…',
}

interface ActionBarProps {
  id: string
  status: Status
  supportsResume: boolean
  /** A stop that was under way when the page was read. */
  stop?: StoryStop | undefined
}

export function ActionBar({ id, status, supportsResume, stop: before }: ActionBarProps) {
  const mayAct = useMayAct()
  const isOnline = useReachable()
  const offers = offersOf(status, supportsResume, mayAct).map((offer) =>
    isOnline ? offer : { ...offer, why: OFFLINE_WHY },
  )
  const [asked, setAsked] = useState<StoryStop | undefined>(before)
  const stopping = isTerminal(status) || status === 'paused' ? undefined : asked
  const [confirming, setConfirming] = useState<'stop' | 'cancel' | null>(null)
  const [done, setDone] = useState<{ action: Action; from: Status } | null>(null)
  const [trouble, setTrouble] = useState<string | null>(null)

  const run = async (action: Action, reason = '', force = false) => {
    setConfirming(null)
    setTrouble(null)
    setDone({ action, from: status })
    const calls = {
      pause: () => pause(id),
      resume: () => resume(id),
      stop: () => stop(id, reason, force),
      cancel: () => cancel(id),
    }
    try {
      await calls[action]()
      if (action === 'stop' || action === 'cancel') setAsked({ reason, force, requested_at: new Date().toISOString() })
    } catch (error) {
      setTrouble(sentenceOf(error))
      setDone(null)
    }
  }
  const begin = (action: Action) => {
    if (action === 'stop' || action === 'cancel') setConfirming(action)
    else void run(action)
  }
  return (
    <div className="actions" role="group" aria-label="Actions">
      {offers.map((offer) => (
        <ActionButton key={offer.action} offer={offer} onPress={() => begin(offer.action)} />
      ))}
      <span role="status" className="quiet">
        {done !== null && done.from === status ? UNDER_WAY[done.action] : ''}
      </span>
      {stopping !== undefined && (
        <StopProgress stop={stopping} mayAct={mayAct} onForce={() => void run('stop', stopping.reason, true)} />
      )}
      {trouble !== null && (
        <p className="notice notice-trouble" role="alert">
          {trouble}
        </p>
      )}
      <Confirm
        action={confirming}
        onClose={() => setConfirming(null)}
        onConfirm={(action, reason) => void run(action, reason)}
      />
    </div>
  )
}

function ActionButton({ offer: { action, why }, onPress }: { offer: Offer; onPress: () => void }) {
  const className = `button${action === 'cancel' ? ' button-danger' : ''}`
  if (why === null) {
    return (
      <button type="button" className={className} title={HINTS[action]} onClick={onPress}>
        {LABELS[action]}
      </button>
    )
  }
  return (
    <Tooltip.Root>
      <Tooltip.Trigger className={className} aria-disabled="true" aria-describedby={`why-${action}`} type="button">
        {LABELS[action]}
      </Tooltip.Trigger>
      <span className="out-of-sight" id={`why-${action}`}>
        {why}
      </span>
      <Tooltip.Portal>
        <Tooltip.Positioner className="popup-place" sideOffset={6} collisionPadding={8}>
          <Tooltip.Popup className="popup tip">{why}</Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}

interface ConfirmProps {
  action: 'stop' | 'cancel' | null
  onClose: () => void
  onConfirm: (action: 'stop' | 'cancel', reason: string) => void
}

const QUESTIONS = {
  stop: {
    title: 'Stop this instance?',
    text: 'The resolver is asked to end, and gets time to clean up and to report. You can give it a reason. Its results so far are kept.',
    yes: 'Stop it',
    no: 'Leave it running',
  },
  cancel: {
    title: 'Cancel this instance?',
    text: 'It ends permanently and can’t be resumed. Its results so far are kept.',
    yes: 'Cancel it',
    no: 'Keep it',
  },
} as const

function Confirm({ action, onClose, onConfirm }: ConfirmProps) {
  const [reason, setReason] = useState('')
  const words = QUESTIONS[action ?? 'stop']
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (action !== null) onConfirm(action, reason.trim())
  }
  return (
    <Dialog.Root open={action !== null} onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{words.title}</Dialog.Title>
          <Dialog.Description>{words.text}</Dialog.Description>
          <form className="form" onSubmit={submit}>
            {action === 'stop' && (
              <div className="field">
                <label htmlFor="reason">Reason</label>
                <input
                  id="reason"
                  type="text"
                  autoComplete="off"
                  value={reason}
                  maxLength={500}
                  onChange={(event) => setReason(event.target.value)}
                />
                <p className="field-about">The resolver receives the reason, and the events record it.</p>
              </div>
            )}
            <div className="form-end">
              <button type="submit" className="button button-danger">
                {words.yes}
              </button>
              <Dialog.Close className="button">{words.no}</Dialog.Close>
            </div>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
