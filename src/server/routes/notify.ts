/** The targets of notifications. */
import type { Handlers } from '../request/operations.ts'
import type { AppParts } from '../request/parts.ts'

export function notifyHandlers({ platform }: AppParts) {
  return {
    getNotify: async () => platform.notifyTargets(),

    postNotify: async ({ body }) => platform.addNotify(body),

    deleteNotify: async ({ params }) => platform.removeNotify(params.name),

    postNotifyTest: async ({ params }) => platform.testNotify(params.name),
  } satisfies Partial<Handlers>
}
