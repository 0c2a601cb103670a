/**
 * The driver of {@link file://./../worker.ts} for Docker containers. The resolver is the main process under an init, as an
 * unprivileged user, so that the next host can attach to its stdio. Only a helper is started inside a running container. {@link
 * file://./container-spec.ts} builds the request.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { failpoint } from '../../failpoints.ts'
import { writeWholeSync } from '../../files/write-whole.ts'
import { ENGINE_PATIENCE_MS, ENGINE_RETRY_MAX_MS, ENGINE_RETRY_MIN_MS, ENGINE_START_LIMIT_MS } from '../../limits.ts'
import { backoffMs } from '../../primitives/backoff.ts'
import { CONFIG_FILE, MESSAGES_DIR } from '../../protocol/coordination.ts'
import { openLocalCoordination } from '../coordination-directory.ts'
import {
  containerName,
  homeLabel,
  PROJECT,
  RESOLVE_DIRECTORY,
  RESOLVER_UID,
  SOURCE,
  WORKSPACE,
  workerUser,
} from '../engine/container-places.ts'
import { type Engine, isAway, theEngine, toRefusal } from '../engine/engine.ts'
import { joinNetwork } from '../engine/join-network.ts'
import { removeContainer } from '../engine/remove-container.ts'
import { rewriteFiles } from '../output-files.ts'
import { BRIDGE } from '../sandbox-network.ts'
import { tailOf } from '../stderr-file.ts'
import type { ContainerLaunch, CoordinationDirectory, Driver, LaunchPlan, Worker } from '../worker.ts'
import { containerEnvironment } from './container-environment.ts'
import { bundleMounts, projectMounts, sdkMounts, toolMounts } from './container-mounts.ts'
import { beforeAsking, planSetup, prepareImage } from './container-setup.ts'
import { containerSpec } from './container-spec.ts'
import { DockerWorker } from './docker-worker.ts'
import { volumeMounts, volumePolicy } from './volumes.ts'

/** Where the driver keeps the state of a worker: in the instance's directory. */
export interface DockerPlaces {
  root: string
  worker: string
  stderr: string
  project: string
}

/** The content of worker.json; only this driver reads it. */
interface Saved {
  incarnation: number
  container: string
}

const NOTHING_ASKED: ContainerLaunch = {
  image: null,
  stages: [],
  volume_mounts: [],
  dev_source_overrides: [],
  commit: null,
}

export class DockerDriver implements Driver {
  readonly #places: DockerPlaces
  readonly #home: string
  readonly #engine: Engine

  constructor(places: DockerPlaces, home: string, engine: Engine = theEngine()) {
    this.#places = places
    this.#home = home
    this.#engine = engine
  }

  openCoordination(): CoordinationDirectory {
    const user = workerUser()
    return openLocalCoordination(this.#places.project, {
      seen: { project: PROJECT, resolve: RESOLVE_DIRECTORY, workspace: WORKSPACE },
      // Mounted read-only over the project, so it must exist.
      directories: [MESSAGES_DIR],
      // A host that is not root runs the resolver as its own user.
      ...(user.uid === RESOLVER_UID && process.getuid?.() === 0 ? { owner: user } : {}),
    })
  }

  async prepare(plan: LaunchPlan): Promise<void> {
    const launch = beforeAsking(plan.container ?? NOTHING_ASKED)
    await prepareImage(await this.#planSetup(plan, launch), plan)
  }

  async start(coordination: CoordinationDirectory, plan: LaunchPlan): Promise<Worker> {
    await this.#removeAll()
    const report = plan.report ?? (async () => {})
    const { bundles = [], container: options = NOTHING_ASKED } = plan
    const setup = await this.#planSetup(plan, options)
    const user = workerUser()
    const volumes = volumeMounts(options.volume_mounts, volumePolicy(this.#home, this.#engine.socket))
    const sdk = sdkMounts()
    const container = {
      home: homeLabel(this.#home),
      instance: basename(this.#places.root),
      incarnation: plan.incarnation,
      name: containerName('worker', basename(this.#places.root), plan.incarnation),
      directory: SOURCE,
      user,
      network: 'bridge' as const,
    }
    if (plan.signal?.aborted !== true)
      await report('platform.container.creating', { image: setup.base, incarnation: plan.incarnation })
    const { signal, reportedStages: reported } = plan
    const prepared = await prepareImage(setup, { report, signal, reported })
    plan.signal?.throwIfAborted()
    this.#layOverlays(coordination)
    const { mode, dns, dnsOptions, environment: proxied } = options.network ?? BRIDGE
    const spec = containerSpec({
      ...container,
      network: mode,
      ...(dns.length === 0 ? {} : { dns, dnsOptions }),
      role: 'worker',
      image: prepared,
      command: plan.command,
      environment: containerEnvironment({
        added: { ...plan.environment, ...proxied },
        hasSdk: sdk.length > 0,
        uid: user.uid,
        hasInstance: true,
        bundles: bundles.filter(({ isListed }) => isListed).map(({ seen }) => seen),
      }),
      mounts: [
        ...projectMounts(this.#places.project),
        ...[...sdk, ...toolMounts(plan.tools), ...setup.mounts],
        ...[...bundleMounts(bundles), ...volumes],
      ],
    })
    let worker: DockerWorker | undefined
    try {
      failpoint('container.prepared')
      const { id } = await this.#engine.call(
        (docker, abortSignal) => docker.createContainer({ ...spec, abortSignal }),
        ENGINE_START_LIMIT_MS,
      )
      failpoint('container.created')
      const saved: Saved = { incarnation: plan.incarnation, container: id }
      writeWholeSync(this.#places.worker, JSON.stringify(saved), { durable: true })
      failpoint('container.saved')
      if (options.joins !== undefined) await joinNetwork(this.#engine, id, options.joins)
      worker = this.#reach(saved, false)
      await worker.open()
      failpoint('container.attached')
      await this.#engine.call(
        (docker, abortSignal) => docker.getContainer(id).start({ abortSignal }),
        ENGINE_START_LIMIT_MS,
      )
      failpoint('container.started')
      worker.begin()
      return worker
    } catch (error) {
      worker?.release()
      await this.#removeAll().catch(() => undefined)
      throw toRefusal(error, `start "${plan.command.join(' ')}"`)
    }
  }

  /** The container was created but never started, so there was no worker: it is removed. */
  async adopt(_coordination: CoordinationDirectory, incarnation: number): Promise<Worker | undefined> {
    const saved = this.#readSaved() ?? { incarnation: 0, container: '' }
    if (saved.incarnation === incarnation && saved.container !== '') {
      const found = await this.#inspect(saved.container).catch((error: unknown) => {
        // The container may be running: its host waits until the engine is back.
        if (isAway(error)) return 'away' as const
        throw error
      })
      if (found !== 'away' && found?.State.Status === 'created') {
        await this.#removeAll()
        return undefined
      }
      return this.#reach(saved, true)
    }
    const name = containerName('worker', basename(this.#places.root), incarnation)
    const found = await this.#retryWhileAway(() => this.#inspect(name))
    if (found === undefined || found.State.Status === 'created') {
      if (found !== undefined) await this.#removeAll()
      return undefined
    }
    if (found.Config.Labels['resolve.home'] !== homeLabel(this.#home)) return undefined
    const reached: Saved = { incarnation, container: found.Id }
    writeWholeSync(this.#places.worker, JSON.stringify(reached), { durable: true })
    return this.#reach(reached, true)
  }

  /** Waits for an unreachable engine: an instance must not end while its container may still run (R20). */
  async sweep(): Promise<void> {
    await this.#retryWhileAway(() => this.#removeAll())
  }

  async discard(): Promise<void> {
    await this.sweep()
  }

  stderrTail(maxBytes: number): string {
    return tailOf(this.#places.stderr, maxBytes)
  }

  rewriteOutput(change: (text: string) => string): void {
    rewriteFiles([this.#places.stderr], change)
  }

  #planSetup({ directory, command }: LaunchPlan, launch: ContainerLaunch) {
    return planSetup({ home: this.#home, directory, command, launch }, this.#engine)
  }

  #reach(saved: Saved, isAdopted: boolean): DockerWorker {
    const worker = new DockerWorker({
      engine: this.#engine,
      container: saved.container,
      incarnation: saved.incarnation,
      stderr: this.#places.stderr,
      project: this.#places.project,
      isAdopted,
    })
    if (isAdopted) worker.begin()
    return worker
  }

  #inspect(container: string) {
    return this.#engine.callUnless(404, (docker, abortSignal) =>
      docker.getContainer(container).inspect({ abortSignal }),
    )
  }

  async #removeAll(): Promise<void> {
    const label = [`resolve.home=${homeLabel(this.#home)}`, `resolve.instance=${basename(this.#places.root)}`]
    const found = await this.#engine.call((docker, abortSignal) =>
      docker.listContainers({ all: true, filters: { label }, abortSignal }),
    )
    // The git server is no worker: its own host ends it, after the last fetch.
    const workers = found.filter(({ Labels: labels }) => labels['resolve.role'] !== 'git')
    await Promise.all(workers.map(({ Id: id }) => removeContainer(this.#engine, id)))
  }

  async #retryWhileAway<T>(work: () => Promise<T>): Promise<T> {
    const deadline = Date.now() + ENGINE_PATIENCE_MS
    for (let tries = 0; ; tries += 1) {
      try {
        return await work()
      } catch (error) {
        if (!isAway(error) || Date.now() > deadline) throw error
      }
      await sleep(backoffMs(tries, ENGINE_RETRY_MIN_MS, ENGINE_RETRY_MAX_MS))
    }
  }

  /** Everything that is mounted over the project must exist and have the right type. No process runs now that could replace it. */
  #layOverlays(coordination: CoordinationDirectory): void {
    coordination.names(MESSAGES_DIR, 1)
    if (coordination.read(CONFIG_FILE, Number.MAX_SAFE_INTEGER) === undefined)
      coordination.put(CONFIG_FILE, '{}', { mode: 0o600 })
  }

  #readSaved(): Saved | undefined {
    try {
      const saved = JSON.parse(readFileSync(this.#places.worker, 'utf8')) as Partial<Saved> | null
      const isWhole = typeof saved?.container === 'string' && typeof saved.incarnation === 'number'
      return isWhole ? (saved as Saved) : undefined
    } catch {
      return undefined
    }
  }
}
