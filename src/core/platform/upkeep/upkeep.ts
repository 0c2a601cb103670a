/**
 * What `doctor`, `resolve worker` and `resolve git` do with a home. Parts are loaded when they are called, because they load Docker, and
 * because the home may be unusable.
 */
import type { BuiltImage, ImageBuild } from '../../worker/docker/images.ts'
import type { CachePruneOutcome } from '../../workspace/prune-caches.ts'
import type { HealthRow } from '../platform.ts'
import type { WorkerPruneOutcome } from './worker-images.ts'

export type { WorkerPruneOutcome }

/** Throws `docker_unreachable`, `container_refused`, `image_missing`. */
export async function buildWorker(build: ImageBuild): Promise<BuiltImage> {
  const { buildImage } = await import('../../worker/docker/images.ts')
  return await buildImage(build)
}

/** Throws `docker_unreachable`. */
export async function pruneWorkers(home: string, dryRun: boolean): Promise<WorkerPruneOutcome> {
  const { pruneWorkersOf } = await import('./worker-images.ts')
  return await pruneWorkersOf(home, dryRun)
}

/** Removes cached repositories (docs/git.md, The cache) and bundles (docs/sessions.md, Bundles). */
export async function pruneRepoCaches(
  home: string,
  options: { olderThanMs: number; dryRun: boolean },
): Promise<CachePruneOutcome> {
  const { pruneCaches } = await import('../../workspace/prune-caches.ts')
  const { pruneBundles } = await import('../../bundles/fetch/prune-bundles.ts')
  const { bundlesInUse } = await import('./bundles-in-use.ts')
  const repos = await pruneCaches(home, options)
  const bundles = await pruneBundles(home, { ...options, inUse: () => bundlesInUse(home) })
  return { ...repos, removed: [...repos.removed, ...bundles.removed], kept: repos.kept + bundles.kept }
}

/** Like `platform.health`, but also for a home that cannot be opened. */
export async function checkLocalHealth(options: {
  home: string
  builtins: string
  fix: boolean
}): Promise<HealthRow[]> {
  const { checkHealth } = await import('./health.ts')
  return await checkHealth(options)
}
