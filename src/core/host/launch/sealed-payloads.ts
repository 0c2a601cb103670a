/**
 * The secret values of one instance besides the named ones: secret fields of its input, its answers and its messages (R55). In the
 * journal they are sealed with the key of the home; only a launch and a delivery open them.
 */
import { ResolveError } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { textsIn } from '../../forms/secret-fields.ts'
import type { Payload } from '../../protocol/form.ts'
import { open, seal } from '../../secrets/seal.ts'
import { removeSealedTexts, writeSealedTexts } from '../../secrets/sealed-texts.ts'
import type { Ledger } from '../ledger/ledger.ts'

export class SealedPayloads {
  readonly #home: string
  readonly #id: string
  readonly #ledger: Ledger
  readonly #texts = new Set<string>()
  #isListed = false
  /** The first value that could not be opened; then the worker cannot get what it was given. */
  problem: ResolveError | undefined

  /** Opens everything that the journal holds sealed. Never throws: see {@link problem}. */
  constructor(home: string, ledger: Ledger) {
    this.#home = home
    this.#ledger = ledger
    this.#id = ledger.story.creation.instance_id
    for (const sealed of [ledger.inbox.sealedInput, ...ledger.inbox.all().map((kept) => kept.sealed)]) {
      if (sealed !== undefined) this.#note(sealed)
    }
    try {
      this.list()
    } catch {
      // The host lists them before it goes on, where the disk was full.
    }
  }

  /** The texts to redact. */
  get texts(): string[] {
    return [...this.#texts]
  }

  /** The secret fields of the input, to be given to the worker. */
  get input(): Payload {
    const { sealedInput } = this.#ledger.inbox
    return sealedInput === undefined ? {} : this.#openOrNothing(sealedInput)
  }

  /** The input that is not checked yet. Throws `secret_unreadable`, `secret_key_unusable`. */
  get unchecked(): Payload {
    const { uncheckedInput } = this.#ledger.inbox
    return uncheckedInput === undefined ? {} : openPayload(this.#home, this.#id, uncheckedInput)
  }

  /** The payload as it was sent. Throws `secret_unreadable`, `secret_key_unusable`. */
  whole(payload: Payload, sealed: string | undefined): Payload {
    return sealed === undefined ? payload : { ...payload, ...openPayload(this.#home, this.#id, sealed) }
  }

  /** Seals values that are about to be accepted; from now on they are redacted. Throws `secret_key_unusable`, `disk_full`. */
  take(secret: Payload): string {
    const sealed = sealPayload(this.#home, this.#id, secret)
    for (const text of textsIn(secret)) this.#texts.add(text)
    this.#isListed = false
    this.list()
    this.#ledger.hide(this.texts)
    failpoint('seal.listed')
    return sealed
  }

  #note(sealed: string): void {
    for (const text of textsIn(this.#openOrNothing(sealed))) this.#texts.add(text)
  }

  #openOrNothing(sealed: string): Payload {
    try {
      return openPayload(this.#home, this.#id, sealed)
    } catch (error) {
      if (!(error instanceof ResolveError)) throw error
      this.problem ??= error
      return {}
    }
  }

  /**
   * The file is only a list for readers; the journal has the values. Not durable: after a power failure there is no live worker, and the next host
   * lists them anew. Throws `secret_key_unusable`, and the system's error.
   */
  list(): void {
    // A list without the texts that cannot be opened must not replace the whole one.
    if (this.#isListed || this.#texts.size === 0 || this.problem !== undefined) return
    writeSealedTexts(this.#home, this.#ledger.directory, this.#id, this.texts)
    this.#isListed = true
  }

  /** After the check of an input that has none: readers then need no key. */
  removeList(): void {
    if (this.#texts.size === 0 && this.problem === undefined) removeSealedTexts(this.#ledger.directory)
  }
}

/** The texts that the journal holds sealed, as far as they can be opened. */
export function sealedTexts(home: string, { story, inbox }: Ledger): string[] {
  const { instance_id: id } = story.creation
  return [inbox.sealedInput, ...inbox.all().map((kept) => kept.sealed)].flatMap((sealed) => {
    try {
      return sealed === undefined ? [] : textsIn(openPayload(home, id, sealed))
    } catch (error) {
      if (error instanceof ResolveError) return []
      throw error
    }
  })
}

export function sealPayload(home: string, id: string, secret: Payload): string {
  return seal(home, `payload of instance ${id}`, JSON.stringify(secret))
}

function openPayload(home: string, id: string, sealed: string): Payload {
  return JSON.parse(open(home, `payload of instance ${id}`, sealed)) as Payload
}
