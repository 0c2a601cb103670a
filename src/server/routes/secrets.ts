/** The named secrets of the operator (R55). */
import type { Handlers } from '../request/operations.ts'
import type { AppParts } from '../request/parts.ts'

export function secretHandlers({ platform }: AppParts) {
  return {
    getSecrets: async () => platform.secrets.list(),

    postSecrets: async ({ body: { name, value } }) => platform.secrets.set(name, { from: 'value', text: value }),

    deleteSecret: async ({ params }) => platform.secrets.remove(params.name),
  } satisfies Partial<Handlers>
}
