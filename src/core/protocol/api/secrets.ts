/** Operations on the named secrets of the operator (R55). Values go in, and never come out. */
import { SECRET_VALUE_MAX_BYTES } from '../../limits.ts'
import { closed, listOf, text } from '../schema.ts'
import { secretInfo } from '../secret.ts'
import type { Operation } from './operation.ts'

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
