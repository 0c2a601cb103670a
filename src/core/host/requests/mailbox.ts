/**
 * What consumers sent: kept durably on the host's own coordination directory before it is acknowledged, then journaled, published to the
 * worker and called in, as often as it takes (R12, R25, R42; reliability F11).
 */
import { randomBytes } from 'node:crypto'
import { linkSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail, systemCode } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { messageFile, responseFile } from '../../protocol/coordination.ts'
import type { Payload } from '../../protocol/form.ts'
import type { Actor, Message } from '../../protocol/instance.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'
import type { Ledger } from '../ledger/ledger.ts'

export interface AnswerIntent extends Actor {
  kind: 'answer'
  request_id: string
  payload: Payload
  at: string
}

export interface MessageIntent extends Actor {
  kind: 'message'
  number: number
  message_type: string
  payload: Payload
  at: string
}

export interface StopIntent {
  kind: 'stop'
  how: 'stop' | 'cancel' | 'pause'
  reason: string
  force: boolean
  /** Which incarnation of the worker it was meant for. */
  incarnation: number
  at: string
}

export type Delivery = AnswerIntent | MessageIntent

const STOP_FILE = 'stop.json'
const SENT = '.sent.json'
const SANDBOX_FILE = `sandbox${SENT}`

export class Mailbox {
  readonly #directory: string
  /** What is known of the messages without reading them again: the number of each key, and what they take on disk. */
  #messages: { numbers: Map<string, number>; bytes: number } | undefined

  constructor(directory: string) {
    this.#directory = directory
  }

  /** False where the request was answered before: the first valid answer wins (R25). */
  keepAnswer(intent: AnswerIntent): boolean {
    if (this.readAnswer(intent.request_id) !== undefined) return false
    return this.#create(`answer-${intent.request_id}.json`, intent)
  }

  readAnswer(requestId: string): AnswerIntent | undefined {
    return (this.#read(`answer-${requestId}.json`) ?? this.#read(`answer-${requestId}${SENT}`)) as
      | AnswerIntent
      | undefined
  }

  /** The number of the message that came with this key. */
  findMessage(key: string): number | undefined {
    return this.#known().numbers.get(key)
  }

  /** What all messages take on disk. */
  messageBytes(): number {
    return this.#known().bytes
  }

  /** Gives the message the next number, without gaps. */
  keepMessage(message: Omit<MessageIntent, 'number'>): MessageIntent {
    // Before it is there itself: it is counted once.
    const known = this.#known()
    for (let number = this.#highestMessage() + 1; ; number += 1) {
      const intent = { ...message, number }
      if (!this.#create(`message-${number}.json`, intent)) continue
      if (intent.key !== undefined) known.numbers.set(intent.key, number)
      known.bytes += JSON.stringify(intent).length
      return intent
    }
  }

  readMessage(number: number): MessageIntent | undefined {
    return (this.#read(`message-${number}.json`) ?? this.#read(`message-${number}${SENT}`)) as MessageIntent | undefined
  }

  /** Replaces what was asked for before. */
  keepStop(intent: StopIntent): void {
    const temporary = this.#draft(intent)
    try {
      renameSync(temporary, join(this.#directory, STOP_FILE))
    } catch (error) {
      removeDraft(temporary)
      throw toOurs(error)
    }
  }

  readStop(): StopIntent | undefined {
    return this.#read(STOP_FILE) as StopIntent | undefined
  }

  clearStop(): void {
    try {
      unlinkSync(join(this.#directory, STOP_FILE))
    } catch {
      // There was none.
    }
  }

  dropAnswer(requestId: string): void {
    unlinkSync(join(this.#directory, `answer-${requestId}.json`))
  }

  dropMessage(number: number): void {
    unlinkSync(join(this.#directory, `message-${number}.json`))
    this.#messages = undefined
  }

  /** Notes that the resolver acknowledged run() for this incarnation. */
  markRun(incarnation: number): void {
    writeFileSync(join(this.#directory, `run-${incarnation}${SENT}`), '', { mode: 0o600 })
  }

  hasRun(incarnation: number): boolean {
    return this.#names().includes(`run-${incarnation}${SENT}`)
  }

  /** Notes that the instance had a sandbox: whoever ends it looks for what is left. */
  markSandbox(): void {
    writeFileSync(join(this.#directory, SANDBOX_FILE), '', { mode: 0o600 })
  }

  hasSandbox(): boolean {
    return this.#names().includes(SANDBOX_FILE)
  }

  /** What was kept but not yet called in, in the order it came. */
  undelivered(): Delivery[] {
    const found: Delivery[] = []
    for (const name of this.#names()) {
      if (name.endsWith(SENT) || name === STOP_FILE || name.startsWith('.')) continue
      const intent = this.#read(name)
      if (intent?.kind === 'answer' || intent?.kind === 'message') found.push(intent)
    }
    return found.sort((a, b) => (a.at === b.at ? numberOf(a) - numberOf(b) : a.at < b.at ? -1 : 1))
  }

  markDelivered(intent: Delivery): void {
    const stem = intent.kind === 'answer' ? `answer-${intent.request_id}` : `message-${intent.number}`
    try {
      renameSync(join(this.#directory, `${stem}.json`), join(this.#directory, `${stem}${SENT}`))
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error
    }
  }

  #known(): { numbers: Map<string, number>; bytes: number } {
    if (this.#messages !== undefined) return this.#messages
    const known = { numbers: new Map<string, number>(), bytes: 0 }
    for (const name of this.#names()) {
      const intent = name.startsWith('message-') ? this.#read(name) : undefined
      if (intent?.kind !== 'message') continue
      if (intent.key !== undefined) known.numbers.set(intent.key, intent.number)
      known.bytes += JSON.stringify(intent).length
    }
    this.#messages = known
    return known
  }

  #highestMessage(): number {
    let highest = 0
    for (const name of this.#names()) {
      const match = /^message-(\d+)\./.exec(name)
      if (match !== null) highest = Math.max(highest, Number(match[1]))
    }
    return highest
  }

  /** Whole and durable, or not there; false where the name was taken. */
  #create(name: string, intent: Delivery): boolean {
    const temporary = this.#draft(intent)
    try {
      linkSync(temporary, join(this.#directory, name))
      return true
    } catch (error) {
      if (systemCode(error) === 'EEXIST') return false
      throw toOurs(error)
    } finally {
      removeDraft(temporary)
    }
  }

  #draft(intent: Delivery | StopIntent): string {
    const temporary = join(this.#directory, `.${randomBytes(8).toString('hex')}.tmp`)
    try {
      writeFileSync(temporary, JSON.stringify(intent), { mode: 0o600, flag: 'wx', flush: true })
    } catch (error) {
      removeDraft(temporary)
      throw toOurs(error)
    }
    return temporary
  }

  #read(name: string): Delivery | StopIntent | undefined {
    try {
      return JSON.parse(readFileSync(join(this.#directory, name), 'utf8')) as Delivery | StopIntent
    } catch {
      return undefined
    }
  }

  #names(): string[] {
    try {
      return readdirSync(this.#directory)
    } catch {
      return []
    }
  }
}

/** What was never made can't be removed; what can't be removed is passed over by its name. */
function removeDraft(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // As said above.
  }
}

function toOurs(error: unknown): unknown {
  const code = systemCode(error)
  const isFull = code === 'ENOSPC' || code === 'EDQUOT'
  return isFull ? fail('disk_full', { path: 'the mailbox' }, { cause: error }) : error
}

/** The journal line and the worker's file of a kept intent; doing it again changes nothing. */
export function publish(intent: Delivery, ledger: Ledger, coordination: CoordinationDirectory): void {
  const { actor, via } = intent
  if (intent.kind === 'answer') {
    const request = ledger.story.requests.find((candidate) => candidate.id === intent.request_id)
    if (request?.status === 'pending') {
      ledger.record('platform.input.answered', { request_id: intent.request_id, actor, via })
    }
    failpoint('answer.noted')
    coordination.put(responseFile(intent.request_id), JSON.stringify(intent.payload), { durable: true })
    failpoint('answer.published')
    return
  }
  const { number, message_type, payload } = intent
  if (!ledger.story.messages.some((message) => message.number === number)) {
    ledger.record('platform.message.accepted', { number, message_type, actor, via })
  }
  failpoint('message.noted')
  const message: Message = { number, message_type, payload }
  coordination.put(messageFile(number), JSON.stringify(message), { durable: true })
  failpoint('message.published')
}

function numberOf(intent: Delivery): number {
  return intent.kind === 'message' ? intent.number : 0
}
