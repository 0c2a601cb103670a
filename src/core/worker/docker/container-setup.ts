/**
 * Runs the setup stages of a container before the resolver starts. Each stage runs as root in a container of its own, with no
 * instance files and no secrets mounted. Its result is committed as an image, under a key of everything it depends on; the next
 * run starts from that image (threats MAN-2).
 */
import { createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { fail } from '../../errors.ts'
import { ENGINE_START_LIMIT_MS, IMAGE_BUILD_LIMIT_MS, SETUP_LIMIT_MS, SETUP_OUTPUT_KEEP_BYTES } from '../../limits.ts'
import { Demux } from '../engine/demux.ts'
import { type Engine, toRefusal } from '../engine/engine.ts'
import type { LaunchPlan, SetupStep } from '../worker.ts'
import { type ContainerMount, type ContainerPlan, containerSpec } from './container-spec.ts'

export const SETUP_REPOSITORY = 'resolve-setup'

export interface SetupPlan {
  engine: Engine
  /** The id of the image to start from. */
  image: string
  stages: readonly (readonly SetupStep[])[]
  /** Mounts that setup may read: the resolver's files and the developer's overrides. */
  mounts: readonly ContainerMount[]
  /** The other options of the container, as for its worker. */
  container: Omit<ContainerPlan, 'role' | 'image' | 'command' | 'mounts' | 'environment'>
  commit: string | null
  report: NonNullable<LaunchPlan['report']>
  signal: AbortSignal | undefined
}

/** The image with all stages applied. Throws `setup_failed`, `container_refused`, `docker_unreachable`. */
export async function prepareImage(plan: SetupPlan): Promise<string> {
  const stages = plan.stages.filter((steps) => steps.length > 0)
  const total = stages.flat().length
  if (total === 0) return plan.image
  let { image } = plan
  let done = 0
  let isCached = true
  await plan.report('platform.setup.starting', { total })
  const startedMs = Date.now()
  for (const steps of stages) {
    const key = keyOf(plan, image, steps)
    const kept = await imageId(plan.engine, `${SETUP_REPOSITORY}:${key}`)
    if (kept === undefined) {
      isCached = false
      image = await runStage({ ...plan, image }, steps, key, done, total)
    } else image = kept
    done += steps.length
  }
  await plan.report('platform.setup.completed', {
    total,
    cached: isCached,
    duration_s: (Date.now() - startedMs) / 1000,
  })
  return image
}

/** The id of an image on this machine. */
export async function imageId(engine: Engine, name: string): Promise<string | undefined> {
  const found = await engine.callUnless([400, 404], (docker, abortSignal) =>
    // The types of dockerode omit the signal; the call accepts it.
    docker.getImage(name).inspect({ abortSignal } as object),
  )
  return found?.Id
}

async function runStage(plan: SetupPlan, steps: readonly SetupStep[], key: string, before: number, total: number) {
  const { engine, container, mounts, report, signal } = plan
  const spec = containerSpec({
    ...container,
    role: 'setup',
    name: `${container.name}-setup-${key}`,
    image: plan.image,
    command: ['/bin/sh', '-c', LAUNCHER, 'resolve-setup', ...steps.map(({ command }) => command)],
    environment: { DEBIAN_FRONTEND: 'noninteractive', LANG: 'C.UTF-8' },
    mounts,
  })
  try {
    const { id } = await engine.call(
      (docker, abortSignal) => docker.createContainer({ ...spec, abortSignal }),
      ENGINE_START_LIMIT_MS,
    )
    try {
      const run = new StageRun(steps, before, total, report)
      await run.through(engine, id, signal)
      // Labels of a setup container would be copied to every worker that starts from its image.
      const changes = ['resolve.instance=', 'resolve.role=image', `resolve.setup=${key}`].map(
        (label) => `LABEL ${label}`,
      )
      const committed = (await engine.call(
        (docker, abortSignal) =>
          docker
            .getContainer(id)
            .commit({ repo: SETUP_REPOSITORY, tag: key, changes: changes.join('\n'), abortSignal }),
        IMAGE_BUILD_LIMIT_MS,
      )) as { Id: string }
      return committed.Id
    } finally {
      await engine.callUnless([404, 409], (docker, abortSignal) =>
        docker.getContainer(id).remove({ force: true, v: true, abortSignal }),
      )
    }
  } catch (error) {
    throw toRefusal(error, 'run the setup of a resolver')
  }
}

const MARK = '\u001eresolve-setup'

/** Runs each argument in its own shell, with a marker line on stdout before and after; stops at the first failure. */
const LAUNCHER = `n=0
for step do
  n=$((n + 1))
  printf '\\036resolve-setup begin %s\\n' "$n"
  /bin/sh -c "$step" </dev/null 2>&1
  code=$?
  printf '\\n\\036resolve-setup end %s %s\\n' "$n" "$code"
  [ "$code" -eq 0 ] || exit "$code"
done`

/** Follows a setup container step by step. */
class StageRun {
  readonly #steps: readonly SetupStep[]
  readonly #before: number
  readonly #total: number
  readonly #report: NonNullable<LaunchPlan['report']>
  #rest = ''
  #output = ''
  #current = 0
  #done = 0
  #exitCode: number | null = null
  #reported: Promise<void> = Promise.resolve()

  constructor(steps: readonly SetupStep[], before: number, total: number, report: NonNullable<LaunchPlan['report']>) {
    this.#steps = steps
    this.#before = before
    this.#total = total
    this.#report = report
  }

  /** Throws `setup_failed`, or the signal's reason. */
  async through(engine: Engine, id: string, signal: AbortSignal | undefined): Promise<void> {
    const stream = (await engine.call((docker, abortSignal) =>
      docker.getContainer(id).attach({ hijack: true, stream: true, stdout: true, stderr: true, abortSignal }),
    )) as unknown as Duplex
    const over = this.#read(stream)
    const limit = AbortSignal.timeout(SETUP_LIMIT_MS)
    const cut = AbortSignal.any(signal === undefined ? [limit] : [limit, signal])
    const leave = () => stream.destroy()
    cut.addEventListener('abort', leave)
    try {
      await engine.call((docker, abortSignal) => docker.getContainer(id).start({ abortSignal }), ENGINE_START_LIMIT_MS)
      cut.throwIfAborted()
      await over
      await this.#reported
      signal?.throwIfAborted()
    } finally {
      cut.removeEventListener('abort', leave)
      stream.destroy()
    }
    if (this.#done < this.#steps.length) throw this.#failure(limit.aborted)
  }

  #read(stream: Duplex): Promise<void> {
    const demux = new Demux()
    stream.on('data', (chunk: Buffer) => {
      for (const { bytes } of demux.push(chunk)) this.#take(bytes.toString('utf8'))
    })
    return new Promise((resolve) => {
      for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
    })
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n')
    // An unfinished line cannot be a marker.
    this.#rest = (lines.pop() ?? '').slice(-SETUP_OUTPUT_KEEP_BYTES)
    for (const line of lines) {
      if (line.startsWith(MARK)) this.#note(line.slice(MARK.length).trim().split(' '))
      else this.#output = `${this.#output}${line}\n`.slice(-SETUP_OUTPUT_KEEP_BYTES)
    }
  }

  #note([what, number, code]: string[]): void {
    const step = Number(number)
    const { description = '' } = this.#steps[step - 1] ?? {}
    if (what === 'begin') {
      this.#current = step
      this.#output = ''
    } else {
      this.#exitCode = Number(code)
      if (this.#exitCode === 0) this.#done = step
    }
    const data = { step: this.#before + step, total: this.#total, description: description.slice(0, 200) }
    const outcome = what === 'begin' ? {} : { exit_code: Number(code) }
    this.#reported = this.#reported.then(() => this.#report('platform.setup.progress', { ...data, ...outcome }))
  }

  #failure(isLate: boolean) {
    const { command = '' } = this.#steps[Math.max(0, this.#current - 1)] ?? {}
    const output = `${this.#output}${this.#rest}`.trim().split('\n').slice(-10).join('\n')
    return fail('setup_failed', {
      step: this.#before + Math.max(1, this.#current),
      total: this.#total,
      command: command.slice(0, 200),
      exit_code: this.#exitCode,
      output: isLate ? `It was ended after ${SETUP_LIMIT_MS / 60_000} minutes.\n${output}` : output,
    })
  }
}

/** The key of a stage: everything that its outcome depends on. */
function keyOf(plan: SetupPlan, image: string, steps: readonly SetupStep[]): string {
  const parts = [
    'resolve.setup/1',
    image,
    JSON.stringify(steps.map(({ command }) => command)),
    ...plan.mounts.map(({ source, target }, index) =>
      index === 0 && plan.commit !== null ? `${target}=${plan.commit}` : `${target}=${fingerprint(source)}`,
    ),
  ]
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 24)
}

const FINGERPRINT_FILES = 20_000

/** Changes when a file below the directory changes: from names, sizes and times, without reading files. */
function fingerprint(directory: string): string {
  const hash = createHash('sha256')
  let left = FINGERPRINT_FILES
  const walk = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      left -= 1
      if (left < 0 || entry.name === 'node_modules' || entry.name === '.git') continue
      const at = join(path, entry.name)
      if (entry.isDirectory()) walk(at)
      else if (entry.isFile()) {
        const { size, mtimeMs } = statSync(at)
        hash.update(`${at}\0${size}\0${mtimeMs}\0`)
      }
    }
  }
  try {
    walk(directory)
  } catch {
    // An unreadable directory is left out; setup reports it if it needs it.
  }
  return hash.digest('hex')
}
