/**
 * The projection of a journal's private lines: what consumers sent to an instance, and how much of it was delivered. The host
 * continues from it. The platform's own reads (messages, export, a repeated call) find payloads through it. Payloads stay in
 * the file until they are needed.
 */
import { identify } from '../files/process-identity.ts'
import { isObject } from '../primitives/is-object.ts'
import type { EventEnvelope } from '../protocol/event.ts'
import type { Payload } from '../protocol/form.ts'
import type { Labels } from '../protocol/instance.ts'
import type {
  AdmissionMark,
  AnswerIntent,
  MessageIntent,
  RunMark,
  StopIntent,
  UncheckedInput,
} from '../protocol/journal.ts'
import { PAUSE_IGNORED } from '../protocol/methods.ts'
import { ToldTurns } from '../protocol/session/told-turns.ts'
import { isStatus, isTerminal } from '../protocol/status.ts'
import type { StoryStop } from '../view/story.ts'
import type { Place } from './journal-line.ts'
import { DAMAGED, type PlacedPrivate, readPlace } from './journal-reader.ts'

/** An accepted answer or message; its payload is in the file. */
export type Kept<T extends { payload: Payload }> = Omit<T, 'payload'> & { place: Place }
export type KeptAnswer = Kept<AnswerIntent>
export type KeptMessage = Kept<MessageIntent>

export class Inbox {
  /** What the events tell of the turns of LLM sessions. */
  readonly turns = new ToldTurns()
  readonly #answers = new Map<string, KeptAnswer>()
  readonly #messages = new Map<number, KeptMessage>()
  readonly #numbers = new Map<string, number>()
  readonly #undelivered = new Set<KeptAnswer | KeptMessage>()
  readonly #runs = new Set<number>()
  #boot: string | undefined
  #lastNumber = 0
  #stop: StopIntent | undefined
  #messageBytes = 0
  #hasSandbox = false
  #isImported = false
  #damaged = 0
  #name: string | null | undefined
  #labels: Labels | undefined
  #admission: AdmissionMark | undefined
  #uncheckedInput: string | undefined
  #sealedInput: string | undefined
  readonly #warnings = new Set<string>()

  answer(requestId: string): KeptAnswer | undefined {
    return this.#answers.get(requestId)
  }

  message(number: number): KeptMessage | undefined {
    return this.#messages.get(number)
  }

  /** The number of the message that came with this idempotency key. */
  numberOf(key: string | undefined): number | undefined {
    return key === undefined ? undefined : this.#numbers.get(key)
  }

  /** Messages are numbered from 1 without gaps. */
  get nextNumber(): number {
    return this.#lastNumber + 1
  }

  /** The size of all messages in the journal. */
  get messageBytes(): number {
    return this.#messageBytes
  }

  /** All answers and messages. */
  all(): (KeptAnswer | KeptMessage)[] {
    return [...this.#answers.values(), ...this.#messages.values()]
  }

  /** Accepted answers and messages that the resolver has not taken yet, in the order of acceptance. */
  undelivered(): (KeptAnswer | KeptMessage)[] {
    return [...this.#undelivered]
  }

  /** The pending stop, cancel or pause. */
  get stop(): StopIntent | undefined {
    return this.#stop
  }

  /** The pending stop or cancel, as consumers see it (R57); a pause is none. */
  get toldStop(): StoryStop | undefined {
    if (this.#stop === undefined || this.#stop.how === 'pause') return undefined
    const { reason, force, at } = this.#stop
    return { reason, force, requested_at: at }
  }

  /** Whether the resolver acknowledged `run()` for this incarnation. */
  hasRun(incarnation: number): boolean {
    return this.#runs.has(incarnation)
  }

  /** Whether the machine rebooted since the last run began: files that were written without a sync may be missing. */
  get isOfEarlierBoot(): boolean {
    return this.#boot !== undefined && this.#boot !== bootId()
  }

  get hasSandbox(): boolean {
    return this.#hasSandbox
  }

  /** Whether the files of the earlier layout were copied into the journal. */
  get isImported(): boolean {
    return this.#isImported
  }

  /** How many private lines cannot be read. */
  get damaged(): number {
    return this.#damaged
  }

  /** The latest name; undefined where the instance was never renamed. */
  get name(): string | null | undefined {
    return this.#name
  }

  /** The labels given after the creation; undefined where there were none. */
  get labels(): Labels | undefined {
    return this.#labels
  }

  /** What was found when the input was checked after the setup; undefined before, and where it was checked earlier. */
  get admission(): AdmissionMark | undefined {
    return this.#admission
  }

  /** The input, sealed, until it is checked. */
  get uncheckedInput(): string | undefined {
    return this.#uncheckedInput
  }

  /** The values of the secret fields of the input, sealed. */
  get sealedInput(): string | undefined {
    return this.#sealedInput
  }

  /** Whether the instance was warned of this before, by whichever host. */
  hasWarned(kind: string): boolean {
    return this.#warnings.has(kind)
  }

  /** Applies one private line. A kind of a later version is ignored, and a damaged line is counted. */
  note({ kind, text, place }: PlacedPrivate): void {
    const line = kind === DAMAGED ? undefined : parsed(text)
    if (line === undefined) this.#damaged += 1
    else this.take(kind, line, place)
  }

  /** As {@link note}, for a parsed line. */
  take(kind: string, line: object, place: Place): void {
    switch (kind) {
      case 'answer':
        this.#takeAnswer(withoutPayload(line as AnswerIntent, place))
        break
      case 'message':
        this.#takeMessage(withoutPayload(line as MessageIntent, place))
        break
      case 'delivered':
        this.#takeDelivered(line as { request_id?: string; number?: number })
        break
      case 'stop':
        this.#stop = { ...(line as StopIntent), kind: 'stop' }
        break
      case 'run':
        this.#runs.add((line as RunMark).incarnation)
        this.#boot = (line as RunMark).boot
        break
      case 'sandbox':
        this.#hasSandbox = true
        break
      case 'name':
        this.#takeName((line as { name?: unknown }).name)
        break
      case 'labels':
        this.#takeLabels((line as { labels?: unknown }).labels)
        break
      case 'admitted':
        this.#takeAdmission(line as AdmissionMark)
        break
      case 'unchecked_input':
        this.#uncheckedInput = (line as UncheckedInput).sealed
        break
      case 'sealed_input':
        this.#takeSealedInput((line as { sealed?: unknown }).sealed)
        break
      case 'imported':
        this.#isImported = true
        break
    }
  }

  /** Applies an event: a final status or a pause ends the pending stop, and a pause that the resolver ignored is dropped. */
  applyEvent({ event_type: type, data }: EventEnvelope): void {
    this.turns.apply(type, data)
    if (type === 'platform.watchdog.warning') this.#warnings.add(String(data['kind']))
    if (this.#stop === undefined) return
    const to = type === 'platform.instance.status_changed' ? data['to'] : undefined
    const isOver = isStatus(to) && (isTerminal(to) || to === 'paused')
    const isGivenUp =
      type === 'platform.watchdog.warning' && data['kind'] === PAUSE_IGNORED && this.#stop.how === 'pause'
    if (isOver || isGivenUp) this.#stop = undefined
  }

  #takeLabels(labels: unknown): void {
    if (isObject(labels)) this.#labels = labels as Labels
  }

  #takeAdmission(mark: AdmissionMark): void {
    this.#admission = mark
    if (mark.sealed !== null) this.#sealedInput = mark.sealed
  }

  #takeSealedInput(sealed: unknown): void {
    if (typeof sealed === 'string') this.#sealedInput ??= sealed
  }

  #takeName(name: unknown): void {
    if (typeof name === 'string' || name === null) this.#name = name
  }

  /** The first answer to a request wins (R25). */
  #takeAnswer(answer: KeptAnswer): void {
    if (typeof answer.request_id !== 'string' || this.#answers.has(answer.request_id)) return
    this.#answers.set(answer.request_id, { ...answer, kind: 'answer' })
    this.#undelivered.add(this.#answers.get(answer.request_id) as KeptAnswer)
  }

  #takeMessage(message: KeptMessage): void {
    if (!Number.isSafeInteger(message.number) || message.number < 1 || this.#messages.has(message.number)) return
    const kept: KeptMessage = { ...message, kind: 'message' }
    this.#messages.set(kept.number, kept)
    if (kept.key !== undefined) this.#numbers.set(kept.key, kept.number)
    this.#lastNumber = Math.max(this.#lastNumber, kept.number)
    this.#messageBytes += kept.place.bytes
    this.#undelivered.add(kept)
  }

  #takeDelivered({ request_id, number }: { request_id?: string; number?: number }): void {
    const kept = number === undefined ? this.#answers.get(request_id ?? '') : this.#messages.get(number)
    if (kept !== undefined) this.#undelivered.delete(kept)
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

export function bootId(): string | undefined {
  return identify(process.pid)?.bootId
}

/** The payload of an accepted answer or message. Throws the file system's error, and `journal_broken`. */
export function readPayload({ place }: { place: Place }): Payload {
  return ((readPlace(place) as { payload?: Payload }).payload ?? {}) as Payload
}

function withoutPayload<T extends { payload: Payload }>({ payload: _, ...rest }: T, place: Place): Kept<T> {
  return { ...rest, place } as Kept<T>
}
