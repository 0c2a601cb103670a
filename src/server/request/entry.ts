/** The checks that every request passes before its route: security headers, origin, caller and scope. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import { API, covers } from '../../core/protocol/http.ts'
import type { Caller, Credentials } from '../access/access.ts'
import type { AppParts } from './parts.ts'

const SAFE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}

/** The prefix of the routes of one instance; a token of one instance reaches no other instance. */
const ONE_INSTANCE = `${API}/instances/:id`

export function addEntry(app: FastifyInstance, { access, guard }: AppParts): void {
  let isClosing = false
  app.decorateRequest('caller', null)
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onRequest', async (request, reply) => {
    harden(reply)
    try {
      if (isClosing) throw fail('shutting_down', {})
      guard.check(request.raw)
      // An origin server gets paths as request targets. Proxies and servers could read any other form differently.
      if (!request.raw.url?.startsWith('/')) throw fail('request_malformed', { problem: 'its target is not a path' })
      const needs = needsOf(request)
      if (needs === 'none') return
      request.caller = access.identify({ ...credentialsOf(request) })
      refuseForeign(request, request.caller)
      if (!covers(request.caller.scope, needs)) {
        throw fail('scope_missing', { needed: needs, has: request.caller.scope })
      }
    } catch (error) {
      // A refused request's body is not read to its end; the listener discards it for a moment.
      if (hasBody(request)) reply.header('connection', 'close')
      throw error
    }
  })
}

/** Sets the security headers; answers that come from no route carry them too. */
export function harden(reply: FastifyReply): void {
  reply.headers(SAFE_HEADERS)
}

function needsOf(request: FastifyRequest): 'read' | 'run' | 'admin' | 'none' {
  if (request.is404) return isOfApi(request) ? 'read' : 'none'
  return request.routeOptions.config.needs ?? 'admin'
}

function isOfApi(request: FastifyRequest): boolean {
  return request.url === API || request.url.startsWith(`${API}/`) || request.url.startsWith(`${API}?`)
}

/** S-AUTH-02, R37: a token in the address counts on the events route only. */
export function credentialsOf(request: FastifyRequest): Credentials {
  const { headers, rawHeaders } = request.raw
  if (request.routeOptions.url !== `${ONE_INSTANCE}/events`) return { headers, rawHeaders }
  const { token } = request.query as { token?: unknown }
  if (token === undefined) return { headers, rawHeaders }
  // A repeated token parameter is no valid credential.
  return { headers, rawHeaders, queryToken: typeof token === 'string' ? token : '' }
}

/** WEB-12: a token of one instance gets "unknown" for every other instance. */
function refuseForeign(request: FastifyRequest, caller: Caller): void {
  if (caller.instance === null || request.is404) return
  const { config, url } = request.routeOptions
  if (config.narrows === true) return
  if (url?.startsWith(ONE_INSTANCE) !== true) {
    throw fail('token_narrow', {})
  }
  const { id } = request.params as { id: string }
  if (id !== caller.instance) throw fail('instance_unknown', { id })
}

function hasBody(request: FastifyRequest): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}
