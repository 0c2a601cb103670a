/**
 * Runs one stage of a setup as root in a container of its own, without instance files and secrets, and commits its result as an image
 * (threats MAN-2). There is one container for a home and a key: callers in this process share its run, and another process that wants
 * the same follows that container. If the process that started it is killed, the next one follows it in the same way.
 */
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { failpoint } from '../../failpoints.ts'
import { ENGINE_START_LIMIT_MS, IMAGE_BUILD_LIMIT_MS, SETUP_LIMIT_MS, SETUP_TELL_MS } from '../../limits.ts'
import { SOURCE, workerUser } from '../engine/container-places.ts'
import { Demux } from '../engine/demux.ts'
import { type Engine, EngineRefusal, toRefusal } from '../engine/engine.ts'
import { removeContainer } from '../engine/remove-container.ts'
import { HANDED_OVER, type SetupProgress, type SetupStep } from '../worker.ts'
import { type ContainerMount, containerSpec } from './container-spec.ts'
import { LAUNCHER, SetupOutput } from './setup-output.ts'

export const SETUP_REPOSITORY = 'resolve-setup'

export interface StagePlan {
  engine: Engine
  /** The key of the home in labels. */
  home: string
  /** The id of the image to start from. */
  image: string
  steps: readonly SetupStep[]
  key: string
  mounts: readonly ContainerMount[]
  /** Where its steps are among all steps of the setup. */
  place: { before: number; total: number }
}

/** A step of this stage, counted from 1. */
type StageNews = { step: number; exitCode: number | null; output: string }

/** Returns the id of the image. Throws `setup_failed`, `container_refused`, `docker_unreachable`, and the signal's reason. */
export async function runSetupStage(
  plan: StagePlan,
  report: (data: SetupProgress) => Promise<void>,
  signal?: AbortSignal,
): Promise<string> {
  const { steps, place } = plan
  let reported: Promise<void> = Promise.resolve()
  const take = ({ step, exitCode, output }: StageNews) => {
    const data: SetupProgress = {
      step: place.before + step,
      total: place.total,
      description: (steps[step - 1]?.description ?? '').slice(0, 200),
      ...(exitCode === null ? {} : { exit_code: exitCode }),
      ...(output === '' ? {} : { output }),
    }
    reported = reported.then(() => report(data))
    // Reported below, where the stage ends.
    reported.catch(() => {})
  }
  const run = sharedRun(plan)
  const leave = run.join(take)
  try {
    const image = await orAborted(run.image, signal)
    await reported
    return image
  } catch (error) {
    await reported.catch(() => {})
    throw toRefusal(error instanceof StepFailure ? error.toRefusal(plan) : error, 'run the setup of a resolver')
  } finally {
    await leave(signal?.aborted === true && signal.reason === HANDED_OVER)
  }
}

/** Ends a run that a killed process left and that is not wanted any more. Throws the signal's reason. */
export async function endSetupStage(plan: StagePlan, signal: AbortSignal): Promise<never> {
  const isLeft = signal.reason !== HANDED_OVER && !running.has(nameOf(plan))
  const found = isLeft ? await inspect(plan.engine, nameOf(plan)) : undefined
  if (found?.Config.Labels['resolve.home'] === plan.home) await removeContainer(plan.engine, found.Id)
  throw signal.reason
}

/** Removes the container of a stage whose image exists: the process that committed it may have been killed before it could. */
export async function removeLeftStage(plan: Pick<StagePlan, 'engine' | 'home' | 'key'>): Promise<void> {
  if (!running.has(nameOf(plan))) await removeContainer(plan.engine, nameOf(plan)).catch(() => {})
}

/** Also with a signal that was aborted before: then the setup ends here, if no other caller wants it. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await work
  let giveUp: () => void = () => {}
  const aborted = new Promise<never>((_, reject) => {
    giveUp = () => reject(signal.reason)
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp)
  })
  work.catch(() => {})
  try {
    return await Promise.race([aborted, work])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}

const running = new Map<string, StageRun>()

function sharedRun(plan: StagePlan): StageRun {
  const name = nameOf(plan)
  let run = running.get(name)
  if (run === undefined) {
    run = new StageRun(plan)
    running.set(name, run)
    const mine = run
    const over = () => forget(plan, mine)
    run.image.then(over, over)
  }
  return run
}

function forget(plan: StagePlan, run: StageRun): void {
  const name = nameOf(plan)
  if (running.get(name) === run) running.delete(name)
}

/** The engine creates no second container of this name: so there is one run for all processes. */
function nameOf({ home, key }: Pick<StagePlan, 'home' | 'key'>): string {
  return `resolve-setup-${home}-${key}`
}

/** How often a container that another process removed is replaced. */
const ATTEMPTS = 5
/** How soon a container is inspected again, whose output ended while it still runs. */
const LOOK_MS = 200

/** One run of a stage for all callers of this process. It ends with its last caller. */
class StageRun {
  readonly image: Promise<string>
  readonly #plan: StagePlan
  readonly #ended = new AbortController()
  readonly #listeners = new Set<(news: StageNews) => void>()
  /** The latest news of each step, for callers that come later. */
  readonly #news = new Map<string, StageNews>()
  #lastTold = ''
  #users = 0

  constructor(plan: StagePlan) {
    this.#plan = plan
    this.image = this.#run()
    this.image.catch(() => {})
  }

  /** Returns the function that leaves it. The last caller ends it, unless the run is to be taken over by another process. */
  join(take: (news: StageNews) => void): (isHandedOver: boolean) => Promise<void> {
    this.#users += 1
    for (const news of this.#news.values()) take(news)
    this.#listeners.add(take)
    return async (isHandedOver) => {
      this.#listeners.delete(take)
      this.#users -= 1
      if (this.#users > 0) return
      forget(this.#plan, this)
      this.#ended.abort(isHandedOver ? HANDED_OVER : 'ended')
      // A caller that stopped the setup finds no container of it any more.
      await this.image.catch(() => {})
    }
  }

  async #run(): Promise<string> {
    const { engine, key } = this.#plan
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const image = attempt === 0 ? undefined : await committed(engine, key)
      if (image !== undefined) return image
      const made = await this.#attempt()
      if (made !== undefined) return made
    }
    throw fail('container_refused', {
      what: 'run the setup of a resolver',
      reason: 'its container was removed again and again',
    })
  }

  /** The image; undefined where another process removed the container. */
  async #attempt(): Promise<string | undefined> {
    const { engine, key } = this.#plan
    const id = await this.#create()
    if (id === undefined) return undefined
    let isKept = false
    try {
      failpoint('setup.created')
      const end = await this.#follow(id)
      if (end === 'gone') return undefined
      if (end.exitCode !== 0 || end.isLate) throw new StepFailure(end.output, end.isLate)
      failpoint('setup.ended')
      const image = (await committed(engine, key)) ?? (await commit(engine, id, key))
      failpoint('setup.committed')
      return image
    } catch (error) {
      if (error instanceof EngineRefusal && error.status === 404) return undefined
      isKept = this.#ended.signal.reason === HANDED_OVER
      throw error
    } finally {
      if (!isKept) await removeContainer(engine, id).catch(() => {})
    }
  }

  /** The id of the container of this run, made now or by another process; undefined where that one has just gone. */
  async #create(): Promise<string | undefined> {
    const plan = this.#plan
    const { engine, home } = plan
    const name = nameOf(plan)
    const spec = containerSpec({
      home,
      name,
      instance: null,
      incarnation: 0,
      directory: SOURCE,
      user: workerUser(),
      network: 'bridge',
      role: 'setup',
      image: plan.image,
      command: ['/bin/sh', '-c', LAUNCHER, 'resolve-setup', ...plan.steps.map(({ command }) => command)],
      // A variable of the container would become part of the image: the launcher sets those that only setup needs.
      environment: { LANG: 'C.UTF-8' },
      mounts: plan.mounts,
    })
    try {
      const made = await engine.call(
        (docker, abortSignal) => docker.createContainer({ ...spec, abortSignal }),
        ENGINE_START_LIMIT_MS,
      )
      return made.id
    } catch (error) {
      if (!(error instanceof EngineRefusal) || error.status !== 409) throw error
    }
    const found = await inspect(engine, name)
    if (found !== undefined && found.Config.Labels['resolve.home'] !== home)
      throw fail('container_refused', { what: 'run the setup of a resolver', reason: `${name} is not a setup` })
    if (found === undefined || found.State.Status === 'removing') await sleep(LOOK_MS)
    return found?.Id
  }

  async #follow(id: string): Promise<'gone' | { exitCode: number; isLate: boolean; output: SetupOutput }> {
    const { engine } = this.#plan
    const { signal } = this.#ended
    for (;;) {
      const before = await inspect(engine, id)
      if (before === undefined) return 'gone'
      signal.throwIfAborted()
      const { Status: status, StartedAt: started } = before.State
      if (status === 'exited' || status === 'dead') {
        const output = await this.#readLog(id)
        return { exitCode: before.State.ExitCode, isLate: false, output }
      }
      const startedMs = status === 'created' ? Date.now() : Date.parse(started)
      const leftMs = Math.max(0, startedMs + SETUP_LIMIT_MS - Date.now())
      const { output, isLate } = await this.#read(id, status === 'created', leftMs)
      if (isLate) return { exitCode: 1, isLate, output }
      // The output can end a moment before the container does, or because the engine was started anew.
      await sleep(LOOK_MS / 4)
      const after = await inspect(engine, id)
      if (after === undefined) return 'gone'
      if (after.State.Status === 'exited') return { exitCode: after.State.ExitCode, isLate, output }
      await sleep(LOOK_MS)
    }
  }

  /** Reads the output from its beginning until it ends; starts the container where that is still to do. */
  async #read(id: string, isNew: boolean, leftMs: number): Promise<{ output: SetupOutput; isLate: boolean }> {
    const { engine } = this.#plan
    const stream = (await engine.call((docker, abortSignal) =>
      docker
        .getContainer(id)
        .attach({ hijack: true, stream: true, logs: !isNew, stdout: true, stderr: true, abortSignal }),
    )) as unknown as Duplex
    const output = new SetupOutput(({ step, exitCode }) =>
      this.#tell(step, exitCode, exitCode === null ? '' : output.lastLine),
    )
    const over = readInto(stream, output)
    const limit = AbortSignal.timeout(leftMs)
    const cut = AbortSignal.any([limit, this.#ended.signal])
    const leave = () => stream.destroy()
    cut.addEventListener('abort', leave)
    const telling = setInterval(() => this.#tellLine(output), SETUP_TELL_MS)
    try {
      if (isNew) {
        await engine.call(
          (docker, abortSignal) => docker.getContainer(id).start({ abortSignal }),
          ENGINE_START_LIMIT_MS,
        )
        failpoint('setup.started')
      }
      if (!cut.aborted) await over
      this.#ended.signal.throwIfAborted()
      return { output, isLate: limit.aborted }
    } finally {
      clearInterval(telling)
      cut.removeEventListener('abort', leave)
      stream.destroy()
    }
  }

  /** An attach to an ended container returns nothing; the log has its output. */
  async #readLog(id: string): Promise<SetupOutput> {
    const { engine } = this.#plan
    const output = new SetupOutput(({ step, exitCode }) =>
      this.#tell(step, exitCode, exitCode === null ? '' : output.lastLine),
    )
    const log = await engine.callUnless([404, 409], (docker, abortSignal) =>
      docker.getContainer(id).logs({ stdout: true, stderr: true, follow: false, abortSignal }),
    )
    if (log !== undefined) for (const { bytes } of new Demux().push(log)) output.take(bytes.toString('utf8'))
    return output
  }

  #tellLine(output: SetupOutput): void {
    const { step, exitCode, lastLine } = output
    if (step > 0 && exitCode === null && lastLine !== '' && lastLine !== this.#lastTold)
      this.#tell(step, null, lastLine)
  }

  /** The output is read again from its beginning after an interruption: what was told is not told again. */
  #tell(step: number, exitCode: number | null, output: string): void {
    const key = `${step}${exitCode === null ? '' : ' ended'}`
    const isBegin = exitCode === null && output === ''
    if (this.#news.has(`${step} ended`) || (isBegin && this.#news.has(key))) return
    const news = { step, exitCode, output }
    this.#lastTold = output
    this.#news.set(key, news)
    for (const take of this.#listeners) take(news)
  }
}

class StepFailure extends Error {
  readonly #output: SetupOutput
  readonly #isLate: boolean

  constructor(output: SetupOutput, isLate: boolean) {
    super('a step of the setup failed')
    this.#output = output
    this.#isLate = isLate
  }

  toRefusal({ steps, place }: StagePlan) {
    const { step, exitCode, tail } = this.#output
    const { command = '' } = steps[Math.max(0, step - 1)] ?? {}
    return fail('setup_failed', {
      step: place.before + Math.max(1, step),
      total: place.total,
      command: command.slice(0, 200),
      exit_code: exitCode,
      output: this.#isLate ? `It was ended after ${SETUP_LIMIT_MS / 60_000} minutes.\n${tail}` : tail,
    })
  }
}

function readInto(stream: Duplex, output: SetupOutput): Promise<void> {
  const demux = new Demux()
  stream.on('data', (chunk: Buffer) => {
    for (const { bytes } of demux.push(chunk)) output.take(bytes.toString('utf8'))
  })
  return new Promise((resolve) => {
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  })
}

function inspect(engine: Engine, container: string) {
  return engine.callUnless(404, (docker, abortSignal) => docker.getContainer(container).inspect({ abortSignal }))
}

async function committed(engine: Engine, key: string): Promise<string | undefined> {
  const found = await engine.callUnless([400, 404], (docker, abortSignal) =>
    docker.getImage(`${SETUP_REPOSITORY}:${key}`).inspect({ abortSignal } as object),
  )
  return found?.Id
}

async function commit(engine: Engine, id: string, key: string): Promise<string> {
  // Labels of a setup container would be copied to every worker that starts from its image.
  const changes = ['resolve.instance=', 'resolve.role=image', `resolve.setup=${key}`].map((label) => `LABEL ${label}`)
  const made = (await engine.call(
    (docker, abortSignal) =>
      docker.getContainer(id).commit({ repo: SETUP_REPOSITORY, tag: key, changes: changes.join('\n'), abortSignal }),
    IMAGE_BUILD_LIMIT_MS,
  )) as { Id: string }
  return made.Id
}
