/**
 * Sign-in links: each has a one-time code in its fragment, and a code is exchanged for one token (R38; threats WEB-4). Only
 * digests of tokens are stored, so no start can show a token that an earlier one made. The very first start makes an admin
 * token at once (R38): its text stays in this process's memory, and the first code returns it. If the code is not redeemed in
 * time, the token is revoked. Every other code makes its token when it is redeemed, so an unused link leaves nothing to
 * revoke. Codes exist only in memory and end with the process.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { fail, ResolveError } from '../../core/errors.ts'
import { isExpired, type NewToken, type Tokens } from '../../core/index.ts'
import { SIGN_IN_CODE_LIMIT_MS, SIGN_IN_TOKEN_MS } from '../../core/limits.ts'

export interface SignIn {
  /** A new code for a link, valid once and for 15 minutes. */
  code(): string
  /**
   * Throws `code_refused`; `too_many` after ten wrong codes within a minute; the errors of `Tokens.create`, and then the code
   * stays valid.
   */
  redeem(code: string): Promise<NewToken>
  /** Revokes every code, and the first token if it was not redeemed. */
  close(): Promise<void>
}

export interface SignInOptions {
  /** Milliseconds since 1970. */
  now?: () => number
}

interface Pending {
  digest: Buffer
  expiresAt: number
}

const CODE_BYTES = 24
const WRONG_PER_MINUTE = 10
const MINUTE_MS = 60_000

/**
 * Makes the first token where no valid token exists; on a full disk the redemption of the first link makes it. Throws the
 * errors of `Tokens.create`.
 */
export async function openSignIn(tokens: Tokens, options: SignInOptions = {}): Promise<SignIn> {
  const now = options.now ?? Date.now
  const isFirst = tokens.list().every((entry) => isExpired(entry, now()))
  return new Codes(tokens, now, isFirst ? await makeToken(tokens).catch(unlessFull) : undefined)
}

function unlessFull(error: unknown): undefined {
  if (!(error instanceof ResolveError) || error.code !== 'disk_full') throw error
}

function makeToken(tokens: Tokens): Promise<NewToken> {
  return tokens.create({ name: 'sign-in', scope: 'admin', expiresMs: SIGN_IN_TOKEN_MS })
}

class Codes implements SignIn {
  readonly #tokens: Tokens
  readonly #now: () => number
  #pending: Pending[] = []
  /** The times of the latest wrong codes. */
  #wrong: number[] = []
  #first: NewToken | undefined
  readonly #forgetting: NodeJS.Timeout | undefined

  constructor(tokens: Tokens, now: () => number, first: NewToken | undefined) {
    this.#tokens = tokens
    this.#now = now
    this.#first = first
    if (first === undefined) return
    // If revoking fails now, the token remains, but its text was never shown.
    this.#forgetting = setTimeout(() => void this.#forget().catch(() => {}), SIGN_IN_CODE_LIMIT_MS)
    this.#forgetting.unref()
  }

  code(): string {
    const code = randomBytes(CODE_BYTES).toString('base64url')
    this.#pending = this.#good()
    this.#pending.push({ digest: digestOf(code), expiresAt: this.#now() + SIGN_IN_CODE_LIMIT_MS })
    return code
  }

  async redeem(code: string): Promise<NewToken> {
    const now = this.#now()
    this.#wrong = this.#wrong.filter((at) => now - at < MINUTE_MS)
    if (this.#wrong.length >= WRONG_PER_MINUTE) throw fail('too_many', { what: 'wrong codes', limit: WRONG_PER_MINUTE })
    const digest = digestOf(code)
    const good = this.#good()
    // Compares all codes, so that the time of an answer does not depend on which one matches.
    const [found] = good.filter((one) => timingSafeEqual(one.digest, digest))
    if (found === undefined) {
      this.#wrong.push(now)
      throw fail('code_refused', {})
    }
    // Removed before the first await: of two requests with the same code only one gets a token.
    this.#pending = good.filter((one) => one !== found)
    const first = this.#first
    this.#first = undefined
    if (first !== undefined) {
      clearTimeout(this.#forgetting)
      return first
    }
    try {
      return await makeToken(this.#tokens)
    } catch (error) {
      this.#pending.push(found)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#pending = []
    clearTimeout(this.#forgetting)
    await this.#forget()
  }

  async #forget(): Promise<void> {
    const first = this.#first
    this.#first = undefined
    if (first !== undefined) await this.#tokens.revoke(first.entry.id)
  }

  #good(): Pending[] {
    return this.#pending.filter(({ expiresAt }) => expiresAt > this.#now())
  }
}

function digestOf(code: string): Buffer {
  return createHash('sha256').update(code).digest()
}
