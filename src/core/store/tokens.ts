/**
 * The tokens of a home (R38). `resolve token create` and sign-in make them; every HTTP request is checked against them. The
 * token text is shown once, when it is made; the file keeps its SHA-256. Changes by other processes take effect at the next
 * check, so a revoked token is refused at once.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { fail, type ResolveError } from '../errors.ts'
import { inHome } from '../files/home-errors.ts'
import { withLock } from '../files/lock.ts'
import { syncDirectory } from '../files/write-whole.ts'
import type { Scope } from '../protocol/http.ts'
import { isInstanceId, prepareHome } from './home.ts'
import {
  isTokenName,
  readTokenFile,
  type TokenEntry,
  type TokenReading,
  tokenFingerprint,
  writeTokenFile,
} from './token-file.ts'

export type { TokenEntry } from './token-file.ts'

export const TOKENS_FILE = 'tokens.json'

/** A token that expired this long ago is removed when the next one is made. */
const EXPIRED_KEEP_MS = 30 * 24 * 60 * 60_000
const TOKENS_MAX = 2_000
const SECRET_BYTES = 32
const TOKEN = /^rslv_([0-9a-f]{8})_[A-Za-z0-9_-]{43}$/
const NO_DIGEST = Buffer.alloc(32)

export interface TokenRequest {
  /** Default: `token-` and its id. */
  name?: string
  /** Default `run`. */
  scope?: Scope
  instance?: string | null
  /** Validity in milliseconds; null (default) for no expiry. */
  expiresMs?: number | null
}

export interface NewToken {
  /** `rslv_<id>_<43 characters>`, 256 random bits: shown once and stored nowhere. */
  token: string
  entry: TokenEntry
}

export interface Tokens {
  /** Durable when it returns. Throws `usage`, `tokens_broken`, `home_unusable`, `disk_full`. */
  create(request?: TokenRequest): Promise<NewToken>
  /** Oldest first, including expired ones. Throws `tokens_broken`. */
  list(): TokenEntry[]
  /**
   * Removes the token with this id, or every token of this name. Returns what was removed. Throws `token_unknown` and what
   * create throws.
   */
  revoke(idOrName: string): Promise<TokenEntry[]>
  /** Undefined for an unknown, expired or revoked token, and while the file is broken. */
  verify(text: string): TokenEntry | undefined
  /** Set while the file is not valid; then no token verifies. */
  problem(): ResolveError | null
  /** A warning for the user that others could read the file; null where there is none. */
  warning(): string | null
  /** Moves a broken file aside and returns its new path; undefined where it was not broken. */
  quarantine(): Promise<string | undefined>
}

export interface TokensOptions {
  /** Milliseconds since 1970. */
  now?: () => number
}

export function openTokens(home: string, options: TokensOptions = {}): Tokens {
  return new TokenStore(home, options.now ?? Date.now)
}

/** Whether the token was valid at that time. */
export function isExpired(entry: TokenEntry, now: number): boolean {
  return entry.expires_at !== null && Date.parse(entry.expires_at) <= now
}

class TokenStore implements Tokens {
  readonly #home: string
  readonly #file: string
  readonly #now: () => number
  #reading: TokenReading = { entries: [], problem: null, wasOpen: false }
  #fingerprint: string | undefined
  #wasOpen = false

  constructor(home: string, now: () => number) {
    this.#home = home
    this.#file = join(home, TOKENS_FILE)
    this.#now = now
  }

  async create(request: TokenRequest = {}): Promise<NewToken> {
    const id = randomBytes(4).toString('hex')
    const { name = `token-${id}`, scope = 'run', instance = null, expiresMs = null } = request
    check(name, scope, instance, expiresMs)
    const now = this.#now()
    const token = `rslv_${id}_${randomBytes(SECRET_BYTES).toString('base64url')}`
    const entry: TokenEntry = {
      ...{ id, name, scope, instance },
      sha256: digestOf(token).toString('hex'),
      created_at: new Date(now).toISOString(),
      expires_at: expiresMs === null ? null : new Date(now + expiresMs).toISOString(),
    }
    await this.#change((entries) => {
      const kept = entries.filter((one) => !isExpired(one, now - EXPIRED_KEEP_MS))
      if (kept.length >= TOKENS_MAX) {
        throw fail('usage', { problem: `There are ${kept.length} tokens already; revoke the unused ones.` })
      }
      return [...kept, entry]
    })
    return { token, entry }
  }

  list(): TokenEntry[] {
    const { entries, problem } = this.#read()
    if (problem !== null) throw problem
    return entries.map((entry) => ({ ...entry }))
  }

  async revoke(idOrName: string): Promise<TokenEntry[]> {
    let removed: TokenEntry[] = []
    await this.#change((entries) => {
      removed = entries.filter(({ id }) => id === idOrName)
      if (removed.length === 0) removed = entries.filter(({ name }) => name === idOrName)
      if (removed.length === 0) throw fail('token_unknown', { id: idOrName })
      return entries.filter((entry) => !removed.includes(entry))
    })
    return removed
  }

  verify(text: string): TokenEntry | undefined {
    const id = TOKEN.exec(text)?.[1]
    if (id === undefined) return undefined
    const entry = this.#read().entries.find((one) => one.id === id)
    // Compares digests even when the id is unknown, so that both cases take the same time.
    const isSame = timingSafeEqual(digestOf(text), entry === undefined ? NO_DIGEST : Buffer.from(entry.sha256, 'hex'))
    if (entry === undefined || !isSame || isExpired(entry, this.#now())) return undefined
    return { ...entry }
  }

  problem(): ResolveError | null {
    return this.#read().problem
  }

  warning(): string | null {
    this.#read()
    if (!this.#wasOpen) return null
    return `Others on this machine could read ${this.#file}; only you can read it now. It holds digests, no tokens.`
  }

  async quarantine(): Promise<string | undefined> {
    // Takes the lock only where something must change: a server must start even on a full disk, where no lock file can be made.
    this.#fingerprint = undefined
    if (this.#read().problem === null) return undefined
    return await this.#locked(async () => {
      this.#fingerprint = undefined
      if (this.#read().problem === null) return undefined
      const aside = `${this.#file}.broken-${new Date(this.#now()).toISOString().replaceAll(/[:.]/g, '-')}`
      await rename(this.#file, aside)
      await syncDirectory(this.#home)
      return aside
    })
  }

  #read(): TokenReading {
    const fingerprint = tokenFingerprint(this.#file)
    if (fingerprint !== this.#fingerprint) {
      this.#reading = readTokenFile(this.#file)
      this.#wasOpen ||= this.#reading.wasOpen
      // The fingerprint from before the reading: a change during it, or a failed reading, is read again at the next check.
      this.#fingerprint = this.#reading.problem === null ? fingerprint : undefined
    }
    return this.#reading
  }

  /** Starts from the file, never from memory. A file that cannot be read is never replaced. */
  #change(decide: (entries: readonly TokenEntry[]) => TokenEntry[]): Promise<void> {
    return this.#locked(async () => {
      this.#fingerprint = undefined
      const { entries, problem } = this.#read()
      if (problem !== null) throw problem
      await writeTokenFile(this.#file, decide(entries))
      this.#fingerprint = undefined
    })
  }

  async #locked<T>(work: () => Promise<T>): Promise<T> {
    prepareHome(this.#home)
    return await inHome(this.#home, () => withLock(`${this.#file}.lock`, work), this.#file)
  }
}

function check(name: string, scope: Scope, instance: string | null, expiresMs: number | null): void {
  const usage = (problem: string) => fail('usage', { problem })
  if (!isTokenName(name)) {
    throw usage(
      'A token\'s name has up to 64 letters, digits, spaces and ". _ @ : -", and begins with a letter or a digit.',
    )
  }
  if (instance !== null && !isInstanceId(instance)) throw usage('A token of one instance needs the full id.')
  if (instance !== null && scope === 'admin') {
    throw usage('A token of one instance has the scope read or run.')
  }
  if (expiresMs !== null && !(expiresMs > 0 && expiresMs < 100 * 365 * 24 * 60 * 60_000)) {
    throw usage('The validity of a token is more than 0 and less than 100 years.')
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
