/**
 * Who asks: the bearer token of a request, or the owner of the machine on a host's own socket (R37, R39; spec, Authentication).
 * Whatever is not exactly one well-formed credential in its place is refused, never half understood (threats WEB-5).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { fail } from '../../core/errors.ts'
import type { Tokens } from '../../core/index.ts'
import type { Scope } from '../../core/protocol/http.ts'

export interface Caller {
  /** Null for the owner. */
  tokenId: string | null
  /** The name the journal gets. */
  name: string
  scope: Scope
  /** The only instance it may know of; null for all. */
  instance: string | null
  /** ISO-8601 UTC; null for never. */
  expiresAt: string | null
  isOwner: boolean
}

export interface Credentials {
  headers: IncomingHttpHeaders
  /** Name and value in turn, duplicates included: Node forgets them in `headers`. */
  rawHeaders: string[]
  /** What the query has as `token`, on the one route that takes it; a list where it was given twice. */
  queryToken?: unknown
}

export interface Access {
  /** Throws `token_missing` where there is no credential at all, `token_refused` for any that does not count. */
  identify(request: Credentials): Caller
}

/** RFC 6750: the scheme in any case, one token, nothing after it. */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i

const OWNER: Caller = {
  ...{ tokenId: null, name: 'owner', scope: 'admin', instance: null, expiresAt: null, isOwner: true },
}

/** Of a socket that only the owner of the home can open (R39). */
export const ownerAccess: Access = { identify: () => ({ ...OWNER }) }

export function tokenAccess(tokens: Tokens): Access {
  return {
    identify(request) {
      const entry = tokens.verify(credential(request))
      // Nobody is told that a good token is bad.
      if (entry === undefined) throw tokens.problem() ?? fail('token_refused', {})
      const { id, name, scope, instance, expires_at } = entry
      return { tokenId: id, name, scope, instance, expiresAt: expires_at, isOwner: false }
    },
  }
}

/** The one place where a credential is read. */
function credential({ headers, rawHeaders, queryToken }: Credentials): string {
  const given = rawHeaders.filter((word, at) => at % 2 === 0 && word.toLowerCase() === 'authorization').length
  const header = headers.authorization
  if (given === 0 && header === undefined && queryToken === undefined) throw fail('token_missing', {})
  const isTwice = given > 1 || (header !== undefined && queryToken !== undefined)
  const text = queryToken === undefined ? BEARER.exec(header ?? '')?.[1] : queryToken
  if (isTwice || typeof text !== 'string') throw fail('token_refused', { malformed: true })
  return text
}
