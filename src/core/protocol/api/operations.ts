/**
 * Every operation of the HTTP API by its name: the only place where operations are declared. The server's routes and its
 * OpenAPI document, the remote platform and the page derive from this table, including types and validators.
 */

import type { Schema } from '../../schema/schema.ts'
import { INSTANCE_OPERATIONS } from './instances.ts'
import { NOTIFY_OPERATIONS } from './notify.ts'
import type { Body, OperationAnswer, Params, Query, QueryValues, Result } from './operation.ts'
import { PROMOTION_OPERATIONS } from './promotion.ts'
import { QUESTION_OPERATIONS } from './questions.ts'
import { RESOLVER_OPERATIONS } from './resolvers.ts'
import { SCHEDULE_OPERATIONS } from './schedules.ts'
import { SECRET_OPERATIONS } from './secrets.ts'
import { SERVER_OPERATIONS } from './server.ts'

export const OPERATIONS = {
  ...INSTANCE_OPERATIONS,
  ...PROMOTION_OPERATIONS,
  ...QUESTION_OPERATIONS,
  ...RESOLVER_OPERATIONS,
  ...NOTIFY_OPERATIONS,
  ...SCHEDULE_OPERATIONS,
  ...SECRET_OPERATIONS,
  ...SERVER_OPERATIONS,
} as const

export type Operations = typeof OPERATIONS
export type OperationName = keyof Operations

export type ParamsOf<N extends OperationName> = Params<Operations[N]>
export type QueryOf<N extends OperationName> = Query<Operations[N]>
export type BodyOf<N extends OperationName> = Body<Operations[N]>
export type ResultOf<N extends OperationName> = Result<Operations[N]>

/** The operations that answer with JSON. */
export type JsonOperation = { [N in OperationName]: [ResultOf<N>] extends [never] ? never : N }[OperationName]

/** What a client asks an operation with. */
export type RequestOf<N extends OperationName> = { query?: QueryOf<N> & QueryValues } & ([BodyOf<N>] extends [undefined]
  ? { body?: undefined }
  : { body?: BodyOf<N> }) &
  ([keyof ParamsOf<N>] extends [never] ? { params?: undefined } : { params: ParamsOf<N> })

/** What the JSON answer of an operation must fit. */
export function resultSchema<N extends JsonOperation>(name: N): Schema<ResultOf<N>> {
  const [answer] = Object.values<OperationAnswer>(OPERATIONS[name].answers)
  return answer?.json as Schema<ResultOf<N>>
}
