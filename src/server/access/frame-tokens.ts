/**
 * Tokens that the page uses for the requests of a viewport: they read one instance and expire soon, so that a fault in the page's
 * bridge cannot open what else the person's token opens (threats UI-3). They are not stored: each is signed with a key of this process.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isExpired, type TokenEntry, type Tokens } from '../../core/index.ts'
import { FRAME_TOKEN_MS } from '../../core/limits.ts'

export interface FrameToken {
  token: string
  /** ISO-8601 UTC. */
  expires_at: string
}

export interface FrameTokens {
  /** `tokenId`: the token that the page's own requests carry. */
  create(tokenId: string, instance: string): FrameToken
  /** Undefined for an unknown or expired token, and where the page's own token no longer opens the instance. */
  verify(text: string): { entry: TokenEntry; instance: string; expiresAt: string } | undefined
}

const KEY_BYTES = 32
/** `rslf_<id of the page's token>_<instance>_<expiry in ms since 1970>_<HMAC-SHA256>` */
const TOKEN = /^(rslf_([0-9a-f]{8})_([0-9a-f]{12})_([0-9]{13}))_([A-Za-z0-9_-]{43})$/

export function frameTokens(tokens: Tokens, now: () => number = Date.now): FrameTokens {
  const key = randomBytes(KEY_BYTES)
  const sign = (text: string) => createHmac('sha256', key).update(text).digest()

  return {
    create(tokenId, instance) {
      const expiresAt = now() + FRAME_TOKEN_MS
      const text = `rslf_${tokenId}_${instance}_${expiresAt}`
      return { token: `${text}_${sign(text).toString('base64url')}`, expires_at: new Date(expiresAt).toISOString() }
    },

    verify(text) {
      const [, signed, tokenId, instance, expiry, signature] = TOKEN.exec(text) ?? []
      if (signed === undefined || instance === undefined || signature === undefined) return undefined
      const given = Buffer.from(signature, 'base64url')
      const right = sign(signed)
      if (given.length !== right.length || !timingSafeEqual(given, right) || Number(expiry) <= now()) return undefined
      if (tokens.problem() !== null) return undefined
      const entry = tokens.list().find(({ id }) => id === tokenId)
      if (entry === undefined || isExpired(entry, now())) return undefined
      if (entry.instance !== null && entry.instance !== instance) return undefined
      return { entry, instance, expiresAt: new Date(Number(expiry)).toISOString() }
    },
  }
}
