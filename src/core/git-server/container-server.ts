/** The git server beside workers in containers: a container of its own, in a network of the instance, reached by its socket. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { installedFile } from '../files/installation.ts'
import {
  ENGINE_START_LIMIT_MS,
  GIT_SERVER_CPUS,
  GIT_SERVER_MEMORY_BYTES,
  GIT_SERVER_PIDS_MAX,
  GIT_SERVER_PORT,
  GIT_SERVER_SPACE_BYTES,
  GIT_SERVER_START_LIMIT_MS,
} from '../limits.ts'
import { workerUser } from '../worker/engine/container-places.ts'
import { type Engine, EngineRefusal, toRefusal } from '../worker/engine/engine.ts'
import { bindMount, hardened } from '../worker/engine/hardening.ts'
import { removeContainer } from '../worker/engine/remove-container.ts'
import { HostDoor } from './host-door.ts'
import { type GitServerPlaces, prepareGitServer } from './server-places.ts'

/** The name of the server in the network of its instance. */
export const GIT_SERVER_ALIAS = 'git-server'
export const GIT_SERVER_URL = `http://${GIT_SERVER_ALIAS}:${GIT_SERVER_PORT}`

const ROLE = 'git'
const STATE = '/git'
const PROGRAM = '/usr/local/lib/resolve/git-server.js'
const LOOK_MS = 50
const CONFLICT = 409

export interface GitContainerPlan {
  instance: string
  /** The key of the home. */
  home: string
  /** The platform's worker image, whatever the manifest's image is: it has Node and git. */
  image: string
  /** The network of the instance. */
  network: string
  places: GitServerPlaces
}

export interface GitContainer {
  id: string
  door: HostDoor
  baseUrl: string
}

/** The container of the instance, running and answering; made where it is missing, started where it is stopped. */
export async function openGitContainer(engine: Engine, plan: GitContainerPlan, token: string): Promise<GitContainer> {
  const root = process.getuid?.() === 0
  prepareGitServer(plan.places, token, root ? workerUser() : undefined)
  const program = installedFile('git-server.js')
  if (program === undefined) throw fail('git_server_failed', { reason: 'dist/git-server.js is missing' })
  try {
    const id = (await findGitContainer(engine, plan.instance)) ?? (await create(engine, plan, program))
    await engine.callUnless(
      304,
      (docker, abortSignal) => docker.getContainer(id).start({ abortSignal }),
      ENGINE_START_LIMIT_MS,
    )
    const door = new HostDoor(plan.places.state, token)
    await answering(engine, id, door)
    return { id, door, baseUrl: GIT_SERVER_URL }
  } catch (error) {
    throw toRefusal(error, 'start the git server')
  }
}

/** By its labels; undefined where there is none. */
export async function findGitContainer(engine: Engine, instance: string): Promise<string | undefined> {
  const filters = { label: [`resolve.instance=${instance}`, `resolve.role=${ROLE}`] }
  const found = await engine.call((docker, abortSignal) => docker.listContainers({ all: true, filters, abortSignal }))
  return found[0]?.Id
}

/** Keeps its directory: the next start goes on with it. */
export async function removeGitContainer(engine: Engine, instance: string): Promise<void> {
  const id = await findGitContainer(engine, instance)
  if (id !== undefined) await removeContainer(engine, id)
}

async function create(engine: Engine, plan: GitContainerPlan, program: string): Promise<string> {
  try {
    const made = await engine.call(
      (docker, abortSignal) => docker.createContainer({ ...gitContainerSpec(plan, program), abortSignal }),
      ENGINE_START_LIMIT_MS,
    )
    return made.id
  } catch (error) {
    const found =
      error instanceof EngineRefusal && error.status === CONFLICT
        ? await findGitContainer(engine, plan.instance)
        : undefined
    // Another host was faster.
    if (found !== undefined) return found
    throw error
  }
}

/** The body of `POST /containers/create`. Pure. */
export function gitContainerSpec(plan: GitContainerPlan, program: string) {
  const user = workerUser()
  const listen = `0.0.0.0:${GIT_SERVER_PORT}`
  return {
    name: `resolve-${plan.instance}-${ROLE}`,
    Image: plan.image,
    Labels: { 'resolve.home': plan.home, 'resolve.role': ROLE, 'resolve.instance': plan.instance },
    User: `${user.uid}:${user.gid}`,
    WorkingDir: STATE,
    Env: ['HOME=/tmp', 'NODE_OPTIONS=--max-old-space-size=256'],
    Entrypoint: [],
    Cmd: ['node', PROGRAM, '--state', STATE, '--listen', listen, '--base-url', GIT_SERVER_URL],
    Healthcheck: { Test: ['NONE'] },
    Tty: false,
    OpenStdin: false,
    HostConfig: {
      ...hardened({ pids: GIT_SERVER_PIDS_MAX, memoryBytes: GIT_SERVER_MEMORY_BYTES, cpus: GIT_SERVER_CPUS }),
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': `rw,noexec,nosuid,nodev,size=${GIT_SERVER_SPACE_BYTES}` },
      NetworkMode: plan.network,
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '2' } },
      Mounts: [bindMount(plan.places.state, STATE, false), bindMount(program, PROGRAM, true)],
    },
    NetworkingConfig: { EndpointsConfig: { [plan.network]: { Aliases: [GIT_SERVER_ALIAS] } } },
  }
}

async function answering(engine: Engine, id: string, door: HostDoor): Promise<void> {
  const deadline = Date.now() + GIT_SERVER_START_LIMIT_MS
  while (Date.now() < deadline) {
    if ((await door.health()) !== undefined) return
    const { State: state } = await engine.call((docker, abortSignal) =>
      docker.getContainer(id).inspect({ abortSignal }),
    )
    if (!state.Running) throw fail('git_server_failed', { reason: `it ended with code ${state.ExitCode}` })
    await sleep(LOOK_MS)
  }
  throw fail('git_server_failed', { reason: 'it does not answer' })
}
