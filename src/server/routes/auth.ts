/** GET /auth/status and POST /auth/verify: what a page needs to sign in; both ask for no token (R9, R37, R38). */
import type { FastifyRequest } from 'fastify'
import { fail, ResolveError } from '../../core/errors.ts'
import type { Access, Caller } from '../access/access.ts'
import type { SignIn } from '../access/sign-in.ts'
import type { Handlers } from '../request/operations.ts'

export interface AuthParts {
  access: Access
  /** If absent, every code is refused. */
  signIn?: SignIn
}

export function authHandlers({ access, signIn }: AuthParts) {
  return {
    getAuthStatus: ({ request }) => {
      const caller = callerOrNone(access, request)
      if (caller !== undefined) return { authenticated: true, ...viewOf(caller) }
      return { authenticated: false, scope: null, name: null, instance: null, expires_at: null }
    },

    postAuthVerify: async ({ body }) => {
      if ('token' in body && 'code' in body)
        throw fail('request_invalid', { problem: 'the body has a code and a token; send one of them' })
      // Compared exactly: unlike in a header, no white space and no scheme is removed.
      if ('token' in body) return viewOf(access.identify({ headers: {}, rawHeaders: [], queryToken: body.token }))
      if (signIn === undefined) throw fail('code_refused', {})
      const { token, entry } = await signIn.redeem(body.code)
      const { scope, name, instance, expires_at } = entry
      return { token, scope, name, instance, expires_at }
    },
  } satisfies Partial<Handlers>
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
