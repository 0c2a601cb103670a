/**
 * What was asked for and answered under an Idempotency-Key (R11), in `<home>/idempotency`. A key is claimed durably before its
 * effect, with the names the effect will use; so who asks again after a crash asks for the same effect, not for a second.
 */
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fail, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { homeError } from '../files/home-errors.ts'
import { createExclusive, writeWhole } from '../files/write-whole.ts'
import { IDEMPOTENCY_KEEP_MS } from '../limits.ts'
import { newInstanceId } from './home.ts'

/** An answer as it went out. */
export interface KeptAnswer {
  status: number
  location: string | null
  /** JSON; null where the answer has no body. */
  body: string | null
}

/** One call that its key names. */
export interface KeyedCall {
  /** Who asks, the method and the path: the same key under another scope is another key. */
  scope: readonly string[]
  key: string
  /** What is asked for; a key stands for one. */
  body: unknown
}

export interface Claim {
  /** Names the call to the platform: the same for every try. */
  key: string
  /** For the instance that the call may create: the same for every try. */
  instanceId: string
  /** ISO-8601 UTC of the first try. */
  since: string
  /** An earlier try was never answered: its effect may be there. */
  isRetry: boolean
  /** Keeps the answer durably; every later try is given it. */
  answer(answer: KeptAnswer): Promise<void>
  /** Lets the next try have it, where this one came to no answer. */
  release(): void
}

interface Kept {
  body: string
  instance_id: string
  since: string
  answer: KeptAnswer | null
}

export class IdempotencyKeys {
  readonly #directory: string
  readonly #held = new Map<string, Promise<void>>()
  #sweptAt = 0

  constructor(home: string) {
    this.#directory = join(home, 'idempotency')
  }

  /**
   * The answer that was given first, or the right to give it; waits while another call of this process has that right.
   * Throws `key_reused` where the key stands for another body, `disk_full`, `home_unusable`.
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
      const { kept, isNew } = await this.#reserve(name, digest([JSON.stringify(call.body) ?? '']))
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

  /** Removes what is older than a day, and what a killed process left half written. */
  async sweep(now = Date.now()): Promise<void> {
    this.#sweptAt = now
    for (const file of await readdir(this.#directory).catch(() => [])) {
      const path = join(this.#directory, file)
      const found = await stat(path).catch(() => undefined)
      if (found !== undefined && now - found.mtimeMs > IDEMPOTENCY_KEEP_MS) await unlink(path).catch(() => {})
    }
  }

  async #reserve(name: string, body: string): Promise<{ kept: Kept; isNew: boolean }> {
    const now = Date.now()
    await mkdir(this.#directory, { recursive: true, mode: 0o700 })
    if (now - this.#sweptAt > SWEEP_EVERY_MS) await this.sweep(now)
    const found = await this.#read(name)
    if (found !== undefined) return { kept: sameBody(found, body), isNew: false }
    const kept = { body, instance_id: newInstanceId(), since: new Date(now).toISOString(), answer: null }
    if (await this.#create(name, kept)) return { kept, isNew: true }
    // Another process was faster.
    const theirs = await this.#read(name)
    return { kept: sameBody(theirs ?? kept, body), isNew: false }
  }

  /** Undefined where there is none, or none that still counts. */
  async #read(name: string): Promise<Kept | undefined> {
    const kept = await readFile(this.#path(name), 'utf8').then(toKept, (error) => {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    })
    if (kept !== undefined && Date.now() - Date.parse(kept.since) <= IDEMPOTENCY_KEEP_MS) return kept
    await unlink(this.#path(name)).catch(() => {})
    return undefined
  }

  /** Whole and for the first time, or not at all; false where the key is claimed already. */
  async #create(name: string, kept: Kept): Promise<boolean> {
    return await createExclusive(this.#path(name), JSON.stringify(kept), {
      durable: true,
      onStep: (step) => {
        if (step === 'written') failpoint('key.drafted')
        if (step === 'renamed') failpoint('key.linked')
      },
    })
  }

  #path(name: string): string {
    return join(this.#directory, `${name}.json`)
  }
}

const SWEEP_EVERY_MS = 60 * 60_000

function sameBody(kept: Kept, body: string): Kept {
  if (kept.body !== body) throw fail('key_reused', {})
  return kept
}

function digest(words: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(words)).digest('hex')
}

/** Undefined for what is no such file any more: a machine that lost its power may have cut it. */
function toKept(text: string): Kept | undefined {
  try {
    const kept = JSON.parse(text) as Kept
    return typeof kept.since === 'string' && typeof kept.instance_id === 'string' ? kept : undefined
  } catch {
    return undefined
  }
}
