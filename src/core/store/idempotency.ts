/**
 * Stores requests and their answers by Idempotency-Key (R11), in `<home>/idempotency`; the HTTP API calls it. A key is claimed
 * durably before the effect, together with the names that the effect will use. A retry after a crash therefore repeats the same
 * effect instead of making a second one.
 */
import { createHash, createHmac } from 'node:crypto'
import { mkdir, readdir, readFile, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fail, ResolveError, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { homeError } from '../files/home-errors.ts'
import { withLock } from '../files/lock.ts'
import { createExclusive, writeWhole } from '../files/write-whole.ts'
import { IDEMPOTENCY_KEEP_MS } from '../limits.ts'
import { ensureKey } from '../secrets/key-file.ts'
import { newInstanceId } from './home.ts'

/** The stored answer. */
export interface KeptAnswer {
  status: number
  location: string | null
  /** JSON; null where the answer has no body. */
  body: string | null
}

/** One call, identified by its key. */
export interface KeyedCall {
  /** The caller, the method and the path: the same key with another scope is another key. */
  scope: readonly string[]
  key: string
  /** The content of the request; a key belongs to exactly one. */
  body: unknown
}

export interface Claim {
  /** The name of the call for the platform: the same at every try. */
  key: string
  /** The id of the instance that the call may create: the same at every try. */
  instanceId: string
  /** ISO-8601 UTC time of the first try. */
  since: string
  /** An earlier try got no answer, so its effect may already exist. */
  isRetry: boolean
  /** Stores the answer durably; every later try gets it. */
  answer(answer: KeptAnswer): Promise<void>
  /** Frees the claim for the next try, when this one ended without an answer. */
  release(): void
}

interface Kept {
  body: string
  instance_id: string
  since: string
  answer: KeptAnswer | null
}

export class IdempotencyKeys {
  readonly #home: string
  readonly #directory: string
  readonly #held = new Map<string, Promise<void>>()
  #sweptAt = 0

  constructor(home: string) {
    this.#home = home
    this.#directory = join(home, 'idempotency')
  }

  /**
   * Returns the stored answer, or the right to make one; waits while another call of this process holds that right. Throws
   * `key_reused` where the key belongs to another body, `disk_full`, `home_unusable`.
   */
  async claim(call: KeyedCall): Promise<KeptAnswer | Claim> {
    const name = digest([...call.scope, call.key])
    for (let held = this.#held.get(name); held !== undefined; held = this.#held.get(name)) await held
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held.set(name, promise)
    const release = () => {
      this.#held.delete(name)
      resolve()
    }
    try {
      const { kept, isNew } = await this.#reserve(name, JSON.stringify(call.body) ?? '')
      if (kept.answer !== null) {
        release()
        return kept.answer
      }
      failpoint('key.claimed')
      const answer = async (given: KeptAnswer) => {
        failpoint('key.answering')
        await writeWhole(this.#path(name), JSON.stringify({ ...kept, answer: given }), { durable: true })
        failpoint('key.answered')
      }
      return { key: name, instanceId: kept.instance_id, since: kept.since, isRetry: !isNew, answer, release }
    } catch (error) {
      release()
      throw homeError(error, this.#directory, 'the key')
    }
  }

  /** Removes entries older than a day, and unfinished files of a killed writer. */
  async sweep(now = Date.now()): Promise<void> {
    this.#sweptAt = now
    const files = await readdir(this.#directory).catch(() => [])
    if (files.length === 0) return
    await this.#alone(async () => {
      for (const file of files) {
        const path = join(this.#directory, file)
        const found = await stat(path).catch(() => undefined)
        if (found !== undefined && now - found.mtimeMs > IDEMPOTENCY_KEEP_MS) await unlink(path).catch(() => {})
      }
    })
  }

  async #reserve(name: string, body: string): Promise<{ kept: Kept; isNew: boolean }> {
    const now = Date.now()
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    if (now - this.#sweptAt > SWEEP_EVERY_MS) await this.sweep(now)
    const found = await this.#read(name)
    if (found !== undefined) return { kept: this.#sameBody(found, body), isNew: false }
    const kept = {
      body: this.#keyed(body),
      instance_id: newInstanceId(),
      since: new Date(now).toISOString(),
      answer: null,
    }
    if (await this.#create(name, kept)) return { kept, isNew: true }
    // Another process claimed the key first.
    const theirs = await this.#read(name)
    return { kept: this.#sameBody(theirs ?? kept, body), isNew: false }
  }

  /** Undefined where there is no entry; one that is expired or damaged is removed before. */
  async #read(name: string): Promise<Kept | undefined> {
    const found = await this.#look(name)
    if (found !== 'over') return found
    // Another process may have removed it meanwhile, and claimed the key: its entry must stay.
    return await this.#alone(async () => {
      const again = await this.#look(name)
      if (again !== 'over') return again
      await unlink(this.#path(name)).catch(() => {})
      return undefined
    })
  }

  async #look(name: string): Promise<Kept | 'over' | undefined> {
    let text: string
    try {
      text = await readFile(this.#path(name), 'utf8')
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    }
    const kept = toKept(text)
    return kept !== undefined && Date.now() - Date.parse(kept.since) <= IDEMPOTENCY_KEEP_MS ? kept : 'over'
  }

  /** Entries are removed by one process at a time: what it has seen to be over is over when it removes it. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    return await withLock(join(this.#directory, REMOVAL_LOCK), work)
  }

  /** Creates the file complete or not at all; returns false where the key is already claimed. */
  async #create(name: string, kept: Kept): Promise<boolean> {
    return await createExclusive(this.#path(name), JSON.stringify(kept), {
      durable: true,
      onStep: (step) => {
        if (step === 'written') failpoint('key.drafted')
        if (step === 'renamed') failpoint('key.linked')
      },
    })
  }

  /** Entries of an earlier version have a digest without a key. */
  #sameBody(kept: Kept, body: string): Kept {
    const now = this.#keyed(body)
    // Without the key of the home the bodies cannot be compared: then the request's own key alone identifies it.
    const isUnknown = kept.body === UNKEYED || (kept.body.startsWith(KEYED) && now === UNKEYED)
    const isSame = isUnknown || kept.body === (kept.body.startsWith(KEYED) ? now : digest([body]))
    if (!isSame) throw fail('key_reused', {})
    return kept
  }

  /** Keyed, because a body may have the value of a secret field: it could be guessed from a plain digest (threats B9). */
  #keyed(body: string): string {
    const key = this.#key()
    return key === undefined ? UNKEYED : `${KEYED}${createHmac('sha256', key).update(body).digest('hex')}`
  }

  /** Undefined where it cannot be used: requests without secret values must go on, for example a stop. */
  #key(): Buffer | undefined {
    try {
      return ensureKey(this.#home)
    } catch (error) {
      if (error instanceof ResolveError && error.code === 'secret_key_unusable') return undefined
      throw error
    }
  }

  #path(name: string): string {
    return join(this.#directory, `${name}.json`)
  }
}

/** The beginning of a digest that is keyed with the key of the home. */
const KEYED = 'k1:'
/** Instead of a digest, where the key of the home could not be used. */
const UNKEYED = 'k0'
const SWEEP_EVERY_MS = 60 * 60_000
const REMOVAL_LOCK = 'removal.lock'

function digest(words: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex')
}

/** Undefined for a damaged file: a power failure may have cut it. */
function toKept(text: string): Kept | undefined {
  try {
    const kept = JSON.parse(text) as Kept
    return typeof kept.since === 'string' && typeof kept.instance_id === 'string' ? kept : undefined
  } catch {
    return undefined
  }
}
