/** What the HTTP app is put together from, and what every route may know of its caller. */
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { IdempotencyKeys, LocalPlatform } from '../../core/index.ts'
import { ACTOR, DOOR, IDEMPOTENCY_KEY, type Scope } from '../../core/protocol/http.ts'
import type { Actor, Door } from '../../core/protocol/instance.ts'
import type { Access, Caller } from '../access/access.ts'
import type { Guard } from '../access/guard.ts'
import type { SignIn } from '../access/sign-in.ts'
import type { EventStreams } from '../http/sse.ts'

/** What is degraded is told to those with a token, by GET /doctor: here it is one word. */
export interface HealthView {
  status: 'ok' | 'degraded'
}

export interface HealthParts {
  /** Default: `ok`, for whoever can answer is there. */
  health?: () => HealthView
  /** Without: there are no metrics here. */
  metrics?: { read(): Promise<{ text: string; type: string }> }
}

export interface AppParts extends HealthParts {
  /** What is served. */
  platform: LocalPlatform
  /** Who may. */
  access: Access
  /** From where: Host, Origin, Sec-Fetch-Site. */
  guard: Guard
  /** One-time codes. Without: nobody can sign in with one. */
  signIn?: SignIn
  /** What was answered to which Idempotency-Key (R11). Without: the platform's own are all there is. */
  keys?: IdempotencyKeys
  /** Adds the hooks of log, metrics and traces, before any other. */
  observe?: (app: FastifyInstance) => void
  /** Is told of faults. Without: nobody is. */
  logger?: FastifyBaseLogger
  /** Where event streams are kept. Default: their own place. */
  streams?: EventStreams
  /** The folder of the built page. Without: GET / tells where the API is. */
  page?: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may: a token of this scope; `nobody` asks for none. Default: admin. */
    needs?: Scope | 'nobody'
    /** Serves a token of one instance too, and shows it nothing of the others. */
    narrows?: boolean
  }
  interface FastifyRequest {
    /** Null on routes that ask for no token. */
    caller: Caller | null
  }
}

/** Who calls. Throws `token_missing` on a route that asks for no token. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw fail('token_missing', {})
  return request.caller
}

/** Who acts, and by which door, as the journal shall have it (R25). */
export function actorOf(request: FastifyRequest): Actor {
  const caller = callerOf(request)
  const given = request.headers[IDEMPOTENCY_KEY]
  const key = request.held?.key ?? (typeof given === 'string' ? given : undefined)
  const named = caller.isOwner ? decoded(request.headers[ACTOR]) : undefined
  return { actor: named ?? caller.name, via: doorOf(request), ...(key === undefined ? {} : { key }) }
}

function doorOf(request: FastifyRequest): Door {
  const door = request.headers[DOOR]
  return door === 'cli' || door === 'page' ? door : 'http'
}

const ACTOR_MAX_CHARS = 200

function decoded(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string' || header === '') return undefined
  try {
    return decodeURIComponent(header).slice(0, ACTOR_MAX_CHARS)
  } catch {
    return undefined
  }
}
