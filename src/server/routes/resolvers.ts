/** The catalog: its resolvers, their forms and viewports (spec, Endpoints; R9, R10). */
import { fail } from '../../core/errors.ts'
import type { Payload } from '../../core/index.ts'
import { PREPARING_WAIT_MS } from '../../core/limits.ts'
import { visibleEntry } from '../access/visibility.ts'
import { archiveOf } from '../request/archive-body.ts'
import { parseBody } from '../request/json-body.ts'
import type { Handlers } from '../request/operations.ts'
import { type AppParts, callerOf } from '../request/parts.ts'

export function resolverHandlers({ platform }: AppParts) {
  return {
    getResolvers: async ({ request }) => {
      const { isOwner } = callerOf(request)
      return (await platform.resolvers()).map((entry) => visibleEntry(entry, isOwner))
    },

    postResolvers: async ({ query, request }) => {
      const { isOwner } = callerOf(request)
      const { sha256, force, dry_run: dryRun } = query
      const { plan, entry } = await platform.addArchive(archiveOf(request), { sha256, force, dryRun })
      return {
        plan: { ...plan, replaces: plan.replaces && visibleEntry(plan.replaces, isOwner) },
        resolver: entry && visibleEntry(entry, isOwner),
      }
    },

    getResolver: async ({ params, request }) =>
      visibleEntry(await platform.resolver(params.name), callerOf(request).isOwner),

    deleteResolver: async ({ params, request }) =>
      visibleEntry(await platform.removeResolver(params.name), callerOf(request).isOwner),

    getResolverSchema: async ({ params, query }) =>
      platform.schema(params.name, paramsOf(query.params), patience(query.wait)),

    postResolverCheck: async ({ params, body }) => platform.check(params.name, body.input, patience(body.wait)),

    getResolverViewportJs: async ({ params, reply }) => {
      const module = await platform.viewport(params.name)
      return reply.type('text/javascript; charset=utf-8').send(module)
    },
  } satisfies Partial<Handlers>
}

/** How long a question waits for the setup of its resolver (R48). */
function patience(seconds: number | undefined): { waitMs: number } {
  return { waitMs: seconds === undefined ? PREPARING_WAIT_MS : seconds * 1_000 }
}

/** R10: URL-encoded JSON. Null where none were given (R52). */
function paramsOf(text: string | undefined): Payload | null {
  if (text === undefined || text === '') return null
  const value = parseBody(Buffer.from(text), 'params')
  if (value === null) return null
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Payload
  throw fail('request_invalid', { problem: 'params must be an object' })
}
