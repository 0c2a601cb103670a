/** Adds a route for every operation of the table. The table gives address, scope and checks; the handlers are in `routes/`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { Operation } from '../../core/protocol/api/operation.ts'
import {
  type BodyOf,
  OPERATIONS,
  type OperationName,
  type ParamsOf,
  type QueryOf,
  type ResultOf,
} from '../../core/protocol/api/operations.ts'
import type { Schema } from '../../core/schema/schema.ts'
import { addArchiveBody } from './archive-body.ts'
import { sendJson } from './send-json.ts'

/** A request that passed the access and schema checks. */
export interface Call<N extends OperationName> {
  params: ParamsOf<N>
  query: QueryOf<N>
  body: BodyOf<N>
  request: FastifyRequest
  reply: FastifyReply
}

/** Returns the result, which is sent with the table's status, or sends the answer itself and returns the reply. */
export type Handler<N extends OperationName> = (call: Call<N>) => Given<N> | Promise<Given<N>>

type Given<N extends OperationName> = [ResultOf<N>] extends [never] ? unknown : FastifyReply | ResultOf<N>

export type Handlers = { [N in OperationName]: Handler<N> }

/** Adds the operations that have a handler here. Without `uploads`, archives are refused before they are read. */
export function addOperations(app: FastifyInstance, handlers: Partial<Handlers>, uploads = false): void {
  for (const name of Object.keys(handlers) as OperationName[]) {
    const handler = handlers[name]
    if (handler === undefined) continue
    const operation: Operation = OPERATIONS[name]
    if (operation.takes === undefined) addOperation(app, operation, handler)
    else addUpload(app, operation, operation.takes, { handler, uploads })
  }
}

/** In a context of its own: no other route takes such a body, and this one takes no other. */
function addUpload(
  app: FastifyInstance,
  operation: Operation,
  type: string,
  { handler, uploads }: { handler: (call: never) => unknown; uploads: boolean },
): void {
  app.register((alone, _options, done) => {
    alone.addHook('onRequest', async (_request, reply) => {
      if (uploads) return
      reply.header('connection', 'close')
      throw fail('uploads_off', {})
    })
    addArchiveBody(alone, type)
    addOperation(alone, operation, handler)
    done()
  })
}

function addOperation(app: FastifyInstance, operation: Operation, handler: (call: never) => unknown): void {
  const { method, path, scope, narrows = false, takes, query, headers, body, answers } = operation
  const [first] = Object.entries(answers)
  const [status, answer] = first as NonNullable<typeof first>
  app.route({
    method,
    url: path.replace(/\{\+\w+\}/, '*').replace(/\{(\w+)\}/g, ':$1'),
    // A HEAD request would open a stream that is never read.
    exposeHeadRoute: answer.type !== 'text/event-stream',
    config: { needs: scope ?? 'none', narrows, ...(takes === undefined ? {} : { takes }) },
    schema: {
      ...(query === undefined ? {} : { querystring: query }),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
    },
    handler: async (request, reply) => {
      const { '*': rest, ...parts } = request.params as Record<string, string>
      const params = rest === undefined ? parts : { ...parts, path: rest }
      const call = { params, query: request.query, body: declaredPart(body, request.body), request, reply }
      const result = await handler(call as never)
      if (result === reply || reply.sent) return reply
      reply.code(Number(status))
      return answer.json === undefined ? reply.send() : sendJson(reply, result)
    },
  })
}

/**
 * A body without the top-level keys that its schema does not name: they are ignored (R51), so no handler may pass them on. A schema that
 * names no keys is for payloads, which stay as they are.
 */
function declaredPart(schema: Schema | undefined, body: unknown): unknown {
  const { properties, anyOf } = (schema ?? {}) as { properties?: object; anyOf?: readonly Schema[] }
  const names = new Set(
    [properties, ...(anyOf ?? []).map((one) => one['properties'] as object | undefined)].flatMap(keys),
  )
  if (names.size === 0 || !isObject(body)) return body
  return Object.fromEntries(Object.entries(body).filter(([name]) => names.has(name)))
}

function keys(properties: object | undefined): string[] {
  return properties === undefined ? [] : Object.keys(properties)
}
