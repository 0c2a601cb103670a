/**
 * Removes containers and networks that are no longer needed. It decides by their labels and by the journal of their instance,
 * never by their names, and only after a time in which their owner would have come back (reliability F16). Hosts of containers
 * and `serve` run it.
 */
import { existsSync } from 'node:fs'
import { ResolveError } from '../../errors.ts'
import { ORPHAN_MIN_AGE_MS, REAP_INTERVAL_MS, SETUP_LIMIT_MS } from '../../limits.ts'
import { isTerminal } from '../../protocol/status.ts'
import { instancePaths, isInstanceId } from '../../store/home.ts'
import { readStoryInTurns } from '../../store/journal-projection.ts'
import { containersOfHome, endContainer, type HomeContainer } from '../../worker/docker/home-containers.ts'
import { NETWORK_ROLES, networkedInstances, removeNetwork } from '../../worker/egress/network.ts'
import { sweepGuards } from '../../worker/egress/open-guard.ts'
import { homeLabel } from '../../worker/engine/container-places.ts'
import { theEngine } from '../../worker/engine/engine.ts'
import { hasHost } from './reach.ts'

export interface Orphan extends HomeContainer {
  /** Why it is no longer needed. */
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
    // A container without an instance can only be judged by its age.
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
    return role === 'setup' ? 'its setup has ended' : 'its inquiry has ended'
  }
  return await whyOver(home, instance)
}

/** Why the container of an instance is no longer needed; undefined while it may be. */
async function whyOver(home: string, instance: string): Promise<string | undefined> {
  if (!isInstanceId(instance)) return undefined
  const status = await statusOf(home, instance)
  // A host ends its worker before it reports the end of the instance: a live owner may be doing so.
  if (status === 'unreadable' || (await hasHost(home, instance))) return undefined
  if (status === 'gone') return `${instance} is gone`
  return isTerminal(status) || status === 'paused' ? `${instance} is ${status}` : undefined
}

/**
 * Networks of instances that have ended or are paused. They come after the containers, because a network in use cannot be
 * removed.
 */
async function endNetworks(home: string): Promise<void> {
  const owner = { home: homeLabel(home) }
  for (const role of NETWORK_ROLES) {
    for (const instance of await networkedInstances(theEngine(), owner.home, role)) {
      if ((await whyOver(home, instance)) !== undefined) await removeNetwork(theEngine(), { ...owner, instance, role })
    }
  }
  await sweepGuards()
}

async function statusOf(home: string, id: string) {
  const { root, journal } = instancePaths(home, id)
  if (!existsSync(root)) return 'gone'
  try {
    return (await readStoryInTurns(journal)).status
  } catch {
    // An unreadable journal does not show that the instance has ended; doctor reports it.
    return 'unreadable'
  }
}

/** Runs now and every minute. Returns the function that stops it. While the engine is unreachable, it tries again each time. */
export function startReaper(home: string, intervalMs = REAP_INTERVAL_MS, minAgeMs = ORPHAN_MIN_AGE_MS): () => void {
  let isBusy = false
  const reap = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      // Without an engine there is nothing to remove, and dockerode is not loaded.
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
