/**
 * Handles a resolver's calls for reality checks: `platform.startRealityCheck`, `.realityCheckEvents`, `.waitForRealityCheck`, `.cancelRealityCheck`
 * (spec, Reality check; R46). A call can be sent again to the next host, which begins an unfinished check anew.
 */
import { hash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../../errors.ts'
import * as limits from '../../limits.ts'
import { within } from '../../primitives/within.ts'
import type { CheckResult, CheckWish } from '../../protocol/check/reality-check.ts'
import type { PlatformEvent } from '../../protocol/event.ts'
import { pickValidatorImage } from '../../reality-check/room/validator-image.ts'
import { CheckFiles } from '../../reality-check/run/check-files.ts'
import { LEFT_TO_NEXT_HOST, runCheck } from '../../reality-check/run/run-check.ts'
import { parseWish } from '../../reality-check/wish/parse-wish.ts'
import { instancePaths } from '../../store/home.ts'
import { homeLabel } from '../../worker/engine/container-places.ts'
import type { Engine } from '../../worker/engine/engine.ts'
import type { ResolverCalls } from '../launch/resolver-calls.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { type Admission, admitted, type CallParams, never } from './admission.ts'
import { checkNetwork } from './check-network.ts'
import { cloneSoftware } from './check-source.ts'

export interface CheckBrokerParts extends Admission {
  ledger: Ledger
  home: string
  write: (line: () => void) => Promise<void>
  /** The allowed images; the first is the default. */
  images: readonly string[]
  engine: () => Engine
}

interface Running {
  result: Promise<CheckResult | undefined>
  abort: AbortController
}

const EVENTS_FILE = 'events.jsonl'
const ID = /^[0-9a-f]{12}$/
/** A check that ended with its host this often is not begun again. */
const ATTEMPTS_MAX = 3

export class CheckBroker {
  readonly #parts: CheckBrokerParts
  readonly #running = new Map<string, Running>()
  #isClosed = false

  constructor(parts: CheckBrokerParts) {
    this.#parts = parts
  }

  serve(calls: ResolverCalls): void {
    const serve = (method: `platform.${string}`, work: (params: CallParams) => Promise<unknown>) =>
      calls.serve(method, (received) => this.#admit(received, work))
    serve('platform.startRealityCheck', (params) => this.#start(params))
    serve('platform.realityCheckEvents', (params) => this.#events(params))
    serve('platform.waitForRealityCheck', (params) => this.#wait(params))
    serve('platform.cancelRealityCheck', (params) => this.#cancel(params))
  }

  /** Leaves running checks to the next host. */
  close(): void {
    this.#isClosed = true
    for (const { abort } of this.#running.values()) abort.abort(LEFT_TO_NEXT_HOST)
  }

  /** The instance has ended or pauses: running checks are cancelled, their rooms removed. */
  async end(): Promise<void> {
    this.#isClosed = true
    const [sessions, running] = [[...this.#running.keys()], [...this.#running.values()]]
    for (const { abort } of running) abort.abort('the instance was stopped')
    await Promise.all(running.map(({ result }) => result.catch(() => undefined)))
    // After a pause the resolver asks for the same check again.
    for (const session of sessions) this.#filesOf(session).forget()
  }

  async #admit(received: unknown, work: (params: CallParams) => Promise<unknown>): Promise<unknown> {
    const params = admitted(received, this.#parts, (reason) => fail('check_invalid', { reason }))
    if (params === undefined || this.#isClosed) return await never()
    return await work(params)
  }

  async #start({ token: _, epoch: __, ...request }: CallParams): Promise<{ session_id: string }> {
    const wish = parseWish(request)
    if (wish.key === null) throw fail('check_invalid', { reason: 'the call has no "key"' })
    const session = hash('sha256', `${this.#instance} ${wish.key}`).slice(0, ID_CHARS)
    const files = this.#filesOf(session)
    if (this.#running.has(session) || files.result() !== undefined) return { session_id: session }
    if (this.#running.size >= limits.CHECKS_PER_INSTANCE_MAX)
      throw fail('too_many', { what: 'reality checks of an instance', limit: limits.CHECKS_PER_INSTANCE_MAX })
    if (files.begin(request)) {
      const data = { session_id: session, software: wish.software_path, tests: wish.criteria.tests.length }
      await this.#tell(session, 'platform.reality_check.submitted', data)
    }
    this.#run(session, wish)
    return { session_id: session }
  }

  async #wait(params: CallParams): Promise<Record<string, unknown>> {
    const session = this.#sessionIn(params)
    const running = this.#resumed(session)
    if (running !== undefined)
      await within(
        limits.CHECK_WAIT_MS,
        running.result.catch(() => undefined),
      )
    if (this.#isClosed) return await never()
    const result = this.#filesOf(session).result()
    return result === undefined ? { done: false } : { done: true, result }
  }

  async #events(params: CallParams): Promise<Record<string, unknown>> {
    const session = this.#sessionIn(params)
    const { after = 0 } = params
    if (typeof after !== 'number' || !Number.isInteger(after) || after < 0)
      throw fail('check_invalid', { reason: '"after" must be the number of events that were read' })
    const deadline = Date.now() + limits.CHECK_WAIT_MS
    for (;;) {
      const events = this.#linesOf(session).slice(after)
      const isDone = this.#filesOf(session).result() !== undefined
      if (events.length > 0 || isDone || Date.now() > deadline)
        return { events, next: after + events.length, done: isDone }
      const running = this.#resumed(session)
      await within(limits.CHECK_LOOK_MS, running?.result ?? Promise.resolve(undefined)).catch(() => undefined)
      if (this.#isClosed) return await never()
    }
  }

  async #cancel(params: CallParams): Promise<{ cancelled: boolean }> {
    const running = this.#running.get(this.#sessionIn(params))
    running?.abort.abort('the resolver cancelled it')
    await running?.result.catch(() => undefined)
    return { cancelled: running !== undefined }
  }

  /** The running check; begun anew where an earlier host had begun it. */
  #resumed(session: string): Running | undefined {
    const known = this.#running.get(session)
    const files = this.#filesOf(session)
    if (known !== undefined || files.result() !== undefined) return known
    return this.#run(session, parseWish(files.request()))
  }

  #run(session: string, wish: CheckWish): Running {
    const abort = new AbortController()
    const result = this.#carryOut(session, wish, abort.signal)
    const running = { result, abort }
    this.#running.set(session, running)
    const over = () => this.#running.delete(session)
    result.then(over, over)
    return running
  }

  async #carryOut(session: string, wish: CheckWish, signal: AbortSignal): Promise<CheckResult | undefined> {
    const { engine, home, images, ledger } = this.#parts
    const files = this.#filesOf(session)
    const owner = { instance: this.#instance, home: homeLabel(home), session }
    const isLast = files.countAttempt() > ATTEMPTS_MAX
    const [image = ''] = images
    await this.#tell(session, 'platform.reality_check.runner_started', { session_id: session, runner_image: image })
    const result = await runCheck(
      wish,
      {
        ...{ engine: engine(), owner, files, image },
        refusal: isLast ? 'Its host ended again and again while it ran' : null,
        validatorImage: () => pickValidatorImage(engine(), image),
        mayUse: (name) => images.includes(name),
        clone: cloneSoftware,
        openNetwork: (mode) => checkNetwork(engine(), owner, mode),
        tell: (type, data) => this.#tell(session, type, data),
        redact: (text) => ledger.redactor.text(text),
      },
      signal,
    )
    if (result !== undefined) await this.#tellEnd(session, result, signal)
    return result
  }

  async #tellEnd(session: string, { status, verdict, failure_mode, report, error }: CheckResult, signal: AbortSignal) {
    const session_id = session
    if (status === 'cancelled') {
      await this.#tell(session, 'platform.reality_check.cancelled', { session_id, reason: String(signal.reason) })
    } else if (verdict === null) {
      const data = { session_id, failure_mode: failure_mode ?? 'infrastructure', error: error ?? report.summary }
      await this.#tell(session, 'platform.reality_check.failed', data)
    } else {
      const data = { session_id, verdict, failure_mode, statistics: report.statistics }
      await this.#tell(session, 'platform.reality_check.completed', data)
    }
  }

  /** The resolver reads the events of its check from a file of the host; consumers from the journal. */
  async #tell(session: string, type: PlatformEvent, data: Record<string, unknown>): Promise<void> {
    const { ledger, write } = this.#parts
    // The table of events holds the shape of each.
    await write(() => ledger.record(type, data as never))
    const line = JSON.stringify({ event_type: type.replace(/^platform\./, ''), data: ledger.redactor.value(data) })
    appendFileSync(join(this.#filesOf(session).directory, EVENTS_FILE), `${line}\n`)
  }

  #linesOf(session: string): unknown[] {
    const path = join(this.#filesOf(session).directory, EVENTS_FILE)
    if (!existsSync(path)) return []
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as unknown)
  }

  #sessionIn({ session_id: session }: CallParams): string {
    if (typeof session === 'string' && ID.test(session) && this.#filesOf(session).request() !== undefined)
      return session
    throw fail('check_invalid', { reason: '"session_id" is not one that platform.startRealityCheck answered' })
  }

  #filesOf(session: string): CheckFiles {
    return new CheckFiles(join(instancePaths(this.#parts.home, this.#instance).root, 'checks', session))
  }

  get #instance(): string {
    return this.#parts.ledger.story.creation.instance_id
  }
}

const ID_CHARS = 12
