/**
 * Creates and removes sandboxes: containers without rights or files of this machine, in which a resolver runs steps that it
 * does not trust (spec, Optional containers; threats B11). {@link file://./../../host/resources/sandbox-broker.ts} decides who
 * may have one.
 */
import type Dockerode from 'dockerode'
import {
  ENGINE_START_LIMIT_MS,
  SANDBOX_CPUS,
  SANDBOX_MEMORY_BYTES,
  SANDBOX_PIDS_MAX,
  SANDBOX_SPACE_BYTES,
  SANDBOXES_MAX,
} from '../../limits.ts'
import { RESOLVER_UID } from '../engine/container-places.ts'
import { type Engine, EngineRefusal, toRefusal } from '../engine/engine.ts'
import { hardened } from '../engine/hardening.ts'
import { removeContainer } from '../engine/remove-container.ts'
import type { SandboxNetwork } from '../sandbox-network.ts'

/** Its owner, as in the labels of its worker. */
export interface SandboxOwner {
  instance: string
  /** The key of the home. */
  home: string
}

export interface SandboxPlan extends SandboxOwner {
  /** The caller's key: a repeated request with it returns the same sandbox. */
  key: string
  image: string
  environment: Readonly<Record<string, string>>
  network: SandboxNetwork
}

const ROLE = 'sandbox'
/** The only writable path. It ends with the container; its content counts as memory, which is limited. */
const SPACE = '/tmp'

/**
 * The body of `POST /containers/create`, and the name, which is one of the instance's slots. Pure; nothing of a resolver is
 * merged in.
 */
export function sandboxSpec(plan: SandboxPlan, slot: number) {
  const { network } = plan
  const environment = { HOME: SPACE, LANG: 'C.UTF-8', ...plan.environment, ...network.environment }
  return {
    name: `resolve-${plan.instance}-${ROLE}-${slot}`,
    Image: plan.image,
    Labels: {
      'resolve.home': plan.home,
      'resolve.role': ROLE,
      'resolve.instance': plan.instance,
      'resolve.key': plan.key,
    },
    User: `${RESOLVER_UID}:${RESOLVER_UID}`,
    WorkingDir: SPACE,
    Env: Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    Entrypoint: [],
    Cmd: ['sleep', 'infinity'],
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: false,
    HostConfig: {
      ...hardened({ pids: SANDBOX_PIDS_MAX, memoryBytes: SANDBOX_MEMORY_BYTES, cpus: SANDBOX_CPUS }),
      CapAdd: [] as string[],
      ReadonlyRootfs: true,
      Tmpfs: { [SPACE]: `rw,exec,nosuid,nodev,mode=1777,size=${SANDBOX_SPACE_BYTES}` },
      AutoRemove: false,
      NetworkMode: network.mode,
      Dns: [...network.dns],
      DnsOptions: [...network.dnsOptions],
      LogConfig: { Type: 'none', Config: {} },
    },
  }
}

/** Creates a sandbox, or finds the one of this key; undefined where all slots are taken. Throws `container_refused`. */
export async function createSandbox(engine: Engine, plan: SandboxPlan): Promise<string | undefined> {
  try {
    const known = (await listOwn(engine, plan)).find(({ Labels: labels }) => labels['resolve.key'] === plan.key)
    if (known !== undefined) return await started(engine, known.Id)
    for (let slot = 1; slot <= SANDBOXES_MAX; slot += 1) {
      const spec = sandboxSpec(plan, slot)
      // The engine refuses a name that is taken, so concurrent requests never exceed the slots.
      const made = await engine.callUnless(
        409,
        (docker, abortSignal) => docker.createContainer({ ...spec, abortSignal }),
        ENGINE_START_LIMIT_MS,
      )
      if (made !== undefined) return await started(engine, made.id)
    }
    return undefined
  } catch (error) {
    throw toRefusal(error, 'make a sandbox')
  }
}

/** Whether the sandbox belongs to the instance, according to the engine. */
export async function isOwnSandbox(engine: Engine, owner: SandboxOwner, id: string): Promise<boolean> {
  return (await listOwn(engine, owner)).some(({ Id: found }) => found.startsWith(id))
}

/** Returns whether it existed. Throws `container_refused`. */
export async function removeSandbox(engine: Engine, owner: SandboxOwner, id: string): Promise<boolean> {
  try {
    const found = (await listOwn(engine, owner)).filter(({ Id: own }) => own.startsWith(id))
    for (const { Id: own } of found) await removeContainer(engine, own)
    return found.length > 0
  } catch (error) {
    throw toRefusal(error, 'remove a sandbox')
  }
}

/** Removes all sandboxes of the instance. Throws `container_refused`. */
export async function removeSandboxes(engine: Engine, owner: SandboxOwner): Promise<void> {
  try {
    const found = await listOwn(engine, owner)
    await Promise.all(found.map(({ Id: id }) => removeContainer(engine, id)))
  } catch (error) {
    throw toRefusal(error, 'remove the sandboxes of an instance')
  }
}

async function started(engine: Engine, id: string): Promise<string> {
  try {
    await engine.callUnless(
      304,
      (docker, abortSignal) => docker.getContainer(id).start({ abortSignal }),
      ENGINE_START_LIMIT_MS,
    )
  } catch (error) {
    // A sandbox that does not start would occupy its slot: it is removed.
    await removeContainer(engine, id).catch(() => undefined)
    throw error instanceof EngineRefusal ? error : toRefusal(error, 'start a sandbox')
  }
  return id.slice(0, ID_CHARS)
}

async function listOwn(engine: Engine, { instance, home }: SandboxOwner): Promise<Dockerode.ContainerInfo[]> {
  const label = [`resolve.home=${home}`, `resolve.instance=${instance}`, `resolve.role=${ROLE}`]
  return await engine.call((docker, abortSignal) =>
    docker.listContainers({ all: true, filters: { label }, abortSignal }),
  )
}

const ID_CHARS = 12
