/** What travels over HTTP beside the resources themselves: scopes, headers, error bodies (R7, R11, R37, R38). */
import { closed, constant, listOf, named, object, optional, text } from './schema.ts'

/** What a token may do: read everything; also act on instances; also look after the server (R38). Each holds the ones before it. */
export const SCOPES = ['read', 'run', 'admin'] as const

export type Scope = (typeof SCOPES)[number]

export function isScope(value: unknown): value is Scope {
  return (SCOPES as readonly unknown[]).includes(value)
}

/** Whether a token of scope `has` may do what needs `needed`. */
export function covers(has: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(has) >= SCOPES.indexOf(needed)
}

/** Under this every route of the API lies (spec, Versioning). */
export const API = '/api'

/** Whether an address, without brackets, is this machine's alone. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(host)
}

/** R11. On every POST; the same key gives the first answer again. */
export const IDEMPOTENCY_KEY = 'idempotency-key'

/** By which door a consumer came, for the journal (R25): `cli` or `page`; anything else is `http`. */
export const DOOR = 'resolve-door'

/** Who acts, for the journal; believed on a host's own socket only, where the caller is its owner (R39). URI-encoded. */
export const ACTOR = 'resolve-actor'

/** R7: every answer that is no success, but for {@link formErrorBody}. */
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

/** Either of the two, as code that writes or reads one has it. */
export interface ErrorBody {
  detail: string
  code?: string
  hint?: string
  /** On a host's own socket alone (R39): the sentence for others, where `detail` is for the owner only. */
  outside?: string
  errors?: string[]
}
