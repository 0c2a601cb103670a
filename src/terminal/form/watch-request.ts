/** Watches one question while a person fills in its form: somebody else may answer it first, from anywhere (R25). */
import { fail, type ResolveError } from '../../core/errors.ts'
import type { Platform } from '../../core/index.ts'
import { applyEvent, type Story } from '../../core/view/story.ts'

export interface RequestWatch {
  /** Aborts when the question is open no more; the reason is the error that an answer would meet. */
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
  // A journal that cannot be followed takes nothing from the form: the platform refuses a late answer in any case.
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
