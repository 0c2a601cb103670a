/** The worker images on this machine, for `resolve worker`. */
import { endOrphan, orphanContainers } from '../../host/process/reaper.ts'
import { ORPHAN_MIN_AGE_MS } from '../../limits.ts'
import { type PrunedImage, pruneSetupImages } from '../../worker/docker/images.ts'

export interface WorkerPruneOutcome {
  dry_run: boolean
  images: PrunedImage[]
  /** Containers that are no longer needed, with the reason. */
  containers: { name: string; why: string }[]
}

/** Removes images kept by setups, and containers without an instance. Throws `docker_unreachable`. */
export async function pruneWorkersOf(home: string, dryRun: boolean): Promise<WorkerPruneOutcome> {
  const orphans = await orphanContainers(home, Date.now(), ORPHAN_MIN_AGE_MS)
  if (!dryRun) for (const orphan of orphans) await endOrphan(orphan)
  const images = await pruneSetupImages(home, dryRun)
  return { dry_run: dryRun, images, containers: orphans.map(({ name, why }) => ({ name, why })) }
}
