/** The named secrets of the operator (R55). */
import type { Handlers } from '../request/operations.ts'
import type { AppParts } from '../request/parts.ts'

export function secretHandlers({ platform }: AppParts) {
  return {
    getSecrets: async () => platform.secrets(),

    postSecrets: async ({ body: { name, value } }) => platform.setSecret(name, { from: 'value', text: value }),

    deleteSecret: async ({ params }) => platform.removeSecret(params.name),
  } satisfies Partial<Handlers>
}
