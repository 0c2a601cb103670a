/** The fields of an entry of {@link file://./operations.ts | the table of operations}, and the TypeScript types derived from it. */
import type { ErrorCode } from '../../errors.ts'
import type { Schema, Static } from '../../schema/schema.ts'
import type { Scope } from '../http.ts'

export const TAGS = {
  instances: 'Runs of a resolver: created, followed, paused, stopped',
  questions: 'What instances ask, and the answers and messages they get',
  data: 'Files that instances write',
  git: 'What instances change in repositories',
  resolvers: 'The catalog and its forms',
  schedules: 'Instances that are created at due times',
  server: 'Looking after the server',
} as const

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** The path below /api. `{name}` is one part of the address, `{+name}` all remaining parts. */
  readonly path: string
  /** The least scope that a token needs; null: no token is needed. */
  readonly scope: Scope | null
  readonly tag: keyof typeof TAGS
  readonly summary: string
  readonly description?: string
  /**
   * A token of one instance may call it, and gets nothing about other instances. Such a token may always call operations below
   * /instances/{id}.
   */
  readonly narrows?: true
  readonly query?: Schema
  readonly headers?: Schema
  readonly body?: Schema
  /** The content type of a body that is not JSON. */
  readonly takes?: string
  /** A request without a body is accepted too. */
  readonly bodyOptional?: true
  /** The answers by status. A successful request gets one of them. */
  readonly answers: Readonly<Record<number, OperationAnswer>>
  /** The error codes of this operation, besides those of every operation of its kind: see {@link refusalsOf}. */
  readonly refuses?: readonly ErrorCode[]
}

export interface OperationAnswer {
  readonly description: string
  readonly headers?: Readonly<Record<string, Schema>>
  readonly json?: Schema
  /** The content type of an answer that is not JSON. With neither this nor `json`, the answer has no body. */
  readonly type?: string
}

type ParamIn<Part extends string> = Part extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `+${infer Long}` ? Long : Name) | ParamIn<Rest>
  : never

/** The parts of the address, not encoded. */
export type Params<O extends Operation> = { [Name in ParamIn<O['path']>]: string }

export type Query<O extends Operation> = O extends { query: infer S extends Schema } ? Static<S> : unknown

export type Body<O extends Operation> = O extends { body: infer S extends Schema } ? Static<S> : undefined

type Answered<O extends Operation> = O['answers'][keyof O['answers']]

export type QueryValues = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** The type of its JSON answer; never for an operation that does not answer with JSON. */
export type Result<O extends Operation> = Answered<O> extends { json: infer S extends Schema } ? Static<S> : never

const EVERYWHERE = ['request_malformed', 'origin_refused', 'host_refused', 'bug', 'shutting_down'] as const
const WITH_TOKEN = ['token_missing', 'token_refused', 'scope_missing', 'token_narrow', 'tokens_broken'] as const
const WITH_BODY = ['media_type_refused', 'input_too_large', 'invalid_json', 'request_invalid'] as const
const WITH_KEY = ['key_reused', 'disk_full', 'home_unusable'] as const

/** The errors of asking the resolver itself. */
export const RESOLVER_TROUBLE = [
  'resolver_silent',
  'resolver_gone',
  'launch_failed',
  'form_malformed',
  'catalog_broken',
  'manifest_invalid',
  'source_missing',
  'too_many',
] as const

/** The errors of preparing a resolver, before it can be asked (R48). */
export const PREPARING = [
  'resolver_preparing',
  'setup_failed',
  'image_missing',
  'container_refused',
  'docker_unreachable',
] as const

/** The errors of reaching the host of an instance. */
export const HOST_TROUBLE = ['host_unreachable', 'host_silent', 'lock_held', 'disk_full', 'journal_broken'] as const

/** The errors of a process that cannot open the sealed values of an instance, so that it does not know what to redact (threats B9). */
export const SEALED_TROUBLE = ['secret_unreadable', 'secret_key_unusable'] as const

/** Every error code of an operation: its own, and those of every operation of its kind. */
export function refusalsOf(operation: Operation): ErrorCode[] {
  const { method, scope, refuses = [] } = operation
  const hasBody = method === 'POST' || method === 'PATCH'
  return [
    ...new Set<ErrorCode>([
      ...refuses,
      ...EVERYWHERE,
      ...(scope === null ? [] : WITH_TOKEN),
      ...(hasBody ? WITH_BODY : []),
      ...(takesKey(operation) ? WITH_KEY : []),
    ]),
  ]
}

/** R11: whether an Idempotency-Key makes repeated requests take effect once and get one answer. */
export function takesKey({ method, scope }: Operation): boolean {
  return method === 'POST' && scope !== null
}
