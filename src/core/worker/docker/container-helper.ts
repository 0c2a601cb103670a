/**
 * A helper of a worker in a container: a process that the engine starts in the same container, as the same user and within the same limits. It
 * ends when its input ends, and with the container. {@link file://./docker-worker.ts} starts it.
 */
import type { Duplex } from 'node:stream'
import type Dockerode from 'dockerode'
import { fail } from '../../errors.ts'
import { SDK, SOURCE } from '../engine/container-places.ts'
import { Demux } from '../engine/demux.ts'
import { type Engine, toRefusal } from '../engine/engine.ts'
import type { Helper, HelperPlan } from '../worker.ts'
import { sdkMounts } from './container-mounts.ts'
import { DockerChannel } from './docker-channel.ts'

/** The exit codes of an engine that could not start the program. */
const NOT_STARTED = [126, 127]
const CLOSE_MS = 1_000

/** Throws `launch_failed`, `container_refused`, `docker_unreachable`. */
export async function startContainerHelper(
  engine: Engine,
  container: string,
  plan: HelperPlan,
  directory = SOURCE,
): Promise<Helper> {
  if (sdkMounts().length === 0)
    throw fail('launch_failed', { command: plan.program, reason: 'the platform is not built' })
  try {
    const exec = await engine.call((docker, abortSignal) =>
      docker.getContainer(container).exec({
        Cmd: ['node', `${SDK}/${plan.program}`],
        Env: [`RESOLVE_HELPER=${plan.mark}`, 'NODE_OPTIONS='],
        WorkingDir: directory,
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
        Tty: false,
        abortSignal,
      }),
    )
    const stream = (await engine.call((_, abortSignal) =>
      exec.start({ hijack: true, stdin: true, Tty: false, abortSignal }),
    )) as unknown as Duplex
    return helperOn(stream, engine, exec, plan.onStderr)
  } catch (error) {
    throw toRefusal(error, `start "${plan.program}" beside the worker`)
  }
}

function helperOn(stream: Duplex, engine: Engine, exec: Dockerode.Exec, onStderr: (bytes: Buffer) => void): Helper {
  const channel = new DockerChannel()
  const demux = new Demux()
  stream.on('data', (chunk: Buffer) => {
    for (const { stream: from, bytes } of demux.push(chunk)) {
      if (from === 'stdout') channel.take(bytes)
      else onStderr(bytes)
    }
  })
  const over = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
  })
  void over.then(() => channel.close())
  channel.attach(stream, true)
  return {
    channel: {
      send: (line) => channel.send(line),
      onLine: (listener) => channel.onLine(listener),
      onClose: (listener) => channel.onClose(listener),
      close: () => {
        stream.end()
        setTimeout(() => stream.destroy(), CLOSE_MS).unref()
        channel.close()
      },
    },
    ended: over.then(() => describeEnd(engine, exec)),
  }
}

async function describeEnd(engine: Engine, exec: Dockerode.Exec): Promise<string> {
  try {
    const { ExitCode: code } = await engine.call((_, abortSignal) => exec.inspect({ abortSignal }))
    if (code === null) return 'its connection ended'
    return NOT_STARTED.includes(code) ? 'the image has no program "node"' : `it ended with code ${code}`
  } catch {
    return 'its container has ended'
  }
}
