/** GET /auth/status and POST /auth/verify: what a page needs to sign in; both ask for no token (R9, R37, R38). */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fail, ResolveError } from '../../core/errors.ts'
import { SCOPES } from '../../core/protocol/http.ts'
import type { Access, Caller } from '../access/access.ts'
import type { SignIn } from '../access/sign-in.ts'
import { object, shape } from '../openapi/shapes.ts'

export interface AuthParts {
  access: Access
  /** Without: no code is good. */
  signIn?: SignIn
}

type Proof = { code: string } | { token: string }

const SECRET_MAX_CHARS = 200

const nothing = { type: 'null' }
const scope = { type: 'string', enum: SCOPES }
const known = {
  name: { type: 'string', description: 'Who acts, as the journal tells it' },
  instance: { type: ['string', 'null'], description: 'The only instance it opens; null for all' },
  expires_at: { type: ['string', 'null'], description: 'ISO-8601, UTC; null for never' },
}

const statusSchema = {
  summary: 'What the token of this very request opens',
  description: 'Answers 200 also without a token, or with one that opens nothing.',
  tags: ['server'],
  response: {
    200: {
      description: 'What it opens',
      anyOf: [
        object({ authenticated: { type: 'boolean', const: true }, scope, ...known }),
        object({
          authenticated: { type: 'boolean', const: false },
          ...{ scope: nothing, name: nothing, instance: nothing, expires_at: nothing },
        }),
      ],
    },
  },
}

const secret = { type: 'string', minLength: 1, maxLength: SECRET_MAX_CHARS }

const verifySchema = {
  summary: 'Sign in: turn the code of a sign-in link into a token, or look at a token',
  description: 'A code works once, within 15 minutes; its token is answered once and kept nowhere.',
  tags: ['server'],
  body: {
    oneOf: [
      { type: 'object', properties: { code: secret }, required: ['code'], additionalProperties: false },
      { type: 'object', properties: { token: secret }, required: ['token'], additionalProperties: false },
    ],
  },
  response: {
    200: {
      description: 'What the token opens; after a code also the token itself',
      ...object({ token: { type: 'string' }, scope, ...known }, ['token']),
    },
    401: { description: 'code_refused, token_refused', ...content() },
    429: { description: 'too_many wrong codes within a minute', ...content() },
  },
}

function content() {
  return { content: { 'application/json': { schema: shape('Error') } } }
}

export function authRoutes(app: FastifyInstance, { access, signIn }: AuthParts): void {
  app.get('/auth/status', { config: { needs: 'nobody' }, schema: statusSchema }, async (request) => {
    const caller = callerOrNone(access, request)
    if (caller !== undefined) return { authenticated: true, ...viewOf(caller) }
    return { authenticated: false, scope: null, name: null, instance: null, expires_at: null }
  })

  app.post<{ Body: Proof }>('/auth/verify', { config: { needs: 'nobody' }, schema: verifySchema }, async ({ body }) => {
    // As it is: no header's white space around it, no scheme before it.
    if ('token' in body) return viewOf(access.identify({ headers: {}, rawHeaders: [], queryToken: body.token }))
    if (signIn === undefined) throw fail('code_refused', {})
    const { token, entry } = await signIn.redeem(body.code)
    const { scope, name, instance, expires_at } = entry
    return { token, scope, name, instance, expires_at }
  })
}

function callerOrNone(access: Access, request: FastifyRequest): Caller | undefined {
  try {
    return access.identify({ headers: request.raw.headers, rawHeaders: request.raw.rawHeaders })
  } catch (error) {
    if (error instanceof ResolveError && error.httpStatus === 401) return undefined
    throw error
  }
}

function viewOf({ scope, name, instance, expiresAt }: Caller) {
  return { scope, name, instance, expires_at: expiresAt }
}
