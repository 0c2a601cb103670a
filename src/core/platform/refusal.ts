/** What is asked of an instance that has no worker: the clearest reason why it cannot be done (R7, R25). */
import { fail, type ResolveError } from '../errors.ts'
import type { ControlCalls } from '../host/control-socket.ts'
import { Mailbox } from '../host/mailbox.ts'
import type { Actor } from '../protocol/instance.ts'
import type { InstancePaths } from '../store/home.ts'
import type { Story } from '../view/story.ts'

/** What a host that went away had accepted of this very call: a message's number, true for an answer; else undefined. */
export function wasAccepted(paths: InstancePaths, params: object): number | true | undefined {
  const { actor, request_id: request } = params as { actor?: Actor; request_id?: string }
  if (actor?.key === undefined) return undefined
  const mailbox = new Mailbox(paths.mailbox)
  if (request === undefined) return mailbox.findMessage(actor.key)
  return mailbox.readAnswer(request)?.key === actor.key ? true : undefined
}

export function refusal(story: Story, name: keyof ControlCalls, params: object): ResolveError {
  const { resolver, instance_id: instance } = story.birth
  if (name === 'host.answer' && 'request_id' in params) return answerRefusal(story, instance, String(params.request_id))
  if (name === 'host.pause' && resolver.manifest.supports_resume !== true) {
    return fail('resume_unsupported', { resolver: resolver.name })
  }
  return fail('invalid_state', { action: ACTIONS[name], status: story.status })
}

function answerRefusal(story: Story, instance: string, requestId: string): ResolveError {
  const request = story.requests.find((candidate) => candidate.id === requestId)
  if (request === undefined) return fail('request_unknown', { request: requestId, instance })
  if (request.status !== 'answered') return fail('request_cancelled', { request: requestId })
  const { actor, via, answered_at: at } = request
  return fail('already_answered', { request: requestId, actor: actor ?? '', via: via ?? '', at: at ?? '' })
}

const ACTIONS: Record<keyof ControlCalls, string> = {
  'host.answer': 'answer',
  'host.messageTypes': 'send a message to',
  'host.message': 'send a message to',
  'host.pause': 'pause',
  'host.stop': 'stop',
}
