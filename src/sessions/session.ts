/** One session: its turns one after another, each told by two events, and answered from the transcript where it was answered before. */
import { createHash } from 'node:crypto'
import { fail, ResolveError } from '../core/errors.ts'
import { SESSION_PROMPT_MAX_BYTES, SESSION_READS_AT_ONCE } from '../core/limits.ts'
import type { InstanceError } from '../core/protocol/instance.ts'
import type { SessionCompleted, SessionDispatched, SessionUsage } from '../core/protocol/session/session.ts'
import type {
  AskedForObject,
  PromptImage,
  RunOptions,
  Session,
  SessionAnswer,
  SessionLimits,
} from './contract/contract.ts'
import type { Guardian } from './guardian/guardian.ts'
import { describePlace } from './instructions.ts'
import { type AnswerSchema, openSchema } from './loop/answer-schema.ts'
import { Bounds } from './loop/bounds.ts'
import type { Budget } from './loop/budget.ts'
import { Lock } from './loop/lock.ts'
import type { Pace } from './loop/parts.ts'
import { areSameImages, takeImages } from './loop/prompt-images.ts'
import { runTurn } from './loop/turn.ts'
import type { Model } from './provider/model.ts'
import type { Place } from './tools/place.ts'
import type { Toolbox } from './tools/toolbox.ts'
import type { Turn } from './transcript/history.ts'
import type { KeptImage } from './transcript/images.ts'
import { Steering } from './transcript/steering.ts'
import type { Transcript } from './transcript/transcript.ts'

export interface SessionParts {
  id: string
  name: string
  parent: string | undefined
  model: Model
  instructions: string
  toolbox: Toolbox
  /** Where images of prompts may be. */
  imagesIn: Place
  guardian: Guardian
  transcript: Transcript
  limits: SessionLimits
  /** Of the instance. */
  budget: Budget | undefined
  pace: Pace
  /** The directory of the instance: what is above it is not read. */
  top: string
  /** Of the instance. */
  signal: AbortSignal
  /** Places for runs at the same time, shared by all sessions of the instance. */
  places: Lock
  tellDispatched(data: SessionDispatched): void
  tellCompleted(data: SessionCompleted): void
}

export class OpenSession implements Session {
  readonly #parts: SessionParts
  readonly #steering: Steering
  readonly #turns = new Lock()
  readonly #lock = new Lock()
  readonly #reading = new Lock(SESSION_READS_AT_ONCE)
  readonly #bounds: Bounds
  /** How many prompts this process has given: the place of the next one in the transcript. */
  #given = 0

  constructor(parts: SessionParts) {
    this.#parts = parts
    this.#bounds = new Bounds(parts.model.window)
    this.#steering = new Steering(parts.transcript)
  }

  get id(): string {
    return this.#parts.id
  }

  /**
   * The next prompt is the `number`-th, from 1: those before it were given by an earlier process. False where one of them has no end in the
   * transcript.
   */
  goTo(number: number): boolean {
    const before = this.#parts.transcript.history.turns[number - 2]
    if (number > 1 && (before === undefined || !isOver(before))) return false
    this.#given = number - 1
    return true
  }

  /** `key`: of a call that may be made again. Throws `input_too_large`. */
  steer(text: string, key?: string): void {
    this.#steering.say(text, key)
  }

  run<T = unknown>(prompt: string, options: AskedForObject): Promise<SessionAnswer & { object: T }>
  run(prompt: string, options?: RunOptions): Promise<SessionAnswer>
  async run(prompt: string, options: RunOptions = {}): Promise<SessionAnswer> {
    const bytes = Buffer.byteLength(prompt)
    if (bytes > SESSION_PROMPT_MAX_BYTES)
      throw fail('input_too_large', { what: 'prompt', bytes, limit: SESSION_PROMPT_MAX_BYTES })
    const { signal: ofInstance, places } = this.#parts
    const signal = options.signal === undefined ? ofInstance : AbortSignal.any([ofInstance, options.signal])
    const { schema: given, number, images = [] } = options
    const schema = given === undefined ? undefined : await openSchema(this.id, given)
    const leaveTurns = await this.#turns.enter(signal)
    try {
      if (number !== undefined && !this.goTo(number))
        throw fail('session_options_invalid', {
          session: this.id,
          problem: `prompt ${number} is not the next one: one before it was not answered`,
        })
      const answered = await this.#take(prompt, images, signal, schema)
      if (answered !== undefined) return answered
      const leavePlace = await places.enter(signal)
      try {
        return await this.#work(signal, schema)
      } finally {
        leavePlace()
      }
    } finally {
      leaveTurns()
    }
  }

  /** Tells the end of a turn that is under way: for a run that ends and is not paused. Nothing can wait any more. */
  endOpen(error: InstanceError): void {
    const turn = this.#parts.transcript.history.turns.at(-1)
    if (turn === undefined || isOver(turn)) return
    const duration_ms = Date.now() - Date.parse(turn.startedAt)
    this.#parts.transcript.appendNow('failure', { turn: turn.number, error, duration_ms })
    this.#tellCompleted(turn)
  }

  /** What all its turns used. */
  get spent(): { usage: SessionUsage; cost_usd: number | null } {
    const { usage, cost } = this.#parts.transcript.history
    return { usage, cost_usd: cost }
  }

  /** Ends what it runs in the background. */
  async close(): Promise<void> {
    await this.#parts.toolbox.close()
  }

  /**
   * Makes this prompt the current turn: the one of the transcript at this place if the prompt is the same, else a new one. Gives the answer
   * where there is one. Throws `session_image_refused`; then the prompt was not given.
   */
  async #take(
    prompt: string,
    images: readonly PromptImage[],
    signal: AbortSignal,
    schema?: AnswerSchema,
  ): Promise<SessionAnswer | undefined> {
    const { transcript } = this.#parts
    const { history } = transcript
    const known = history.turns[this.#given]
    const redacted = (text: string) => transcript.redactor.text(text).toWellFormed()
    const isSame = known?.prompt === redacted(prompt) && areSameImages(known.images, images, redacted)
    const kept = isSame ? known.images : this.#keep(images)
    this.#given += 1
    if (isSame) {
      const isLast = history.turns.at(-1) === known
      // An answer that was given to another schema does not count.
      if (known.output !== undefined && fitsSchema(known.output, schema)) {
        this.#tellDispatched(known)
        this.#tellCompleted(known)
        return answerOf(known, schema)
      }
      if (isLast && known.output === undefined) {
        this.#tellDispatched(known)
        // One that failed is worked on again.
        history.reopen()
        return undefined
      }
    }
    if (known !== undefined) {
      this.#tellDropped(history.turns.slice(this.#given - 1))
      await transcript.append('diverged', { turn: known.number }, signal)
    }
    await transcript.append(
      'prompt',
      { turn: history.lastTurn + 1, text: prompt, ...(kept.length === 0 ? {} : { images: kept }) },
      signal,
    )
    const turn = history.turns.at(-1) as Turn
    this.#tellDispatched(turn)
    if (history.turns.length === 1) {
      const text = describePlace(this.#parts.toolbox.cwd, this.#parts.top)
      await transcript.append('steer', { turn: turn.number, text, by: 'session' }, signal)
    }
    if (schema !== undefined)
      await transcript.append('steer', { turn: turn.number, text: schema.demand, by: 'session' }, signal)
    return undefined
  }

  #keep(images: readonly PromptImage[]): KeptImage[] {
    const { id, model, transcript, imagesIn } = this.#parts
    const kept = takeImages(images, { session: id, place: imagesIn, directory: transcript.directory })
    if (kept.length === 0 || this.#bounds.showsImages) return kept
    const problem = `the model ${model.id} has refused images before`
    throw fail('session_image_refused', { session: id, image: kept[0]?.name ?? 'image 1', problem })
  }

  /** Turns that are dropped were paid, and a process that was killed may not have told them. */
  #tellDropped(turns: readonly Turn[]): void {
    for (const turn of turns) this.#tellCompleted(isOver(turn) ? turn : { ...turn, failure: DROPPED })
  }

  async #work(signal: AbortSignal, schema?: AnswerSchema): Promise<SessionAnswer> {
    const { transcript, id, model, instructions, toolbox, guardian, limits, budget, pace } = this.#parts
    const turn = transcript.history.turns.at(-1) as Turn
    const startedAt = performance.now()
    const parts = { session: id, model, instructions, toolbox, guardian, transcript, limits, budget, pace, signal }
    const { number } = turn
    try {
      const output = await runTurn(
        { ...parts, lock: this.#lock, reading: this.#reading, bounds: this.#bounds, steering: this.#steering },
        number,
        schema,
      )
      const duration_ms = Math.round(performance.now() - startedAt)
      await transcript.append('answer', { turn: number, output, duration_ms }, signal)
    } catch (error) {
      // A turn that the instance's stop cut stays open: the resumed instance goes on with it.
      if (this.#parts.signal.aborted) throw error
      const duration_ms = Math.round(performance.now() - startedAt)
      await transcript.append('failure', { turn: number, error: toError(error), duration_ms })
      this.#tellCompleted(turn)
      throw error
    }
    this.#tellCompleted(turn)
    return answerOf(turn, schema)
  }

  #tellDispatched({ number }: Turn): void {
    this.#parts.tellDispatched(this.#about(number))
  }

  #tellCompleted(turn: Turn): void {
    const { number, usage, cost, steps, failure, durationMs } = turn
    this.#parts.tellCompleted({
      ...this.#about(number),
      success: failure === undefined,
      duration_seconds: durationMs / 1_000,
      steps,
      usage,
      cost_usd: cost,
      ...(failure === undefined ? {} : { error: failure }),
    })
  }

  #about(turn: number): SessionDispatched {
    const { id, name, model, parent } = this.#parts
    const parentId = parent === undefined ? {} : { parent_id: parent }
    return { session_id: id, session_name: name, turn, model: model.id, kind: model.kind, ...parentId }
  }
}

const DROPPED: InstanceError = { code: 'instance_stopped', detail: 'the resolver gave another prompt at its place' }

function isOver({ output, failure }: Turn): boolean {
  return output !== undefined || failure !== undefined
}

function answerOf({ output = '', usage, cost, steps }: Turn, schema?: AnswerSchema): SessionAnswer {
  const read = schema?.read(output)
  const object = read !== undefined && 'value' in read ? { object: read.value } : {}
  return { output, ...object, usage, cost_usd: cost, steps }
}

function fitsSchema(output: string, schema?: AnswerSchema): boolean {
  return schema === undefined || 'value' in schema.read(output)
}

function toError(error: unknown): InstanceError {
  const detail = error instanceof Error ? error.message : String(error)
  return { code: error instanceof ResolveError ? error.code : 'unexpected_error', detail }
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
