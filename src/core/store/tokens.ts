/**
 * The tokens of a home (R38): made by `resolve token create` and by signing in, asked for by every request of the HTTP API.
 * The text of a token is told once, when it is made; the file keeps its SHA-256. A file that another process changed counts at
 * the next question, so what is revoked opens nothing any more.
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

/** What has been of no use for so long leaves the list when the next token is made. */
const EXPIRED_KEEP_MS = 30 * 24 * 60 * 60_000
const TOKENS_MAX = 2_000
const SECRET_BYTES = 32
const TOKEN = /^rslv_([0-9a-f]{8})_[A-Za-z0-9_-]{43}$/
const NOBODY = Buffer.alloc(32)

export interface TokenRequest {
  /** Default: `token-` and its id. */
  name?: string
  /** Default `run`. */
  scope?: Scope
  instance?: string | null
  /** How long it is good, in milliseconds; null (default) for ever. */
  expiresMs?: number | null
}

export interface NewToken {
  /** `rslv_<id>_<43 characters>`, 256 random bits: to be shown once and kept nowhere. */
  token: string
  entry: TokenEntry
}

export interface Tokens {
  /** Durable when it returns. Throws `usage`, `tokens_broken`, `home_unusable`, `disk_full`. */
  create(request?: TokenRequest): Promise<NewToken>
  /** Oldest first, expired ones too. Throws `tokens_broken`. */
  list(): TokenEntry[]
  /** By id, or every token of that name. Answers what was removed. Throws `token_unknown` and what create throws. */
  revoke(idOrName: string): Promise<TokenEntry[]>
  /** Undefined for what is unknown, expired, revoked, or while the file is broken. */
  verify(text: string): TokenEntry | undefined
  /** Set while the file cannot be believed; then nothing verifies. */
  problem(): ResolveError | null
  /** A sentence for a person: others could read the file. Null where there is nothing to warn of. */
  warning(): string | null
  /** Moves a broken file aside and answers its new path; undefined where nothing was broken. */
  quarantine(): Promise<string | undefined>
}

export interface TokensOptions {
  /** Milliseconds since 1970. */
  now?: () => number
}

export function openTokens(home: string, options: TokensOptions = {}): Tokens {
  return new TokenStore(home, options.now ?? Date.now)
}

/** Whether it opened doors at that time. */
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
        throw fail('usage', { problem: `There are ${kept.length} tokens already; revoke those that nobody uses.` })
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
    // Compared also where there is none: the answer takes as long.
    const isSame = timingSafeEqual(digestOf(text), entry === undefined ? NOBODY : Buffer.from(entry.sha256, 'hex'))
    if (entry === undefined || !isSame || isExpired(entry, this.#now())) return undefined
    return { ...entry }
  }

  problem(): ResolveError | null {
    return this.#read().problem
  }

  warning(): string | null {
    this.#read()
    if (!this.#wasOpen) return null
    return `Others on this machine could read ${this.#file}; it is for you alone now. It holds no token, only digests.`
  }

  async quarantine(): Promise<string | undefined> {
    // Without the lock where all is well: a full disk has no room for one, and a server must come up on it.
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
      // As it was before the reading: what changes meanwhile is read at the next question, as is what could not be read.
      this.#fingerprint = this.#reading.problem === null ? fingerprint : undefined
    }
    return this.#reading
  }

  /** Begins from the file, never from memory; a file that cannot be read is never replaced. */
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
  if (instance !== null && !isInstanceId(instance)) throw usage('A token of one instance needs the whole id.')
  if (instance !== null && scope === 'admin') {
    throw usage('A token of one instance has the scope read or run: it can look after nothing else.')
  }
  if (expiresMs !== null && !(expiresMs > 0 && expiresMs < 100 * 365 * 24 * 60 * 60_000)) {
    throw usage('A token is good for more than nothing and less than 100 years.')
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
