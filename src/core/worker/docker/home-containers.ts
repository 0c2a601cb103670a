/** Every container that carries a home's label, and what it was made for. Nothing else is ever looked at, or touched (reliability F16). */

import type { ContainerRole } from '../engine/container-places.ts'
import { homeLabel } from '../engine/container-places.ts'
import { type Engine, theEngine } from '../engine/engine.ts'
import { removeContainer } from '../engine/remove-container.ts'

export interface HomeContainer {
  id: string
  name: string
  role: ContainerRole
  /** null for one that belongs to none. */
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
