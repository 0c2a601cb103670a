/** Operations on the server itself: sign-in, health, metrics, pruning, the doctor (R9, R37, R38). */
import { SCOPES } from '../http.ts'
import {
  anyObject,
  closed,
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
} from '../schema.ts'
import type { Operation } from './operation.ts'
import { healthRow, pruneOptions, pruneOutcome } from './upkeep.ts'

const SECRET_MAX_CHARS = 200

const secret = text({ minLength: 1, maxLength: SECRET_MAX_CHARS })

const scope = named('Scope', oneOf(SCOPES))

const opens = {
  scope,
  name: text({ description: 'Who acts, as the journal tells it' }),
  instance: nullable(text(), { description: 'The only instance it opens; null for all' }),
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
    summary: 'Look after the machine and the home',
    answers: checks,
  },
  postDoctor: {
    method: 'POST',
    path: '/doctor',
    scope: 'admin',
    tag: 'server',
    summary: 'Look after them, and mend what is safe to mend',
    body: nullable(object({ fix: optional(flag()) })),
    bodyOptional: true,
    answers: checks,
  },
  getAuthStatus: {
    method: 'GET',
    path: '/auth/status',
    scope: null,
    tag: 'server',
    summary: 'What the token of this very request opens',
    description: 'Answers 200 also without a token, or with one that opens nothing.',
    answers: {
      200: {
        description: 'What it opens',
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
    summary: 'Sign in: turn the code of a sign-in link into a token, or look at a token',
    description: 'A code works once, within 15 minutes; its token is answered once and kept nowhere.',
    body: either(closed({ code: secret }), closed({ token: secret })),
    answers: {
      200: {
        description: 'What the token opens; after a code also the token itself',
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
    summary: 'Whether the server answers',
    description: '`degraded`: something of its home is damaged and put aside; GET /doctor says what.',
    answers: { 200: { description: 'It answers', json: object({ status: oneOf(['ok', 'degraded']) }) } },
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
    summary: 'Read this document',
    narrows: true,
    answers: { 200: { description: 'OpenAPI 3.1', json: anyObject() } },
  },
} as const satisfies Record<string, Operation>
