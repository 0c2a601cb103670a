/** Operations on the server itself: sign-in, health, metrics, pruning, the doctor (R9, R37, R38). */

import {
  anyObject,
  constant,
  either,
  flag,
  listOf,
  named,
  nothing,
  nullable,
  object,
  oneOf,
  optional,
  text,
} from '../../schema/schema.ts'
import { SCOPES } from '../http.ts'
import type { Operation } from './operation.ts'
import { healthRow, pruneOptions, pruneOutcome } from './upkeep.ts'

const SECRET_MAX_CHARS = 200

const secret = text({ minLength: 1, maxLength: SECRET_MAX_CHARS })

const scope = named('Scope', oneOf(SCOPES))

const opens = {
  scope,
  name: text({ description: 'The name of the actor in the journal' }),
  instance: nullable(text(), { description: 'The only instance that the token opens; null for all' }),
  expires_at: nullable(text(), { description: 'ISO-8601, UTC; null for never' }),
}

const checks = { 200: { description: 'Each check, in order', json: listOf(healthRow) } } as const

export const SERVER_OPERATIONS = {
  postPrune: {
    method: 'POST',
    path: '/prune',
    scope: 'admin',
    tag: 'server',
    summary: 'Remove instances that have ended',
    body: pruneOptions,
    answers: { 200: { description: 'What was removed', json: pruneOutcome } },
    refuses: ['lock_held'],
  },
  getDoctor: {
    method: 'GET',
    path: '/doctor',
    scope: 'admin',
    tag: 'server',
    summary: 'Check the machine and the home',
    answers: checks,
  },
  postDoctor: {
    method: 'POST',
    path: '/doctor',
    scope: 'admin',
    tag: 'server',
    summary: 'Check the machine and the home, and repair what is safe to repair',
    body: nullable(object({ fix: optional(flag()) })),
    bodyOptional: true,
    answers: checks,
  },
  getAuthStatus: {
    method: 'GET',
    path: '/auth/status',
    scope: null,
    tag: 'server',
    summary: 'Read what the token of this request may do',
    description: 'Also answers 200 without a token, or with an invalid one.',
    answers: {
      200: {
        description: 'The rights of the token',
        json: either(
          object({ authenticated: constant(true), ...opens }),
          object({
            authenticated: constant(false),
            ...{ scope: nothing(), name: nothing(), instance: nothing(), expires_at: nothing() },
          }),
        ),
      },
    },
  },
  postAuthVerify: {
    method: 'POST',
    path: '/auth/verify',
    scope: null,
    tag: 'server',
    summary: 'Exchange the code of a sign-in link for a token, or check a token',
    description: 'A code works once, within 15 minutes. Its token is returned once, and its text is not stored.',
    body: either(object({ code: secret }), object({ token: secret })),
    answers: {
      200: {
        description: 'The rights of the token; for a code also the token itself',
        json: object({ token: optional(text()), ...opens }),
      },
    },
    refuses: ['code_refused', 'token_refused', 'too_many'],
  },
  getHealth: {
    method: 'GET',
    path: '/health',
    scope: null,
    tag: 'server',
    summary: 'Check whether the server is up',
    description: '`degraded`: a part of the home is damaged and not served; GET /doctor says which.',
    answers: { 200: { description: 'The server is up', json: object({ status: oneOf(['ok', 'degraded']) }) } },
  },
  getMetrics: {
    method: 'GET',
    path: '/metrics',
    scope: 'read',
    tag: 'server',
    summary: 'Read the metrics in the text format of Prometheus',
    answers: { 200: { description: 'The metrics', type: 'text/plain' } },
  },
  getOpenapiJson: {
    method: 'GET',
    path: '/openapi.json',
    scope: 'read',
    tag: 'server',
    summary: 'Read this OpenAPI document',
    narrows: true,
    answers: { 200: { description: 'OpenAPI 3.1', json: anyObject() } },
  },
} as const satisfies Record<string, Operation>
