/** The handlers for input requests, their answers, and messages (spec, Endpoints; R9, R25, R28). */
import { fail } from '../../core/errors.ts'
import type { Handlers } from '../request/operations.ts'
import { type AppParts, actorOf, callerOf } from '../request/parts.ts'

export function questionHandlers({ platform, access }: AppParts) {
  return {
    getInstanceInputRequests: async ({ params, query }) => platform.inputRequests(params.id, query.status),

    getInstanceInputRequest: async ({ params }) => {
      const all = await platform.inputRequests(params.id)
      const found = all.find((one) => one.id === params.rid)
      if (found === undefined) throw fail('request_unknown', { request: params.rid, instance: params.id })
      return found
    },

    postInstanceInputRequest: async ({ params, body, request }) =>
      platform.answer(params.id, params.rid, body, actorOf(request)),

    getInstanceMessageTypes: async ({ params }) => platform.messageTypes(params.id),

    getInstanceMessages: async ({ params, query: { after = 0 } }) => platform.messages(params.id, { after }),

    postInstanceMessages: async ({ params, body: { message_type: type, payload }, request }) => {
      const { number } = await platform.message(params.id, type, payload, actorOf(request))
      return { accepted: true, number }
    },

    postInstanceViewportToken: async ({ params, request }) => {
      await platform.record(params.id)
      return access.frameToken(callerOf(request), params.id)
    },
  } satisfies Partial<Handlers>
}
