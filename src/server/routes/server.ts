/** The server itself: health, metrics, its document, pruning and the doctor (R9, R37). */
import { openApiDocument } from '../openapi/document.ts'
import type { Handlers } from '../request/operations.ts'
import type { AppParts, HealthParts } from '../request/parts.ts'

export function serverHandlers({ platform }: AppParts) {
  return {
    postPrune: async ({ body }) => platform.prune(body),

    getDoctor: async () => platform.health(),

    postDoctor: async ({ body }) => platform.health({ fix: body?.fix ?? false }),

    getOpenapiJson: () => openApiDocument(),
  } satisfies Partial<Handlers>
}

/** Health and metrics need no platform. */
export function healthHandlers({ health, metrics }: HealthParts) {
  return {
    getHealth: () => health?.() ?? { status: 'ok' },

    getMetrics: async ({ reply }) => {
      const { text, type } = (await metrics?.read()) ?? { text: '', type: 'text/plain; charset=utf-8' }
      return reply.type(type).send(text)
    },
  } satisfies Partial<Handlers>
}
