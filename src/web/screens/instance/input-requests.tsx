/**
 * The dock with the open input requests of an instance, one at a time, beside its tabs. If another consumer answers one meanwhile, a
 * notice says so and offers the typed text for copying (R25). Answered requests stay readable below.
 */
import { lazy, Suspense, useCallback, useEffect, useRef, useState } from 'react'
import { cleanText } from '../../../core/view/clean.ts'
import { pendingRequests, type Story, type StoryRequest } from '../../../core/view/story.ts'
import { dropDraft, readDraft } from '../../forms/drafts.ts'
import { Ago } from '../../parts/ago.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { draftOf, RequestForm } from '../request-form.tsx'

const Markdown = lazy(() => import('./data/markdown.tsx'))

export function InputRequests({ id, story }: { id: string; story: Story }) {
  const pending = pendingRequests(story)
  // The requests shown so far: a notice reports when one of them is closed.
  const shown = useRef(new Set<string>())
  const answeredHere = useRef(new Set<string>())
  const onSending = useCallback((request: string, isSending: boolean) => {
    if (isSending) answeredHere.current.add(request)
    else answeredHere.current.delete(request)
  }, [])
  const [dismissed, setDismissed] = useState<readonly string[]>([])
  const [chosen, setChosen] = useState<string | undefined>(undefined)
  const [isFolded, setFolded] = useState(false)
  const place = Math.max(
    0,
    pending.findIndex((request) => keyOf(request) === chosen),
  )
  const current = pending[place]
  const dock = useRef<HTMLElement>(null)
  useNextFocus(dock, current === undefined ? undefined : keyOf(current), answeredHere)
  useEffect(() => {
    for (const request of pending) shown.current.add(keyOf(request))
  })
  const gone = story.requests.filter(
    (request) =>
      request.status !== 'pending' &&
      shown.current.has(keyOf(request)) &&
      !answeredHere.current.has(request.id) &&
      !dismissed.includes(keyOf(request)),
  )
  const answered = story.requests.filter((request) => request.status === 'answered')
  if (pending.length === 0 && gone.length === 0) return null
  const step = (by: number) => {
    const next = pending[(place + by + pending.length) % pending.length]
    if (next !== undefined) setChosen(keyOf(next))
  }
  return (
    <aside className="dock" aria-label="Questions" ref={dock} data-folded={isFolded || undefined}>
      {pending.length > 0 && (
        <div className="dock-top">
          <button type="button" className="dock-fold" aria-expanded={!isFolded} onClick={() => setFolded(!isFolded)}>
            <span aria-hidden="true">{isFolded ? '▸' : '▾'}</span>{' '}
            {pending.length === 1 ? 'Question' : `Question ${place + 1} of ${pending.length}`}
          </button>
          {pending.length > 1 && !isFolded && (
            <span className="dock-steps">
              <button type="button" className="button button-small" onClick={() => step(-1)}>
                Previous
              </button>
              <button type="button" className="button button-small" onClick={() => step(1)}>
                Next
              </button>
            </span>
          )}
        </div>
      )}
      {gone.map((request) => (
        <Gone
          key={keyOf(request)}
          request={request}
          typed={typedIn(id, request)}
          onDismiss={() => {
            dropDraft(draftOf(id, request.id))
            setDismissed((before) => [...before, keyOf(request)])
          }}
        />
      ))}
      {pending.map((request, at) => (
        <section
          key={keyOf(request)}
          className="card question"
          data-request-id={request.id}
          aria-labelledby={`q-${request.id}`}
          hidden={isFolded || at !== place}
        >
          <p className="question-from">
            <span aria-hidden="true">◆</span> {story.creation.resolver.name} asks · <Ago at={request.asked_at} />
          </p>
          <div className="question-prompt question-text" id={`q-${request.id}`} tabIndex={-1}>
            <Suspense fallback={cleanText(request.prompt)}>
              <Markdown text={cleanText(request.prompt)} />
            </Suspense>
          </div>
          <RequestForm instance={id} resolver={story.creation.resolver.name} request={request} onSending={onSending} />
        </section>
      ))}
      {answered.length > 0 && !isFolded && pending.length > 0 && (
        <details className="dock-answered">
          <summary>
            {answered.length} answered {answered.length === 1 ? 'question' : 'questions'}
          </summary>
          <ol>
            {answered.map((request) => (
              <li key={keyOf(request)}>
                {cleanText(request.prompt)} <span className="quiet">{whoAnswered(request)}</span>
              </li>
            ))}
          </ol>
        </details>
      )}
    </aside>
  )
}

/** After an answer was sent here, the focus goes to the next question. */
function useNextFocus(
  dock: React.RefObject<HTMLElement | null>,
  current: string | undefined,
  answeredHere: React.RefObject<Set<string>>,
): void {
  const before = useRef({ current, answered: 0 })
  useEffect(() => {
    const answered = answeredHere.current.size
    const isNext = before.current.current !== current && answered > before.current.answered
    before.current = { current, answered: isNext || current === undefined ? answered : before.current.answered }
    if (isNext) dock.current?.querySelector<HTMLElement>('section:not([hidden]) .question-text')?.focus()
  }, [current, dock, answeredHere])
}

function whoAnswered({ actor, via }: StoryRequest): string {
  return actor === null ? 'another consumer' : `${actor}${via === null ? '' : ` (${via})`}`
}

function Gone({ request, typed, onDismiss }: { request: StoryRequest; typed: string; onDismiss: () => void }) {
  const who = whoAnswered(request)
  return (
    <section className="notice notice-empty gone" data-request-id={request.id} role="status">
      <p>
        {request.status === 'answered' ? `“${request.id}” was answered by ${who}.` : `“${request.id}” was withdrawn.`}
        {typed !== '' && ' The text that you typed was not sent.'}
      </p>
      <div className="form-end">
        {typed !== '' && <CopyButton text={typed}>Copy what I typed</CopyButton>}
        <button type="button" className="button button-small" onClick={onDismiss}>
          Dismiss
        </button>
      </div>
    </section>
  )
}

function typedIn(id: string, request: StoryRequest): string {
  const texts = Object.values(readDraft(draftOf(id, request.id)) ?? {})
  return texts.filter((value) => typeof value === 'string' && value.trim() !== '').join('\n')
}

/** A withdrawn request can be opened again, with a new time. */
function keyOf({ id, asked_at }: StoryRequest): string {
  return `${id} ${asked_at}`
}
