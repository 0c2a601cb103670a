/** Asks an operation of the API: the bearer token in the header, a key on every act so that it can be tried again. */
import { addressOf } from '../../core/protocol/api/address.ts'
import {
  type JsonOperation,
  OPERATIONS,
  type OperationName,
  type RequestOf,
  type ResultOf,
} from '../../core/protocol/api/operations.ts'
import { API, DOOR, IDEMPOTENCY_KEY } from '../../core/protocol/http.ts'
import { jsonOf, problemOf, unreachable } from './problem.ts'
import { currentToken, endSession } from './session.ts'

type Ask<N extends OperationName> = RequestOf<N> & { headers?: Record<string, string>; signal?: AbortSignal }

/** Pauses before an act is tried again whose answer did not come; the key makes it one act (R11). */
const RETRY_MS = [300, 1_000, 2_500]

/** A successful answer. Throws a `Problem`; an abort as it is. */
export async function ask<N extends OperationName>(name: N, request: Ask<N>): Promise<Response> {
  const token = currentToken()
  const { params = {}, query, body, headers, signal } = request
  const response = await fetch(API + addressOf(name, params, query), {
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
    throw unreachable()
  })
  if (response.ok) return response
  if (response.status === 401 && token !== null) endSession(token)
  throw await problemOf(response)
}

export async function askJson<N extends JsonOperation>(name: N, request: Ask<N>): Promise<ResultOf<N>> {
  return await jsonOf(name, await ask(name, request))
}

/** Does something once, however often the connection breaks meanwhile. */
export async function act<N extends OperationName>(name: N, request: Ask<N>): Promise<Response> {
  const headers = { [IDEMPOTENCY_KEY]: newKey() }
  for (const pause of [...RETRY_MS, null]) {
    try {
      return await ask(name, { ...request, headers } as Ask<N>)
    } catch (error) {
      if (pause === null || !isUnanswered(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
  throw unreachable()
}

function isUnanswered(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === 'unreachable'
}

/** Not `randomUUID`: that is there on secure origins only, and a page may be served over plain HTTP. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
