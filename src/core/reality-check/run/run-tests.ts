/** Carries out the tests of a check one after the other, and says of each what became of it (docs/reality-check.md, Tests). */
import { CHECK_EVIDENCE_MAX_CHARS, CHECK_TEST_LIMIT_MS } from '../../limits.ts'
import type { AcceptanceTest, CommandStep, Observation, Step, TestResult } from '../../protocol/check/reality-check.ts'
import { type CommandOutcome, runInSandbox } from '../../worker/sandbox/sandbox-exec.ts'
import { commandFaults } from '../expectation/command.ts'
import { captured, httpFaults } from '../expectation/http.ts'
import { cut } from '../expectation/told.ts'
import { Variables } from '../expectation/variables.ts'
import { APP, COMMAND_USER } from '../room/containers.ts'
import { CheckEnd, endOf } from './check-end.ts'
import type { Room } from './room.ts'

/** Why a step cannot be carried out here. */
const NO_MODEL = 'It is in plain language, and there is no model to carry it out'
const BROWSER_STEP_MS = 5_000

interface Seen {
  faults: string[]
  evidence: string
  observation: Observation
}

export class TestRun {
  readonly #room: Room
  readonly #test: AcceptanceTest
  readonly #signal: AbortSignal
  readonly #variables = new Variables()
  readonly #evidence: string[] = []
  readonly #observations: string[] = []
  readonly #began = performance.now()
  #isPageOpen = false

  constructor(room: Room, test: AcceptanceTest, signal: AbortSignal) {
    this.#room = room
    this.#test = test
    this.#signal = signal
  }

  /** Never throws because of the software; throws a CheckEnd where the software is gone. */
  async run(): Promise<TestResult> {
    const { steps } = this.#test
    if (steps.some(({ kind }) => kind === 'plain')) return this.#missing(NO_MODEL, 'config')
    try {
      for (const [at, step] of steps.entries()) {
        this.#signal.throwIfAborted()
        if (performance.now() - this.#began > CHECK_TEST_LIMIT_MS + waitsOf(steps))
          return await this.#ended('failed', `Step ${at + 1} was not reached within ${CHECK_TEST_LIMIT_MS / 1_000} s`)
        const { faults, evidence, observation } = await this.#carryOut(this.#variables.in(step))
        this.#observations.push(this.#room.files.observe(observation))
        this.#note(evidence)
        if (faults.length > 0) return await this.#ended('failed', `Step ${at + 1}: ${faults.join('; ')}`)
      }
      return await this.#ended('passed', null)
    } catch (error) {
      if (this.#signal.aborted) throw error
      if (error instanceof CheckEnd && error.ending.mode === 'software')
        return await this.#ended('failed', error.ending.error)
      return this.#missing(endOf(error, 'tests').ending.error, 'infrastructure')
    }
  }

  async #carryOut(step: Step): Promise<Seen> {
    if (step.kind === 'http') return await this.#http(step.http)
    if (step.kind === 'command') return await this.#command(step.command)
    if (step.kind === 'restart') return await this.#restart()
    if (step.kind === 'browser') return await this.#browser(step.browser)
    throw new CheckEnd('tests', 'config', NO_MODEL)
  }

  async #http(step: Extract<Step, { kind: 'http' }>['http']): Promise<Seen> {
    const { link } = this.#room
    const { port } = this.#room.place()
    const attempts = step.retry?.attempts ?? 1
    for (let attempt = 1; ; attempt += 1) {
      const seen = await link.http(step, port)
      const faults = httpFaults(step, seen)
      const { values, missing } = captured(step, seen)
      for (const [name, value] of values) this.#variables.set(name, value)
      if (missing.length > 0) faults.push(`The answer has nothing to capture as ${missing.join(', ')}`)
      const evidence = `${step.method} ${cut(step.path)} answered ${seen.status ?? `nothing (${seen.error})`} in ${Math.round(seen.duration_ms)} ms: ${cut(seen.body)}`
      if (faults.length === 0 || attempt >= attempts) return { faults, evidence, observation: seen }
      await new Promise((resolve) => setTimeout(resolve, (step.retry?.interval ?? 1) * 1_000))
      this.#signal.throwIfAborted()
    }
  }

  async #command(step: CommandStep): Promise<Seen> {
    const began = performance.now()
    const { engine } = this.#room
    const target = await this.#room.commandTarget(this.#test.id)
    const command = typeof step.run === 'string' ? ['sh', '-c', step.run] : step.run
    const done: CommandOutcome = await runInSandbox(engine, target.id, {
      command,
      directory: this.#room.directory,
      environment: {
        ...this.#room.environment,
        PATH: `${APP}/node_modules/.bin:${APP}/.venv/bin:${APP}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      },
      stdin: step.stdin === null ? undefined : Buffer.from(step.stdin),
      ...(target.isOfSoftware ? { user: COMMAND_USER } : {}),
      limitMs: step.timeout_seconds * 1_000,
      signal: this.#signal,
    })
    const observation = {
      kind: 'command' as const,
      command: typeof step.run === 'string' ? step.run : step.run.join(' '),
      exit_code: done.exitCode,
      stdout: this.#room.redact(done.stdout),
      stderr: this.#room.redact(done.stderr),
      truncated: done.truncated,
      timed_out: done.timedOut,
      duration_ms: performance.now() - began,
    }
    const evidence = `${cut(observation.command)} ended with ${done.exitCode ?? 'no exit code'}: ${cut(done.stdout)}`
    return { faults: commandFaults(step, observation), evidence, observation }
  }

  async #restart(): Promise<Seen> {
    const began = performance.now()
    await this.#room.restart(this.#signal)
    const observation = { kind: 'restart' as const, error: null, duration_ms: performance.now() - began }
    return { faults: [], evidence: `Restarted in ${Math.round(observation.duration_ms)} ms`, observation }
  }

  async #browser(step: Extract<Step, { kind: 'browser' }>['browser']): Promise<Seen> {
    const { link } = this.#room
    const { port, address } = this.#room.place()
    if (!this.#isPageOpen) await link.openPage(this.#test.id, port, address)
    this.#isPageOpen = true
    const limitMs = step.verb === 'wait' ? step.seconds * 1_000 + BROWSER_STEP_MS : BROWSER_STEP_MS
    const seen = await link.step(step, limitMs)
    const evidence = `${cut(seen.step)}: ${seen.error === null ? 'done' : cut(seen.error)}`
    return {
      faults: seen.error === null ? [] : [`${cut(seen.step)}: ${cut(seen.error, 500)}`],
      evidence,
      observation: seen,
    }
  }

  async #ended(status: 'passed' | 'failed', reason: string | null): Promise<TestResult> {
    const pictures: string[] = []
    let trace: string | null = null
    if (this.#isPageOpen) {
      const closed = await this.#room.link.closePage().catch(() => ({ screenshot: null, trace: null }))
      if (closed.screenshot !== null)
        pictures.push(this.#room.files.write(`screenshots/${this.#test.id}.png`, closed.screenshot))
      if (closed.trace !== null) trace = this.#room.files.write(`traces/${this.#test.id}.zip`, closed.trace)
    }
    return {
      ...this.#common(),
      status,
      reason: reason === null ? null : this.#clean(reason),
      screenshots: pictures,
      trace,
      mode: status === 'failed' ? 'software' : null,
    }
  }

  #missing(reason: string, mode: 'config' | 'infrastructure'): TestResult {
    return { ...this.#common(), status: 'missing', reason: this.#clean(reason), screenshots: [], trace: null, mode }
  }

  #common() {
    const { id, description } = this.#test
    return {
      id,
      test: description,
      validator: validatorOf(this.#test),
      evidence: this.#evidence,
      observations: this.#observations,
      duration_ms: Math.round(performance.now() - this.#began),
    }
  }

  #note(text: string): void {
    this.#evidence.push(this.#clean(text))
  }

  #clean(text: string): string {
    return this.#room.redact(text).slice(0, CHECK_EVIDENCE_MAX_CHARS).toWellFormed()
  }
}

/** Of a test that was not carried out. */
export function notReached(test: AcceptanceTest, { ending }: CheckEnd): TestResult {
  const { id, description } = test
  const nothing = { evidence: [], screenshots: [], observations: [], trace: null, duration_ms: 0 }
  return {
    id,
    test: description,
    validator: validatorOf(test),
    status: 'missing',
    reason: ending.error,
    mode: ending.mode,
    ...nothing,
  }
}

function validatorOf({ steps }: AcceptanceTest): TestResult['validator'] {
  if (steps.some(({ kind }) => kind === 'plain')) return 'session'
  if (steps.some(({ kind }) => kind === 'browser')) return 'browser'
  return steps.some(({ kind }) => kind === 'command') ? 'cli' : 'http'
}

/** Waiting that the author asked for does not count for the limit of a test. */
function waitsOf(steps: readonly Step[]): number {
  return steps.reduce(
    (sum, step) =>
      sum +
      (step.kind === 'command'
        ? step.command.timeout_seconds
        : step.kind === 'http'
          ? step.http.timeout_seconds * (step.http.retry?.attempts ?? 1)
          : 0) *
        1_000,
    0,
  )
}
