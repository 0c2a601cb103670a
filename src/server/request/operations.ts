/** Makes a route of every operation of the table: its address, scope and checks come from there, its handler from `routes/`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '../../core/protocol/api/operation.ts'
import {
  type BodyOf,
  OPERATIONS,
  type OperationName,
  type ParamsOf,
  type QueryOf,
  type ResultOf,
} from '../../core/protocol/api/operations.ts'
import { sendJson } from './send-json.ts'

/** A request that was let in and checked. */
export interface Call<N extends OperationName> {
  params: ParamsOf<N>
  query: QueryOf<N>
  body: BodyOf<N>
  request: FastifyRequest
  reply: FastifyReply
}

/** Gives the result, which is sent with the status of the table; or sends something itself and gives the reply. */
export type Handler<N extends OperationName> = (call: Call<N>) => Given<N> | Promise<Given<N>>

type Given<N extends OperationName> = [ResultOf<N>] extends [never] ? unknown : FastifyReply | ResultOf<N>

export type Handlers = { [N in OperationName]: Handler<N> }

/** Adds the operations that have a handler here. */
export function addOperations(app: FastifyInstance, handlers: Partial<Handlers>): void {
  for (const name of Object.keys(handlers) as OperationName[]) {
    const handler = handlers[name]
    if (handler !== undefined) addOperation(app, OPERATIONS[name], handler)
  }
}

function addOperation(app: FastifyInstance, operation: Operation, handler: (call: never) => unknown): void {
  const { method, path, scope, narrows = false, query, headers, body, answers } = operation
  const [first] = Object.entries(answers)
  const [status, answer] = first as NonNullable<typeof first>
  app.route({
    method,
    url: path.replace(/\{\+\w+\}/, '*').replace(/\{(\w+)\}/g, ':$1'),
    // A HEAD of a stream would be a stream that is never read.
    exposeHeadRoute: answer.type !== 'text/event-stream',
    config: { needs: scope ?? 'nobody', narrows },
    schema: {
      ...(query === undefined ? {} : { querystring: query }),
      ...(headers === undefined ? {} : { headers }),
      ...(body === undefined ? {} : { body }),
    },
    handler: async (request, reply) => {
      const { '*': rest, ...parts } = request.params as Record<string, string>
      const params = rest === undefined ? parts : { ...parts, path: rest }
      const call = { params, query: request.query, body: request.body, request, reply }
      const result = await handler(call as never)
      if (result === reply || reply.sent) return reply
      reply.code(Number(status))
      return answer.json === undefined ? reply.send() : sendJson(reply, result)
    },
  })
}
