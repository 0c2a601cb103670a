/**
 * Runs the setup stages of a container before the resolver starts (threats MAN-2). The result of a stage is an image under a key of
 * everything that it depends on: whatever starts from that image later runs no setup. {@link file://./setup-stage.ts} runs one stage.
 */
import { createHash } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fail } from '../../errors.ts'
import { homeLabel } from '../engine/container-places.ts'
import { type Engine, theEngine } from '../engine/engine.ts'
import { chooseImage } from '../engine/worker-image.ts'
import type { ContainerLaunch, LaunchPlan, SetupStep } from '../worker.ts'
import { devSourceMounts, sourceMount } from './container-mounts.ts'
import type { ContainerMount } from './container-spec.ts'
import { endSetupStage, removeLeftStage, runSetupStage, SETUP_REPOSITORY } from './setup-stage.ts'

/** A resolver, and the container that it wants. */
export interface SetupSource {
  home: string
  /** The directory of the resolver's files. */
  directory: string
  command: readonly string[]
  launch: ContainerLaunch
}

/** What the setup of a resolver depends on, found on this machine. */
export interface SetupPlan {
  engine: Engine
  /** The key of the home in labels. */
  home: string
  /** The image to start from: its name, and its id. */
  base: string
  image: string
  stages: readonly (readonly SetupStep[])[]
  /** Mounts that setup may read: the resolver's files and the developer's overrides. */
  mounts: readonly ContainerMount[]
  commit: string | null
}

/** Throws `image_missing`, `launch_failed`, `docker_unreachable`. */
export async function planSetup({ home, directory, command, launch }: SetupSource, engine = theEngine()) {
  const base = chooseImage(launch.image)
  const image = await imageId(engine, base.name)
  if (image === undefined) throw fail('image_missing', { image: base.name, mend: base.mend })
  const mounts = [sourceMount(home, directory, command), ...devSourceMounts(launch.dev_source_overrides)]
  const { stages, commit } = launch
  return { engine, home: homeLabel(home), base: base.name, image, stages, mounts, commit } satisfies SetupPlan
}

export interface SetupListener {
  report?: LaunchPlan['report'] | undefined
  signal?: AbortSignal | undefined
  /** How many stages an earlier setup of the same launch has reported: they are not reported again. */
  reported?: number | undefined
}

/**
 * The image with all stages applied. Callers that want the same stage at the same time share it, in this process and in others. Throws
 * `setup_failed`, `container_refused`, `docker_unreachable`, and the signal's reason.
 */
export async function prepareImage(plan: SetupPlan, listener: SetupListener = {}): Promise<string> {
  const { report = async () => {}, signal, reported = 0 } = listener
  const total = plan.stages.flat().length
  const isReported = plan.stages.slice(reported).flat().length > 0
  let { image } = plan
  let done = 0
  let isCached = true
  if (isReported && signal?.aborted !== true) await report('platform.setup.starting', { total })
  const startedMs = Date.now()
  for (const [at, steps] of plan.stages.entries()) {
    if (steps.length === 0) continue
    const key = keyOf(plan, image, steps)
    const kept = await imageId(plan.engine, `${SETUP_REPOSITORY}:${key}`)
    if (kept === undefined) {
      isCached = false
      const { engine, home, mounts } = plan
      const place = { before: done, total }
      const stage = { engine, home, image, steps, key, mounts, place }
      if (signal?.aborted === true) await endSetupStage(stage, signal)
      image = await runSetupStage(
        stage,
        async (data) => {
          if (at >= reported) await report('platform.setup.progress', data)
        },
        signal,
      )
    } else {
      image = kept
      await removeLeftStage({ engine: plan.engine, home: plan.home, key })
    }
    done += steps.length
  }
  signal?.throwIfAborted()
  const seconds = (Date.now() - startedMs) / 1000
  if (isReported) await report('platform.setup.completed', { total, cached: isCached, duration_s: seconds })
  return image
}

/** The stage that a resolver is asked in: what the manifest wants. What container_setup adds is unknown before. */
export function beforeAsking(launch: ContainerLaunch): ContainerLaunch {
  return { ...launch, stages: launch.stages.slice(0, 1) }
}

/** Whether the setup of the manifest has been done, so that the resolver can be asked at once. Throws like {@link planSetup}. */
export async function isPrepared(source: SetupSource): Promise<boolean> {
  const { stages } = beforeAsking(source.launch)
  if (stages.flat().length === 0) return true
  const plan = await planSetup(source)
  const key = keyOf(plan, plan.image, stages.flat())
  return (await imageId(plan.engine, `${SETUP_REPOSITORY}:${key}`)) !== undefined
}

/** The id of an image on this machine. */
export async function imageId(engine: Engine, name: string): Promise<string | undefined> {
  const found = await engine.callUnless([400, 404], (docker, abortSignal) =>
    // The types of dockerode omit the signal; the call accepts it.
    docker.getImage(name).inspect({ abortSignal } as object),
  )
  return found?.Id
}

/** The key of a stage: everything that its outcome depends on. */
function keyOf(plan: SetupPlan, image: string, steps: readonly SetupStep[]): string {
  const parts = [
    // Images of the first version have variables of setup in their environment.
    'resolve.setup/2',
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
