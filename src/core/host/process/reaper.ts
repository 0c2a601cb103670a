/**
 * Ends containers that nobody needs any more: by their label and by the journal of their instance, never by a name, and only after a
 * time in which whoever made them would have come back (threats F16).
 */
import { existsSync } from 'node:fs'
import { ResolveError } from '../../errors.ts'
import { ORPHAN_MIN_AGE_MS, REAP_INTERVAL_MS, SETUP_LIMIT_MS } from '../../limits.ts'
import { isTerminal } from '../../protocol/status.ts'
import { instancePaths, isInstanceId } from '../../store/home.ts'
import { readStory } from '../../store/journal-projection.ts'
import { containersOfHome, endContainer, type HomeContainer } from '../../worker/docker/home-containers.ts'
import { networkedInstances, removeNetwork } from '../../worker/egress/network.ts'
import { homeLabel } from '../../worker/engine/container-places.ts'
import { theEngine } from '../../worker/engine/engine.ts'
import { hasHost } from './reach.ts'

export interface Orphan extends HomeContainer {
  /** Why nobody needs it. */
  why: string
}

/** Throws `docker_unreachable`. */
export async function orphanContainers(
  home: string,
  nowMs = Date.now(),
  minAgeMs = ORPHAN_MIN_AGE_MS,
): Promise<Orphan[]> {
  const orphans: Orphan[] = []
  for (const container of await containersOfHome(home)) {
    const ageMs = nowMs - container.createdMs
    // One that belongs to no instance has nothing but its age to tell by.
    const isYoung = ageMs < (container.instance === null ? ORPHAN_MIN_AGE_MS : minAgeMs)
    const why = isYoung ? undefined : await whyOrphaned(home, container, ageMs)
    if (why !== undefined) orphans.push({ ...container, why })
  }
  return orphans
}

export async function endOrphan({ id }: Orphan): Promise<void> {
  await endContainer(id)
}

async function whyOrphaned(home: string, container: HomeContainer, ageMs: number): Promise<string | undefined> {
  const { instance, role } = container
  if (instance === null) {
    if (role === 'setup' && ageMs < SETUP_LIMIT_MS + REAP_INTERVAL_MS) return undefined
    return role === 'setup' ? 'its setup is over' : 'nobody asks it any more'
  }
  return await whyOver(home, instance)
}

/** Why nobody needs what an instance had; undefined while somebody may. */
async function whyOver(home: string, instance: string): Promise<string | undefined> {
  if (!isInstanceId(instance)) return undefined
  const status = statusOf(home, instance)
  // A host ends its worker before it says that the instance has ended; while it lives it is at it.
  if (status === 'unreadable' || (await hasHost(home, instance))) return undefined
  if (status === 'gone') return `${instance} is gone`
  return isTerminal(status) || status === 'paused' ? `${instance} is ${status}` : undefined
}

/** Networks of instances that have ended, or pause: after their containers, for one in use can't be removed. */
async function endNetworks(home: string): Promise<void> {
  const owner = { home: homeLabel(home) }
  for (const instance of await networkedInstances(theEngine(), owner.home)) {
    if ((await whyOver(home, instance)) !== undefined) await removeNetwork(theEngine(), { ...owner, instance })
  }
}

function statusOf(home: string, id: string) {
  const { root, journal } = instancePaths(home, id)
  if (!existsSync(root)) return 'gone'
  try {
    return readStory(journal).status
  } catch {
    // What cannot be read is not known to have ended: doctor tells of it.
    return 'unreadable'
  }
}

/** Reaps now and each minute. Answers its stop. An engine that is away is asked again. */
export function startReaper(home: string, intervalMs = REAP_INTERVAL_MS, minAgeMs = ORPHAN_MIN_AGE_MS): () => void {
  let isBusy = false
  const reap = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      // Without an engine there is nothing to reap, and nothing to load.
      if (!existsSync(theEngine().socket)) return
      for (const orphan of await orphanContainers(home, Date.now(), minAgeMs)) await endOrphan(orphan)
      await endNetworks(home)
    } catch (error) {
      if (!(error instanceof ResolveError)) process.emitWarning(String(error))
    } finally {
      isBusy = false
    }
  }
  void reap()
  const timer = setInterval(() => void reap(), intervalMs).unref()
  return () => clearInterval(timer)
}
