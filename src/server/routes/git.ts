/** The handlers for the repositories of an instance. */
import type { Handlers } from '../request/operations.ts'
import { type AppParts, actorOf } from '../request/parts.ts'

export function gitHandlers({ platform }: AppParts) {
  return {
    postInstancePromote: async ({ params: { id, repo }, body, request }) =>
      platform.git.promote(id, repo, body ?? {}, actorOf(request)),
  } satisfies Partial<Handlers>
}
