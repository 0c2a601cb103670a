/** Decides how an action on an instance without a worker is refused: with the most specific error (R7, R25). */
import { fail, type ResolveError } from '../../errors.ts'
import type { JournalProjection } from '../../store/journal-projection.ts'
import type { Story } from '../../view/story.ts'

/** An action of a consumer on an instance. */
export interface Act {
  action: 'answer' | 'send a message to' | 'pause' | 'stop'
  /** For an answer: the id of the input request. */
  request?: string
  /** The idempotency key of the call. */
  key?: string
}

/** What an earlier host accepted for the same call: a message's number, true for an answer, undefined for neither. */
export function wasAccepted({ inbox }: JournalProjection, act: Act): { number: number } | true | undefined {
  if (act.key === undefined) return undefined
  if (act.request !== undefined) return inbox.answer(act.request)?.key === act.key ? true : undefined
  const number = inbox.numberOf(act.key)
  return number === undefined ? undefined : { number }
}

export function refusal(story: Story, act: Act): ResolveError {
  const { resolver, instance_id: instance } = story.creation
  if (act.action === 'answer' && act.request !== undefined) return answerRefusal(story, instance, act.request)
  if (act.action === 'pause' && resolver.manifest.supports_resume !== true) {
    return fail('resume_unsupported', { resolver: resolver.name })
  }
  return fail('invalid_state', { action: act.action, status: story.status })
}

function answerRefusal(story: Story, instance: string, requestId: string): ResolveError {
  const request = story.requests.find((candidate) => candidate.id === requestId)
  if (request === undefined) return fail('request_unknown', { request: requestId, instance })
  if (request.status !== 'answered') return fail('request_cancelled', { request: requestId })
  const { actor, via, answered_at: at } = request
  return fail('already_answered', { request: requestId, actor: actor ?? '', via: via ?? '', at: at ?? '' })
}
