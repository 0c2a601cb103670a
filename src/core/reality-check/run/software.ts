/** The software in its room: started, awaited until it answers, restarted, and looked at while the tests run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CHECK_LOG_TAIL_CHARS } from '../../limits.ts'
import type { CheckEnvironment, CheckPlan } from '../../protocol/check/reality-check.ts'
import type { Engine } from '../../worker/engine/engine.ts'
import { runInSandbox } from '../../worker/sandbox/sandbox-exec.ts'
import { COMMAND_USER } from '../room/containers.ts'
import { type Condition, conditionOf, logTail, restartContainer } from '../room/room-engine.ts'
import type { ValidatorLink } from '../room/validator-link.ts'
import { CheckEnd } from './check-end.ts'

const LOG_LINES = 200
const FIRST_PROBES_MS = [100, 250, 500]
const PROBE_MS = 1_000
const HEALTHY_BELOW = 500

export interface Place {
  port: number
  address: string
}

export class Software {
  readonly #engine: Engine
  readonly #id: string
  readonly #link: ValidatorLink
  readonly #plan: CheckPlan
  readonly #environment: CheckEnvironment

  constructor(parts: {
    engine: Engine
    id: string
    link: ValidatorLink
    plan: CheckPlan
    environment: CheckEnvironment
  }) {
    this.#engine = parts.engine
    this.#id = parts.id
    this.#link = parts.link
    this.#plan = parts.plan
    this.#environment = parts.environment
  }

  get id(): string {
    return this.#id
  }

  async log(): Promise<string> {
    return (await logTail(this.#engine, this.#id, LOG_LINES)).slice(-CHECK_LOG_TAIL_CHARS)
  }

  async condition(): Promise<Condition> {
    return await conditionOf(this.#engine, this.#id)
  }

  async restart(signal: AbortSignal): Promise<Place> {
    await restartContainer(this.#engine, this.#id)
    return await this.ready(signal)
  }

  /** Where it answers. Throws a CheckEnd where it ends, listens elsewhere, or does not answer in time. */
  async ready(signal: AbortSignal): Promise<Place> {
    const limitMs = this.#environment.start_seconds * 1_000
    const deadline = Date.now() + limitMs
    for (let tries = 0; ; tries += 1) {
      signal.throwIfAborted()
      const place = await this.#look()
      if (place !== undefined) return place
      const { isRunning, exitCode, isOutOfMemory } = await this.condition()
      if (!isRunning) throw await this.#ended(exitCode, isOutOfMemory)
      if (Date.now() > deadline) throw await this.#neverReady(limitMs)
      await sleep(FIRST_PROBES_MS[tries] ?? PROBE_MS, undefined, { signal })
    }
  }

  async #look(): Promise<Place | undefined> {
    const { health } = this.#environment
    const listeners = await this.#link.listening()
    const wanted = this.#plan.port
    // A port that was given must be that one; one that was found out may be another.
    const places = listeners.filter(({ port }) => !this.#plan.port_given || port === wanted)
    places.sort((a, b) => Number(b.port === wanted) - Number(a.port === wanted))
    for (const { port, address } of places) {
      if (health !== null && 'command' in health) {
        if (await this.#succeeds(health.command)) return { port, address }
      } else if (health !== null && 'log' in health) {
        if ((await this.log()).includes(health.log)) return { port, address }
      } else {
        const status = await this.#link.probe(port, health?.path ?? '/')
        if (status !== null && status < HEALTHY_BELOW) return { port, address }
      }
    }
    return undefined
  }

  async #succeeds(command: string): Promise<boolean> {
    const limit = { limitMs: 5_000, signal: AbortSignal.timeout(10_000) }
    const done = await runInSandbox(this.#engine, this.#id, {
      command: ['sh', '-c', command],
      user: COMMAND_USER,
      ...limit,
    })
    return done.exitCode === 0
  }

  async #ended(exitCode: number | null, isOutOfMemory: boolean): Promise<CheckEnd> {
    const log = await this.log()
    if (isOutOfMemory) return new CheckEnd('start', 'software', 'The software needs more memory than it may use', log)
    if (exitCode === 0)
      return new CheckEnd(
        'start',
        'config',
        'The start command ended with exit code 0 and left nothing that listens; is it the right command?',
        log,
      )
    return new CheckEnd('start', 'software', `The software ended with exit code ${exitCode} before it answered`, log)
  }

  async #neverReady(limitMs: number): Promise<CheckEnd> {
    const log = await this.log()
    const others = [...new Set((await this.#link.listening()).map(({ port }) => port))]
    const { port, port_given: isGiven } = this.#plan
    if (isGiven && others.length > 0 && !others.includes(port ?? 0))
      return new CheckEnd(
        'start',
        'config',
        `The software listens on ${others.join(', ')}, not on the given port ${port}`,
        log,
      )
    const where =
      others.length === 0 ? 'nothing listens' : `port ${others.join(', ')} gives no answer below ${HEALTHY_BELOW}`
    return new CheckEnd('start', 'software', `The software was not ready within ${limitMs / 1_000} s: ${where}`, log)
  }
}
