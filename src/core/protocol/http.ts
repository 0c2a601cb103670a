/** What HTTP carries besides the resources themselves: scopes, headers, error bodies (R7, R11, R37, R38). */
import { closed, constant, listOf, named, object, optional, text } from '../schema/schema.ts'

/**
 * Token scopes: `read` everything; `run`: act on instances too; `admin`: manage the server too (R38). Each includes the ones before
 * it.
 */
export const SCOPES = ['read', 'run', 'admin'] as const

export type Scope = (typeof SCOPES)[number]

export function isScope(value: unknown): value is Scope {
  return (SCOPES as readonly unknown[]).includes(value)
}

/** Whether a token of scope `has` may call an operation that needs `needed`. */
export function covers(has: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(has) >= SCOPES.indexOf(needed)
}

/** The path prefix of every API route (spec, Versioning). */
export const API = '/api'

/** Whether an address, without brackets, is a loopback address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(host)
}

/** R11. On every POST; a repeated key returns the first answer again. */
export const IDEMPOTENCY_KEY = 'idempotency-key'

/** Which interface a consumer used, for the journal (R25): `cli`, `page` or `viewport`; anything else counts as `http`. */
export const DOOR = 'resolve-door'

/** Who acts, for the journal. Trusted only on a host's own socket, whose caller is the owner of the home (R39). URI-encoded. */
export const ACTOR = 'resolve-actor'

/** R7: the body of every error, except {@link formErrorBody}. */
export const errorBody = named(
  'Error',
  object({
    detail: text({ description: 'One sentence for a person' }),
    code: text({ description: 'For a program; docs/errors.md lists every one' }),
    hint: optional(text({ description: 'What can be done about it' })),
  }),
  'What was refused, or failed, and why',
)

/** R7: exactly these two fields. */
export const formErrorBody = named(
  'FormError',
  closed({ detail: constant('Validation failed'), errors: listOf(text()) }),
  'A submitted form fails: the messages of all its failing checks, in their order',
)

/** Either of the two, for code that writes or reads one. */
export interface ErrorBody {
  detail: string
  code?: string
  hint?: string
  /** Only on a host's own socket (R39): the message for other users, when `detail` is meant for the owner. */
  outside?: string
  errors?: string[]
}
