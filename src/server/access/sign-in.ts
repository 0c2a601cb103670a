/**
 * Sign-in links: each has a one-time code in its fragment, and a code is worth one token (R38; threats WEB-4).
 *
 * Only digests of tokens are stored, so no start can show a token that an earlier one made. The first start of all makes an
 * admin token at once, as R38 says: its text stays in this process's memory, the first code hands it out, and it is forgotten
 * and revoked where nobody came for it in time. Every other code makes its token when it is redeemed: there is nothing
 * to revoke for a link that nobody followed. Codes live in memory alone and end with the process.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { fail, ResolveError } from '../../core/errors.ts'
import { isExpired, type NewToken, type Tokens } from '../../core/index.ts'
import { SIGN_IN_CODE_LIMIT_MS, SIGN_IN_TOKEN_MS } from '../../core/limits.ts'

export interface SignIn {
  /** A new code for a link, good once and for 15 minutes. */
  code(): string
  /** Throws `code_refused`; `too_many` after ten wrong ones within a minute; what `Tokens.create` throws, and then the code stays good. */
  redeem(code: string): Promise<NewToken>
  /** Takes every code back, and the first token where nobody came for it. */
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

/** Makes the first token where no token opens anything; on a full disk whoever follows the link makes it. Throws what `Tokens.create` throws. */
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
  /** When each of the last wrong codes came. */
  #wrong: number[] = []
  #first: NewToken | undefined
  readonly #forgetting: NodeJS.Timeout | undefined

  constructor(tokens: Tokens, now: () => number, first: NewToken | undefined) {
    this.#tokens = tokens
    this.#now = now
    this.#first = first
    if (first === undefined) return
    // Where it can't be revoked now, it is a token nobody knows: it opens nothing.
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
    // All are compared: the answer takes as long for the first as for none.
    const [found] = good.filter((one) => timingSafeEqual(one.digest, digest))
    if (found === undefined) {
      this.#wrong.push(now)
      throw fail('code_refused', {})
    }
    // Gone before anything is waited for: two that come together get one token.
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
