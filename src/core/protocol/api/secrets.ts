/** Operations on the named secrets of the operator (R55). Values go in, and never come out. */
import { SECRET_VALUE_MAX_BYTES } from '../../limits.ts'
import { closed, listOf, named, object, oneOf, type Static, text, time } from '../../schema/schema.ts'
import type { Operation } from './operation.ts'

/** Where the value comes from: it is stored sealed, or a host reads it from its environment or from a command at each launch. */
export const SECRET_SOURCES = ['value', 'env', 'command'] as const

export type SecretSource = (typeof SECRET_SOURCES)[number]

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

const TROUBLE = ['secrets_broken', 'secret_key_unusable', 'lock_held'] as const

export const SECRET_OPERATIONS = {
  getSecrets: {
    method: 'GET',
    path: '/secrets',
    scope: 'admin',
    tag: 'server',
    summary: 'List the named secrets, without their values',
    answers: { 200: { description: 'By name', json: listOf(secretInfo) } },
    refuses: TROUBLE,
  },
  postSecrets: {
    method: 'POST',
    path: '/secrets',
    scope: 'admin',
    tag: 'server',
    summary: 'Set a named secret',
    description: 'The value is stored sealed, and goes only to workers whose manifest names it.',
    body: closed({ name: text({ maxLength: 64 }), value: text({ minLength: 1, maxLength: SECRET_VALUE_MAX_BYTES }) }),
    answers: { 200: { description: 'It is stored on disk', json: secretInfo } },
    refuses: ['usage', ...TROUBLE],
  },
  deleteSecret: {
    method: 'DELETE',
    path: '/secrets/{name}',
    scope: 'admin',
    tag: 'server',
    summary: 'Remove a named secret',
    answers: { 200: { description: 'It was removed', json: secretInfo } },
    refuses: ['secret_unknown', 'disk_full', 'home_unusable', ...TROUBLE],
  },
} as const satisfies Record<string, Operation>
