/**
 * The open input requests of an instance, above its tabs. If another consumer answers one meanwhile, a notice says so and offers the
 * typed text for copying (R25).
 */
import { useCallback, useEffect, useRef, useState } from 'react'
import { cleanText } from '../../../core/view/clean.ts'
import { pendingRequests, type Story, type StoryRequest } from '../../../core/view/story.ts'
import { dropDraft, readDraft } from '../../forms/drafts.ts'
import { Ago } from '../../parts/ago.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { draftOf, RequestForm } from '../request-form.tsx'

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
  return (
    <>
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
      {pending.map((request) => (
        <section
          key={keyOf(request)}
          className="card question"
          data-request-id={request.id}
          aria-labelledby={`q-${request.id}`}
        >
          <p className="question-from">
            <span aria-hidden="true">◆</span> {story.creation.resolver.name} asks · <Ago at={request.asked_at} />
          </p>
          <h2 className="question-prompt" id={`q-${request.id}`}>
            {cleanText(request.prompt)}
          </h2>
          <RequestForm instance={id} resolver={story.creation.resolver.name} request={request} onSending={onSending} />
        </section>
      ))}
    </>
  )
}

function Gone({ request, typed, onDismiss }: { request: StoryRequest; typed: string; onDismiss: () => void }) {
  const who =
    request.actor === null ? 'another consumer' : `${request.actor}${request.via === null ? '' : ` (${request.via})`}`
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
