/** The targets of notifications. */
import type { Handlers } from '../request/operations.ts'
import type { AppParts } from '../request/parts.ts'

export function notifyHandlers({ platform }: AppParts) {
  return {
    getNotify: async () => platform.notify.list(),

    postNotify: async ({ body }) => platform.notify.add(body),

    deleteNotify: async ({ params }) => platform.notify.remove(params.name),

    postNotifyTest: async ({ params }) => platform.notify.test(params.name),
  } satisfies Partial<Handlers>
}
