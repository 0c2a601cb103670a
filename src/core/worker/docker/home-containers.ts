/**
 * Lists the containers that carry a home's label, with their purpose; the reaper and doctor call it. Other containers are never
 * touched (reliability F16).
 */
import type { ContainerRole } from '../engine/container-places.ts'
import { homeLabel } from '../engine/container-places.ts'
import { type Engine, theEngine } from '../engine/engine.ts'
import { removeContainer } from '../engine/remove-container.ts'

export interface HomeContainer {
  id: string
  name: string
  role: ContainerRole
  /** null for a container without an instance. */
  instance: string | null
  createdMs: number
}

/** Throws `docker_unreachable`. */
export async function containersOfHome(home: string, engine: Engine = theEngine()): Promise<HomeContainer[]> {
  const found = await engine.call((docker, abortSignal) =>
    docker.listContainers({ all: true, filters: { label: [`resolve.home=${homeLabel(home)}`] }, abortSignal }),
  )
  return found.map(({ Id: id, Names: names, Labels: labels, Created: created }) => ({
    id,
    name: (names[0] ?? id).replace(/^\//, ''),
    role: labels['resolve.role'] as ContainerRole,
    instance: labels['resolve.instance'] || null,
    createdMs: created * 1000,
  }))
}

export async function endContainer(id: string, engine: Engine = theEngine()): Promise<void> {
  await removeContainer(engine, id)
}
