/**
 * Identifies the caller: by the bearer token of a request, or as the owner of the machine on a host's own socket (R37, R39;
 * spec, Authentication). Anything but exactly one well-formed credential is refused (threats WEB-5).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { fail } from '../../core/errors.ts'
import type { Tokens } from '../../core/index.ts'
import type { Scope } from '../../core/protocol/http.ts'
import { type FrameToken, frameTokens } from './frame-tokens.ts'

export interface Caller {
  /** Null for the owner. */
  tokenId: string | null
  /** The name in the journal. */
  name: string
  scope: Scope
  /** The only instance that the caller may see; null for all. */
  instance: string | null
  /** ISO-8601 UTC; null for never. */
  expiresAt: string | null
  isOwner: boolean
  /** The caller has a token of a viewport, which makes no other token. */
  isFrame?: boolean
}

export interface Credentials {
  headers: IncomingHttpHeaders
  /** Names and values in turn, with duplicates, which Node drops from `headers`. */
  rawHeaders: string[]
  /** The `token` of the query, on the only route that accepts it; a list where it was repeated. */
  queryToken?: unknown
}

export interface Access {
  /** Throws `token_missing` without any credential, `token_refused` for an invalid one. */
  identify(request: Credentials): Caller
  /** A token that reads one instance, for the page's requests for a viewport. Throws `usage` for a caller without a token. */
  frameToken(caller: Caller, instance: string): FrameToken
}

/** RFC 6750: the scheme in any case, one token, and nothing after it. */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i

const OWNER: Caller = {
  ...{ tokenId: null, name: 'owner', scope: 'admin', instance: null, expiresAt: null, isOwner: true },
}

/** For a socket that only the owner of the home can open (R39). */
export const ownerAccess: Access = {
  identify: () => ({ ...OWNER }),
  frameToken: () => {
    throw fail('usage', { problem: 'Only a caller with a token gets a token for a viewport.' })
  },
}

export function tokenAccess(tokens: Tokens): Access {
  const frames = frameTokens(tokens)
  return {
    frameToken({ tokenId, isFrame }, instance) {
      // Its successor would outlive every expiry.
      if (isFrame) throw fail('token_refused', {})
      if (tokenId === null) return ownerAccess.frameToken({ ...OWNER }, instance)
      return frames.create(tokenId, instance)
    },

    identify(request) {
      const text = credential(request)
      const frame = frames.verify(text)
      if (frame !== undefined) {
        const { entry, instance, expiresAt } = frame
        return {
          tokenId: entry.id,
          name: entry.name,
          scope: 'read',
          instance,
          expiresAt,
          isOwner: false,
          isFrame: true,
        }
      }
      const entry = tokens.verify(text)
      // While the token file is broken, every token gets that error: a valid one must not be called invalid.
      if (entry === undefined) throw tokens.problem() ?? fail('token_refused', {})
      const { id, name, scope, instance, expires_at } = entry
      return { tokenId: id, name, scope, instance, expiresAt: expires_at, isOwner: false }
    },
  }
}

/** The only function that reads credentials. */
function credential({ headers, rawHeaders, queryToken }: Credentials): string {
  const given = rawHeaders.filter((word, at) => at % 2 === 0 && word.toLowerCase() === 'authorization').length
  const header = headers.authorization
  if (given === 0 && header === undefined && queryToken === undefined) throw fail('token_missing', {})
  const isTwice = given > 1 || (header !== undefined && queryToken !== undefined)
  const text = queryToken === undefined ? BEARER.exec(header ?? '')?.[1] : queryToken
  if (isTwice || typeof text !== 'string') throw fail('token_refused', { malformed: true })
  return text
}
