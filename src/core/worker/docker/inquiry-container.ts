/**
 * A container for an inquiry: a resolver that only returns its form and workspace spec, without network, secrets or instance
 * files (threats, Who is trusted). It ends with its caller: its stdin closes when the attach ends, and the engine removes it.
 */
import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { ENGINE_START_LIMIT_MS, STDERR_TAIL_BYTES } from '../../limits.ts'
import type { Channel } from '../../rpc/channel.ts'
import { homeLabel, SOURCE, workerUser } from '../engine/container-places.ts'
import { Demux } from '../engine/demux.ts'
import { theEngine, toRefusal } from '../engine/engine.ts'
import { removeContainer } from '../engine/remove-container.ts'
import { containerEnvironment } from './container-environment.ts'
import { sdkMounts } from './container-mounts.ts'
import { beforeAsking, planSetup, prepareImage, type SetupListener, type SetupSource } from './container-setup.ts'
import { containerSpec } from './container-spec.ts'
import { DockerChannel } from './docker-channel.ts'

export interface InquiryContainer {
  channel: Channel
  /** The end of its stderr. */
  stderr(): string
  close(): Promise<void>
}

/** Throws `docker_unreachable`, `image_missing`, `setup_failed`, `launch_failed`, `container_refused`. */
export async function openInquiryContainer(plan: SetupSource, listener: SetupListener = {}): Promise<InquiryContainer> {
  const engine = theEngine()
  const { launch } = plan
  const setup = await planSetup({ ...plan, launch: beforeAsking(launch) }, engine)
  const sdk = sdkMounts()
  const user = workerUser()
  const container = {
    home: homeLabel(plan.home),
    instance: null,
    incarnation: 0,
    name: `resolve-inquiry-${randomBytes(6).toString('hex')}`,
    directory: SOURCE,
    user,
    network: 'none' as const,
  }
  const prepared = await prepareImage(setup, listener)
  const environment = containerEnvironment({
    ...{ added: {}, hasSdk: sdk.length > 0, uid: user.uid, hasInstance: false },
  })
  const spec = containerSpec({
    ...{ ...container, role: 'inquiry', image: prepared, command: plan.command, environment },
    mounts: [...sdk, ...setup.mounts],
  })
  try {
    const { id } = await engine.call(
      (docker, abortSignal) => docker.createContainer({ ...spec, abortSignal }),
      ENGINE_START_LIMIT_MS,
    )
    const what = { hijack: true, stream: true, stdin: true, stdout: true, stderr: true }
    const stream = (await engine.call((docker, abortSignal) =>
      docker.getContainer(id).attach({ ...what, abortSignal }),
    )) as unknown as Duplex
    const held = new HeldContainer(stream, () => removeContainer(engine, id))
    await engine.call((docker, abortSignal) => docker.getContainer(id).start({ abortSignal }), ENGINE_START_LIMIT_MS)
    return held
  } catch (error) {
    throw toRefusal(error, `start "${plan.command.join(' ')}"`)
  }
}

class HeldContainer implements InquiryContainer {
  readonly channel = new DockerChannel()
  readonly #stream: Duplex
  readonly #remove: () => Promise<void>
  #stderr = ''

  constructor(stream: Duplex, remove: () => Promise<void>) {
    this.#stream = stream
    this.#remove = remove
    const demux = new Demux()
    stream.on('data', (chunk: Buffer) => {
      for (const { stream: from, bytes } of demux.push(chunk)) {
        if (from === 'stdout') this.channel.take(bytes)
        else this.#stderr = (this.#stderr + bytes.toString('utf8')).slice(-STDERR_TAIL_BYTES)
      }
    })
    for (const event of ['end', 'close', 'error']) stream.once(event, () => this.channel.close())
    this.channel.attach(stream, true)
  }

  stderr(): string {
    return this.#stderr
  }

  async close(): Promise<void> {
    this.#stream.destroy()
    // It may already be ending by itself. While the engine is away, the reaper removes it later.
    await this.#remove().catch(() => undefined)
  }
}
