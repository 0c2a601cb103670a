/**
 * The HTTP app: a platform in, requests answered out. It opens no port; {@link file://./http/listen.ts} does, and a host's own
 * socket. A request passes {@link file://./request/entry.ts}, its route, and, where anything is thrown, {@link file://./request/answer-errors.ts}.
 */
import swagger from '@fastify/swagger'
import { type FastifyInstance, fastify, LogController } from 'fastify'
import { fail } from '../core/errors.ts'
import { HTTP_BODY_MAX_BYTES, HTTP_HEADERS_MAX_BYTES } from '../core/limits.ts'
import { API } from '../core/protocol/http.ts'
import { DOCUMENT } from './openapi/openapi.ts'
import { addSchemas } from './openapi/schemas.ts'
import { answerError, answerFrameworkError } from './request/answer-errors.ts'
import { addEntry } from './request/entry.ts'
import { addIdempotency } from './request/idempotency.ts'
import { addJsonBody } from './request/json-body.ts'
import type { AppParts } from './request/parts.ts'
import { authRoutes } from './routes/auth.ts'
import { dataRoutes } from './routes/data.ts'
import { eventRoutes } from './routes/events.ts'
import { healthRoutes } from './routes/health.ts'
import { instanceRoutes } from './routes/instances.ts'
import { keepingRoutes } from './routes/keeping.ts'
import { messageRoutes } from './routes/messages.ts'
import { openapiRoutes } from './routes/openapi.ts'
import { pageRoutes } from './routes/page.ts'
import { requestRoutes } from './routes/requests.ts'
import { resolverRoutes } from './routes/resolvers.ts'

/** Ready to be injected into or listened with. Closing it does not close the platform. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const app = fastify({
    ...(parts.logger === undefined ? {} : { loggerInstance: parts.logger }),
    // Requests are seen by parts.observe, each once.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: HTTP_BODY_MAX_BYTES,
    // What comes while it closes is told so by the entry, in our words.
    return503OnClosing: false,
    frameworkErrors: answerFrameworkError,
    // Longer than any name; the routes say what they take.
    routerOptions: { maxParamLength: HTTP_HEADERS_MAX_BYTES },
  })
  parts.observe?.(app)
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(() => {
    throw fail('route_unknown', {})
  })
  addSchemas(app)
  addEntry(app, parts)
  addJsonBody(app)
  addIdempotency(app, parts)
  await app.register(swagger, DOCUMENT)
  await app.register(
    async (api) => {
      for (const routes of ROUTES) routes(api, parts)
    },
    { prefix: API },
  )
  pageRoutes(app, parts)
  await app.ready()
  return app
}

const ROUTES = [
  instanceRoutes,
  requestRoutes,
  messageRoutes,
  dataRoutes,
  eventRoutes,
  resolverRoutes,
  keepingRoutes,
  authRoutes,
  healthRoutes,
  openapiRoutes,
] as const
