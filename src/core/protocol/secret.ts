/** Named secrets of the operator, as consumers see them: names and origins, never values (R55). */
import { named, object, oneOf, type Static, text, time } from './schema.ts'

/** Where the value comes from: it is stored sealed, or a host reads it from its environment or from a command at each launch. */
export const SECRET_SOURCES = ['value', 'env', 'command'] as const

export type SecretSource = (typeof SECRET_SOURCES)[number]

/** The name is a key of `credentials`, and often that of an environment variable elsewhere. */
export const SECRET_NAME_PATTERN = '^[A-Za-z][A-Za-z0-9_]{0,63}$'

/** The keys of `credentials` that the platform fills itself, and those with a meaning in JavaScript. */
export const SECRET_NAMES_TAKEN = ['llm_provider_api_key', 'git_host_token', 'constructor', 'prototype']

const NAME = new RegExp(SECRET_NAME_PATTERN)

export function isSecretName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value) && !SECRET_NAMES_TAKEN.includes(value)
}

/** What a secret is set to: the value itself, the name of a variable, or a command line for `sh -c`. */
export interface SecretContent {
  from: SecretSource
  text: string
}

export type SecretInfo = Static<typeof secretInfo>

export const secretInfo = named(
  'Secret',
  object({
    name: text(),
    from: oneOf(SECRET_SOURCES),
    created_at: time(),
    updated_at: time(),
  }),
  'A named secret; its value is never returned',
)
