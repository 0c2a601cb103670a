/** The parts that the HTTP app is built from, and the caller that every route can read. */
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import type { IdempotencyKeys, LocalPlatform } from '../../core/index.ts'
import { ACTOR, DOOR, IDEMPOTENCY_KEY, type Scope } from '../../core/protocol/http.ts'
import { type Actor, DOORS, type Door } from '../../core/protocol/instance.ts'
import type { Access, Caller } from '../access/access.ts'
import type { Guard } from '../access/guard.ts'
import type { SignIn } from '../access/sign-in.ts'
import type { EventStreams } from '../http/sse.ts'

/** The details need a token and are in GET /doctor; health is one word. */
export interface HealthView {
  status: 'ok' | 'degraded'
}

export interface HealthParts {
  /** Default: `ok`, because a process that answers is up. */
  health?: () => HealthView
  /** If absent, there are no metrics. */
  metrics?: { read(): Promise<{ text: string; type: string }> }
}

export interface AppParts extends HealthParts {
  /** The platform that the app serves. */
  platform: LocalPlatform
  /** Identifies the caller of a request. */
  access: Access
  /** Checks Host, Origin and Sec-Fetch-Site. */
  guard: Guard
  /** One-time codes. If absent, sign-in links are refused. */
  signIn?: SignIn
  /** Stored answers by Idempotency-Key (R11). If absent, only the keys that the platform itself keeps count. */
  keys?: IdempotencyKeys
  /** Adds the hooks of log, metrics and traces, before all others. */
  observe?: (app: FastifyInstance) => void
  /** Receives faults. If absent, they are not logged. */
  logger?: FastifyBaseLogger
  /** The open event streams. Default: a registry of this app. */
  streams?: EventStreams
  /** Take archives of resolvers (R74). Default: no. */
  uploads?: boolean
  /** The folder of the built page. If absent, GET / says where the API is. */
  page?: string
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The scope that a token needs; `none`: the route needs no token. Default: admin. */
    needs?: Scope | 'none'
    /** A token of one instance may call it, and sees nothing of other instances. */
    narrows?: boolean
    /** The content type of a body that is not JSON. */
    takes?: string
  }
  interface FastifyRequest {
    /** Null on routes that need no token. */
    caller: Caller | null
  }
}

/** The caller. Throws `token_missing` on a route that needs no token. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw fail('token_missing', {})
  return request.caller
}

/** The actor and the interface, as the journal records them (R25). */
export function actorOf(request: FastifyRequest): Actor {
  const caller = callerOf(request)
  const given = request.headers[IDEMPOTENCY_KEY]
  const key = request.held?.key ?? (typeof given === 'string' ? given : undefined)
  const named = caller.isOwner ? decoded(request.headers[ACTOR]) : undefined
  return { actor: named ?? caller.name, via: doorOf(request), ...(key === undefined ? {} : { key }) }
}

function doorOf(request: FastifyRequest): Door {
  const given = request.headers[DOOR]
  return DOORS.find((door) => door === given) ?? 'http'
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
