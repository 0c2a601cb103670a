/** Creates, starts, commits and removes the containers of one reality check. room.ts and the stages call it. */
import type Dockerode from 'dockerode'
import { ENGINE_START_LIMIT_MS, IMAGE_BUILD_LIMIT_MS } from '../../limits.ts'
import { Demux } from '../../worker/engine/demux.ts'
import { type Engine, toRefusal } from '../../worker/engine/engine.ts'
import { removeContainer } from '../../worker/engine/remove-container.ts'
import { ROOM_ROLE, type RoomOwner } from './containers.ts'

export const ROOM_IMAGES = 'resolve-room'

/** A container that is there under the same name was left by a host that died: it is removed first. Throws `container_refused`, `docker_unreachable`. */
export async function startContainer(engine: Engine, spec: { name: string }): Promise<string> {
  const create = () =>
    engine.callUnless(
      409,
      (docker, abortSignal) => docker.createContainer({ ...spec, abortSignal }),
      ENGINE_START_LIMIT_MS,
    )
  try {
    let made = await create()
    if (made === undefined) {
      await removeContainer(engine, spec.name)
      made = await create()
    }
    if (made === undefined) throw toRefusal(undefined, spec.name)
    const { id } = made
    await engine.call((docker, abortSignal) => docker.getContainer(id).start({ abortSignal }), ENGINE_START_LIMIT_MS)
    return id
  } catch (error) {
    throw toRefusal(error, 'start a container of a reality check')
  }
}

/** The id of the image. */
export async function commitContainer(engine: Engine, id: string, owner: RoomOwner): Promise<string> {
  const labels = `LABEL resolve.home=${owner.home} resolve.room=${owner.session}`
  try {
    const made = (await engine.call(
      (docker, abortSignal) =>
        docker.getContainer(id).commit({ repo: ROOM_IMAGES, tag: owner.session, changes: labels, abortSignal }),
      IMAGE_BUILD_LIMIT_MS,
    )) as { Id: string }
    return made.Id
  } catch (error) {
    throw toRefusal(error, 'keep what was built')
  }
}

/** Removes every container of the check, and its image. Never throws: the reaper removes what an unreachable engine keeps. */
export async function removeRoom(
  engine: Engine,
  owner: RoomOwner,
  options: { keep?: readonly string[] } = {},
): Promise<void> {
  const { keep = [] } = options
  try {
    const found = await containersOfRoom(engine, owner)
    await Promise.all(
      found
        .filter(({ Labels: labels }) => !keep.includes(labels['resolve.part'] ?? ''))
        .map(({ Id: id }) => removeContainer(engine, id)),
    )
    if (keep.length > 0) return
    await engine.callUnless([404, 409], (docker, abortSignal) =>
      docker.getImage(`${ROOM_IMAGES}:${owner.session}`).remove({ force: true, abortSignal }),
    )
  } catch {
    // As the comment above says.
  }
}

export async function containersOfRoom(
  engine: Engine,
  { home, instance, session }: RoomOwner,
): Promise<Dockerode.ContainerInfo[]> {
  const label = [
    `resolve.home=${home}`,
    `resolve.instance=${instance}`,
    `resolve.role=${ROOM_ROLE}`,
    `resolve.session=${session}`,
  ]
  return await engine.call((docker, abortSignal) =>
    docker.listContainers({ all: true, filters: { label }, abortSignal }),
  )
}

export interface Condition {
  isRunning: boolean
  exitCode: number | null
  isOutOfMemory: boolean
}

export async function conditionOf(engine: Engine, id: string): Promise<Condition> {
  const { State: state } = await engine.call((docker, abortSignal) => docker.getContainer(id).inspect({ abortSignal }))
  return { isRunning: state.Running, exitCode: state.Running ? null : state.ExitCode, isOutOfMemory: state.OOMKilled }
}

/** The end of what a container printed. */
export async function logTail(engine: Engine, id: string, lines: number): Promise<string> {
  const log = await engine
    .callUnless([404, 409], (docker, abortSignal) =>
      docker.getContainer(id).logs({ stdout: true, stderr: true, follow: false, tail: lines, abortSignal }),
    )
    .catch(() => undefined)
  if (log === undefined) return ''
  const pieces = new Demux().push(log as unknown as Buffer)
  return Buffer.concat(pieces.map(({ bytes }) => bytes)).toString('utf8')
}

/** What it kept in memory is lost; its files and its place in the network stay. */
export async function restartContainer(engine: Engine, id: string): Promise<void> {
  try {
    await engine.call(
      (docker, abortSignal) => docker.getContainer(id).restart({ t: 5, abortSignal }),
      ENGINE_START_LIMIT_MS,
    )
  } catch (error) {
    throw toRefusal(error, 'restart the software')
  }
}
