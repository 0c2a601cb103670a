/**
 * The HTTP app: answers requests with a platform. It opens no port: {@link file://./http/listen.ts} and a host's own socket
 * do. A request passes {@link file://./request/entry.ts} and its route; {@link file://./request/answer-errors.ts} answers
 * anything thrown.
 */
import { type FastifyInstance, fastify, LogController } from 'fastify'
import { HTTP_BODY_MAX_BYTES, HTTP_HEADERS_MAX_BYTES } from '../core/limits.ts'
import { API } from '../core/protocol/http.ts'
import { addCompression } from './http/compression.ts'
import { answerError, answerFrameworkError } from './request/answer-errors.ts'
import { addEntry } from './request/entry.ts'
import { addIdempotency } from './request/idempotency.ts'
import { addJsonBody } from './request/json-body.ts'
import { addOperations, type Handlers } from './request/operations.ts'
import type { AppParts } from './request/parts.ts'
import { addValidation } from './request/validation.ts'
import { authHandlers } from './routes/auth.ts'
import { dataHandlers } from './routes/data.ts'
import { eventHandlers } from './routes/events.ts'
import { gitHandlers } from './routes/git.ts'
import { inboxHandlers } from './routes/inbox.ts'
import { instanceHandlers } from './routes/instances.ts'
import { listHandlers } from './routes/list.ts'
import { logHandlers } from './routes/logs.ts'
import { notifyHandlers } from './routes/notify.ts'
import { notFoundOf, pageRoutes } from './routes/page.ts'
import { questionHandlers } from './routes/questions.ts'
import { resolverHandlers } from './routes/resolvers.ts'
import { scheduleHandlers } from './routes/schedules.ts'
import { secretHandlers } from './routes/secrets.ts'
import { healthHandlers, serverHandlers } from './routes/server.ts'

/** Ready to be injected into or listened with. Closing the app does not close the platform. */
export async function buildApp(parts: AppParts): Promise<FastifyInstance> {
  const app = fastify({
    ...(parts.logger === undefined ? {} : { loggerInstance: parts.logger }),
    // `parts.observe` logs each request once.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: HTTP_BODY_MAX_BYTES,
    // The entry refuses requests during a shutdown, with our own error body.
    return503OnClosing: false,
    frameworkErrors: answerFrameworkError,
    // Longer than any name; each route checks its own parameters.
    routerOptions: { maxParamLength: HTTP_HEADERS_MAX_BYTES },
  })
  parts.observe?.(app)
  app.setErrorHandler(answerError)
  app.setNotFoundHandler(notFoundOf(parts))
  addValidation(app)
  addEntry(app, parts)
  addJsonBody(app)
  addIdempotency(app, parts)
  addCompression(app)
  await app.register(async (api) => addOperations(api, handlersOf(api, parts), parts.uploads), { prefix: API })
  pageRoutes(app, parts)
  await app.ready()
  return app
}

/** One handler for each operation: the compiler reports a missing one. */
function handlersOf(app: FastifyInstance, parts: AppParts): Handlers {
  return {
    ...listHandlers(parts),
    ...instanceHandlers(parts),
    ...gitHandlers(parts),
    ...questionHandlers(parts),
    ...inboxHandlers(parts),
    ...dataHandlers(parts),
    ...eventHandlers(app, parts),
    ...logHandlers(app, parts),
    ...resolverHandlers(parts),
    ...notifyHandlers(parts),
    ...scheduleHandlers(parts),
    ...secretHandlers(parts),
    ...serverHandlers(parts),
    ...healthHandlers(parts),
    ...authHandlers(parts),
  }
}
