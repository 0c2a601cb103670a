/** The room of one check: the holder of its network, the software, the validator; opened by run-check.ts, used by the tests. */
import { dirname } from 'node:path'
import { fail } from '../../errors.ts'
import { installedFile } from '../../files/installation.ts'
import type { CheckEnvironment, CheckPlan } from '../../protocol/check/reality-check.ts'
import { SDK } from '../../worker/engine/container-places.ts'
import type { Engine } from '../../worker/engine/engine.ts'
import {
  CACHE,
  commandSpec,
  holderSpec,
  type RoomOwner,
  type SoftwareStart,
  softwareSpec,
  validatorSpec,
} from '../room/containers.ts'
import { startContainer } from '../room/room-engine.ts'
import { ValidatorLink } from '../room/validator-link.ts'
import { directoryOf } from './build.ts'
import { CheckEnd } from './check-end.ts'
import type { CheckFiles } from './check-files.ts'
import { type Place, Software } from './software.ts'

export interface RoomParts {
  engine: Engine
  owner: RoomOwner
  /** What was built. */
  image: string
  /** The image of the validator. */
  validatorImage: string
  plan: CheckPlan
  environment: CheckEnvironment
  files: CheckFiles
  redact: (text: string) => string
}

export class Room {
  readonly #parts: RoomParts
  readonly #start: SoftwareStart
  readonly link: ValidatorLink
  readonly software: Software | null
  readonly #commands = new Map<string, string>()
  #place: Place | undefined

  /** Throws `container_refused`, `docker_unreachable`, `launch_failed`. */
  static async open(parts: RoomParts): Promise<Room> {
    const { engine, owner, plan, environment, validatorImage } = parts
    const platform = installedFile('validator/main.js')
    if (platform === undefined)
      throw fail('launch_failed', { command: 'validator', reason: 'the platform is not built' })
    const holder = await startContainer(engine, holderSpec(owner, validatorImage))
    const start: SoftwareStart = {
      image: parts.image,
      command: plan.start,
      directory: directoryOf(plan),
      environment: environmentOf(plan),
    }
    const id = plan.start === null ? null : await startContainer(engine, softwareSpec(owner, start, holder))
    const mounted = { source: dirname(dirname(platform)), target: SDK }
    const validator = await startContainer(engine, validatorSpec(owner, validatorImage, holder, mounted))
    const link = await ValidatorLink.open(engine, validator, owner.session)
    const software = id === null ? null : new Software({ engine, id, link, plan, environment })
    return new Room(parts, start, link, software)
  }

  private constructor(parts: RoomParts, start: SoftwareStart, link: ValidatorLink, software: Software | null) {
    this.#parts = parts
    this.#start = start
    this.link = link
    this.software = software
  }

  get engine(): Engine {
    return this.#parts.engine
  }

  get files(): CheckFiles {
    return this.#parts.files
  }

  get directory(): string {
    return this.#start.directory
  }

  get environment(): Readonly<Record<string, string>> {
    return this.#start.environment
  }

  redact(text: string): string {
    return this.#parts.redact(text)
  }

  /** Waits until the software answers, where there is one that is started. */
  async ready(signal: AbortSignal): Promise<Place | null> {
    if (this.software === null) return null
    this.#place = await this.software.ready(signal)
    return this.#place
  }

  async restart(signal: AbortSignal): Promise<void> {
    if (this.software === null) throw new CheckEnd('tests', 'config', 'There is no software to restart')
    this.#place = await this.software.restart(signal)
  }

  place(): Place {
    if (this.#place !== undefined) return this.#place
    throw new CheckEnd('tests', 'config', 'The software has no server: it can be tested by commands')
  }

  /** Where a command of a test runs: beside the software, or in a container of its own. */
  async commandTarget(test: string): Promise<{ id: string; isOfSoftware: boolean }> {
    if (this.software !== null) return { id: this.software.id, isOfSoftware: true }
    const { engine, owner } = this.#parts
    const known = this.#commands.get(test)
    const id = known ?? (await startContainer(engine, commandSpec(owner, this.#start, test)))
    this.#commands.set(test, id)
    return { id, isOfSoftware: false }
  }

  close(): void {
    this.link.close()
  }
}

function environmentOf({ env, port }: CheckPlan): Record<string, string> {
  return { ...env, RESOLVE_CACHE: CACHE, PORT: String(port ?? DEFAULT_PORT) }
}

const DEFAULT_PORT = 8080
