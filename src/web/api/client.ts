/** Sends requests to the API: with the bearer token, with an idempotency key for actions so that they can be retried, and with errors as `Problem`. */
import { addressOf } from '../../core/protocol/api/address.ts'
import {
  type JsonOperation,
  OPERATIONS,
  type OperationName,
  type RequestOf,
  type ResultOf,
} from '../../core/protocol/api/operations.ts'
import { API, DOOR, IDEMPOTENCY_KEY } from '../../core/protocol/http.ts'
import { jsonOf, problemOf, unaddressable, unreachable, unsent } from './problem.ts'
import { noteReach } from './reach.ts'
import { currentToken, endSession } from './session.ts'

export type Ask<N extends OperationName> = RequestOf<N> & {
  headers?: Record<string, string>
  signal?: AbortSignal
  /** Default: the token of the session. */
  token?: string
}

/** The pauses before an action without a response is retried; the idempotency key prevents a second effect (R11). */
const RETRY_MS = [300, 1_000, 2_500]

/** Sends a request of the table and returns a 2xx response. Throws a `Problem` for all others; passes an abort error on. */
export async function ask<N extends OperationName>(name: N, request: Ask<N>): Promise<Response> {
  const { params = {}, query, body, headers, signal, token = currentToken() } = request
  const address = addressOf(name, params, query)
  if (address === undefined) throw unaddressable()
  const response = await fetch(API + address, {
    method: OPERATIONS[name].method,
    headers: {
      [DOOR]: 'page',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
    cache: 'no-store',
    credentials: 'omit',
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error
    noteReach(false)
    throw unreachable()
  })
  noteReach(true)
  if (response.ok) return response
  if (response.status === 401 && token !== null) endSession(token)
  throw await problemOf(response)
}

export async function askJson<N extends JsonOperation>(name: N, request: Ask<N>): Promise<ResultOf<N>> {
  return await jsonOf(name, await ask(name, request))
}

/** Performs an action that takes effect once, even if the connection breaks and the request is retried. */
export async function act<N extends OperationName>(name: N, request: Ask<N>): Promise<Response> {
  const headers = { ...request.headers, [IDEMPOTENCY_KEY]: newKey() }
  for (const pause of [...RETRY_MS, null]) {
    try {
      return await ask(name, { ...request, headers } as Ask<N>)
    } catch (error) {
      if (!isUnanswered(error)) throw error
      if (pause === null) throw unsent()
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
  throw unsent()
}

function isUnanswered(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'unreachable'
}

/** A random idempotency key. `randomUUID` exists on secure origins only, and the page can be served over plain HTTP. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
