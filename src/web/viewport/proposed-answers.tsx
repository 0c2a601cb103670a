/**
 * Asks the person, in the page's own part of the screen, before an answer of a viewport is sent: the frame is untrusted and could
 * answer another question than the one it shows (threats UI-3).
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import type { InputRequest } from '../../core/protocol/instance.ts'
import { JsonView } from '../parts/json-view.tsx'
import type { Agree, ProposedAnswer } from './serve-frame.ts'

interface Proposal {
  answer: ProposedAnswer
  resolve: (isAgreed: boolean) => void
}

/** Further answers are refused while so many wait for the person. */
const WAITING_MAX = 3
/** A view could make the button appear where the person is about to click. */
const READING_MS = 700

export function useProposedAnswers() {
  const [proposals, setProposals] = useState<readonly Proposal[]>([])
  const latest = useRef(proposals)
  latest.current = proposals

  const agree = useCallback<Agree>(
    (answer) =>
      new Promise((resolve) => {
        if (latest.current.length >= WAITING_MAX) return resolve(false)
        latest.current = [...latest.current, { answer, resolve }]
        setProposals(latest.current)
      }),
    [],
  )
  const decide = (isAgreed: boolean) => {
    const [first, ...rest] = latest.current
    latest.current = rest
    setProposals(rest)
    first?.resolve(isAgreed)
  }
  // A view that is closed answers nothing.
  useEffect(() => () => latest.current.forEach(({ resolve }) => void resolve(false)), [])
  return { proposed: proposals[0]?.answer, agree, decide }
}

interface ProposedAnswersProps {
  proposed: ProposedAnswer | undefined
  requests: readonly InputRequest[]
  onDecision: (isAgreed: boolean) => void
}

export function ProposedAnswers({ proposed, requests, onDecision }: ProposedAnswersProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const [isReady, setReady] = useState(false)
  useEffect(() => {
    setReady(false)
    if (proposed === undefined) return
    heading.current?.focus()
    const timer = setTimeout(() => setReady(true), READING_MS)
    return () => clearTimeout(timer)
  }, [proposed])
  if (proposed === undefined) return null
  const request = requests.find(({ id }) => id === proposed.request)
  return (
    <section className="notice notice-proposal" aria-labelledby="proposal-heading">
      <h3 id="proposal-heading" ref={heading} tabIndex={-1}>
        The view wants to send this answer in your name
      </h3>
      <p>{request === undefined ? `To the input request "${proposed.request}", which is not open.` : request.prompt}</p>
      <JsonView value={proposed.payload} label="The answer" />
      <p className="actions">
        <button type="button" className="button button-main" disabled={!isReady} onClick={() => onDecision(true)}>
          Send this answer
        </button>
        <button type="button" className="button" onClick={() => onDecision(false)}>
          Do not send it
        </button>
      </p>
    </section>
  )
}
