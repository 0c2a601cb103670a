/** Watches an input request while its form is open: another consumer may answer it first (R25). */
import { fail, type ResolveError } from '../../core/errors.ts'
import type { Platform } from '../../core/index.ts'
import { applyEvent, type Story } from '../../core/view/story.ts'

export interface RequestWatch {
  /** Aborts when the request is no longer open; the reason is the error that an answer would now get. */
  signal: AbortSignal
  stop(): void
}

export async function watchRequest(platform: Platform, id: string, requestId: string): Promise<RequestWatch> {
  const closed = new AbortController()
  const stopped = new AbortController()
  const story = await platform.story(id)
  const follow = async () => {
    for await (const { seq, event } of platform.events(id, {
      after: story.lastSeq,
      follow: true,
      signal: stopped.signal,
    })) {
      applyEvent(story, seq, event)
      const error = closedBy(story, requestId)
      if (error !== undefined) return closed.abort(error)
    }
  }
  // If the journal cannot be followed, the form stays open: the platform refuses a late answer anyway.
  follow().catch(() => undefined)
  return { signal: closed.signal, stop: () => stopped.abort() }
}

function closedBy(story: Story, requestId: string): ResolveError | undefined {
  const request = story.requests.find((one) => one.id === requestId)
  if (request === undefined || request.status === 'pending') return undefined
  if (request.status === 'cancelled') return fail('request_cancelled', { request: requestId })
  const { actor, via, answered_at: at } = request
  return fail('already_answered', { request: requestId, actor: actor ?? '', via: via ?? '', at: at ?? '' })
}
