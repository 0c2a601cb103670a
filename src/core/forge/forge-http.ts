/**
 * Sends the calls of {@link file://./forge.ts} to a forge: bounded in time and size, without redirects, with a few tries. Every answer is
 * an outside value, and the token goes to the host of the call alone.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Dispatcher, EnvHttpProxyAgent } from 'undici'
import { fail, type ResolveError, systemCode } from '../errors.ts'
import type { Credential } from '../git/git-providers.ts'
import {
  FORGE_ANSWER_LIMIT_MS,
  FORGE_ANSWER_MAX_BYTES,
  FORGE_CONNECT_LIMIT_MS,
  FORGE_RETRY_MS,
  FORGE_WAIT_LIMIT_MS,
} from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import type { Call, ForgeRepo, Headers } from './forge.ts'
import type { CredentialSource } from './forge-token.ts'
import { FORGES } from './forges.ts'
import { wordsOf } from './words.ts'

/** How a call ended: with its value, refused by a 4xx that the caller may expect, or lost: it is unknown whether it took effect. */
export type Outcome<T> =
  | { kind: 'done'; value: T }
  | { kind: 'refused'; status: number; words: string }
  | { kind: 'lost'; error: ResolveError }

export interface ForgeDoor {
  repo: ForgeRepo
  credentials: CredentialSource
  signal?: AbortSignal | undefined
}

interface Answer {
  status: number
  headers: Headers
  /** Undefined where it is no JSON, or too long. */
  body: unknown
  isTooLong: boolean
}

export class ForgeHttp {
  readonly #agent: Dispatcher
  readonly #waitLimitMs: number
  /** The waits before the second and third try. */
  readonly retryMs: readonly number[]

  /** `waitLimitMs`: how long all waits for a busy forge may take together, for each call. */
  constructor(options: { waitLimitMs?: number; retryMs?: readonly number[] } = {}) {
    this.#waitLimitMs = options.waitLimitMs ?? FORGE_WAIT_LIMIT_MS
    this.retryMs = options.retryMs ?? FORGE_RETRY_MS
    this.#agent = new EnvHttpProxyAgent({ allowH2: false, connect: { timeout: FORGE_CONNECT_LIMIT_MS } })
  }

  /** The value, after up to three tries; for calls that may be repeated. Throws an error of the catalogue. */
  async ask<T>(door: ForgeDoor, call: Call<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      const outcome = await this.askOnce(door, call)
      if (outcome.kind === 'done') return outcome.value
      if (outcome.kind === 'refused') throw refused(door.repo, outcome.status, outcome.words)
      const pauseMs = this.retryMs[tries]
      if (pauseMs === undefined) throw outcome.error
      await sleep(pauseMs, undefined, door.signal === undefined ? {} : { signal: door.signal })
    }
  }

  /** One try, except where the forge surely did nothing: it is busy, or the token has expired. */
  async askOnce<T>(door: ForgeDoor, call: Call<T>): Promise<Outcome<T>> {
    const { repo, credentials, signal } = door
    let waitedMs = 0
    for (let isFresh = false; ; ) {
      const credential = await credentials.read({ fresh: isFresh })
      let answer: Answer
      try {
        answer = await this.#send(call, FORGES[repo.forge].headers(credential), signal)
      } catch (error) {
        signal?.throwIfAborted()
        return { kind: 'lost', error: unreachable(repo, error) }
      }
      const { status, headers, body } = answer
      if (status === 401 && credentials.canRefresh && !isFresh) {
        isFresh = true
        continue
      }
      const words = wordsOf(body, secretsOf(credential))
      const pauseMs = busyPause(status, headers, words)
      if (pauseMs !== undefined) {
        waitedMs += pauseMs
        if (waitedMs > this.#waitLimitMs)
          throw fail('forge_busy', { host: repo.host, seconds: Math.ceil(pauseMs / 1000) })
        await sleep(pauseMs, undefined, signal === undefined ? {} : { signal })
        continue
      }
      return judge(repo, call, answer, words)
    }
  }

  /** What an address answers without a token; undefined where it does not answer with JSON. */
  async probe(url: string, signal?: AbortSignal): Promise<Answer | undefined> {
    const probing = { method: 'GET' as const, url }
    const answer = await this.#send(probing, { accept: 'application/json' }, signal).catch(() => undefined)
    signal?.throwIfAborted()
    return answer === undefined || !isObject(answer.body) ? undefined : answer
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #send(
    { method, url, body }: Pick<Call<unknown>, 'method' | 'url' | 'body'>,
    headers: Record<string, string>,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const { origin, pathname, search } = new URL(url)
    const limit = AbortSignal.timeout(FORGE_ANSWER_LIMIT_MS)
    const answer = await this.#agent.request({
      origin,
      path: `${pathname}${search}`,
      method,
      headers: {
        'user-agent': 'resolve',
        ...headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      // It covers the body too: a forge that never ends its answer would hold the call.
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    })
    answer.body.on('error', () => {})
    const text = await readAll(answer.body)
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: parse(text ?? ''),
      isTooLong: text === undefined,
    }
  }
}

/** Undefined where it is too long. */
async function readAll(body: Dispatcher.ResponseData['body']): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    // Leaving the loop closes the connection.
    if (bytes > FORGE_ANSWER_MAX_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function judge<T>(
  repo: ForgeRepo,
  call: Call<T>,
  { status, headers, body, isTooLong }: Answer,
  words: string,
): Outcome<T> {
  const { host, shown } = repo
  if (isTooLong) throw fail('forge_refused', { repo: shown, words: 'its answer is too long.' })
  // Azure answers 203 with a page to sign in, or sends to one.
  const isSignIn = status === 203 || (repo.forge === 'azure' && status === 302)
  if (status === 401 || isSignIn) throw fail('forge_auth_failed', { host, words })
  if (status === 403) throw fail('forge_forbidden', { repo: shown, words })
  if (status === 404) throw fail('forge_not_found', { repo: shown })
  if (status >= 300 && status < 400) {
    throw fail('forge_refused', {
      repo: shown,
      words: `it sends to ${placeNamed(headers)}; redirects are not followed.`,
    })
  }
  if (status >= 500) {
    return { kind: 'lost', error: fail('forge_unreachable', { host, reason: `it answered ${status}` }) }
  }
  if (status >= 400) return { kind: 'refused', status, words }
  const parsed = call.parse(body, headers)
  if ('value' in parsed) return { kind: 'done', value: parsed.value }
  throw fail('forge_refused', {
    repo: shown,
    words: `its answer does not have the documented form (at ${parsed.misfit}).`,
  })
}

/** The error of a refusal that the caller did not expect. */
export function refused({ shown }: ForgeRepo, status: number, words: string): ResolveError {
  return fail('forge_refused', { repo: shown, words: words === '' ? `it answered ${status}.` : words })
}

/** How long the forge asks to wait; undefined where it is not busy. */
export function busyPause(status: number, headers: Headers, words: string, now = Date.now()): number | undefined {
  const after = seconds(headers['retry-after'])
  const isLimited =
    status === 403 && (headers['x-ratelimit-remaining'] === '0' || after !== undefined || /rate limit/i.test(words))
  if (status !== 429 && !isLimited) return undefined
  if (after !== undefined) return after * 1000
  const reset = seconds(headers['x-ratelimit-reset']) ?? seconds(headers['ratelimit-reset'])
  // GitHub: at least a minute, where it does not say how long.
  return reset === undefined ? 60_000 : Math.max(1_000, reset * 1000 - now)
}

function seconds(header: string | string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d{1,12}$/.test(header) ? Number(header) : undefined
}

function placeNamed({ location }: Headers): string {
  if (typeof location !== 'string' || !URL.canParse(location)) return 'another address'
  const { host, pathname } = new URL(location)
  return `${host}${pathname}`.replace(/\p{C}/gu, '').slice(0, 200)
}

function unreachable({ host }: ForgeRepo, error: unknown): ResolveError {
  const code = systemCode(error)
  const isLate = error instanceof Error && error.name === 'TimeoutError'
  const reason = isLate
    ? `it did not answer within ${FORGE_ANSWER_LIMIT_MS / 1000} s`
    : `the connection failed (${code ?? 'no reason'})`
  return fail('forge_unreachable', { host, reason })
}

function secretsOf({ user, secret }: Credential): string[] {
  return [secret, Buffer.from(`${user ?? ''}:${secret}`).toString('base64')]
}
