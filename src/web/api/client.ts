/** Sends requests to the API: with the bearer token, with an idempotency key for actions so that they can be retried, and with errors as `Problem`. */
import { API, DOOR, IDEMPOTENCY_KEY } from '../../core/protocol/http.ts'
import { problemOf, unreachable } from './problem.ts'
import { currentToken, endSession } from './session.ts'

export interface AskOptions {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** The pauses before an action without a response is retried; the idempotency key prevents a second effect (R11). */
const RETRY_MS = [300, 1_000, 2_500]

/** Sends a request to a route below /api and returns a 2xx response. Throws a `Problem` for all others; passes an abort error on. */
export async function ask(path: string, options: AskOptions = {}): Promise<Response> {
  const token = currentToken()
  const { method = 'GET', body, headers, signal } = options
  const response = await fetch(API + path, {
    method,
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

export async function askJson<T>(path: string, options: AskOptions = {}): Promise<T> {
  const response = await ask(path, options)
  return (await response.json()) as T
}

/** Performs an action that takes effect once, even if the connection breaks and the request is retried. */
export async function act(path: string, body: unknown): Promise<Response> {
  const headers = { [IDEMPOTENCY_KEY]: newKey() }
  for (const pause of [...RETRY_MS, null]) {
    try {
      return await ask(path, { method: 'POST', body, headers })
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

/** A random idempotency key. `randomUUID` exists on secure origins only, and the page can be served over plain HTTP. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
