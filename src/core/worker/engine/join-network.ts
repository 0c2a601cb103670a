/** Connects a container to a further network. Drivers and the git server of an instance call it. */
import { type Engine, toRefusal } from './engine.ts'

/**
 * Between the container's creation and its start: its default route stays where it was, and no other container of its first network
 * reaches the further one. Throws `container_refused`, `docker_unreachable`.
 */
export async function joinNetwork(engine: Engine, container: string, network: string): Promise<void> {
  try {
    await engine.call((docker, abortSignal) => {
      const options = { Container: container, abortSignal }
      return docker.getNetwork(network).connect(options)
    })
  } catch (error) {
    throw toRefusal(error, 'connect the worker to its git server')
  }
}
