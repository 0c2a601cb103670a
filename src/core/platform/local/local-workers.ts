/** What `resolve worker` does, as local-health.ts for `doctor`: the parts that know Docker are loaded when they are asked for. */
import type { BuiltImage } from '../../host/process/worker-images.ts'
import type { WorkerPruneOutcome } from './worker-images.ts'

export type { WorkerPruneOutcome }

/** Throws `docker_unreachable`, `container_refused`. */
export async function buildWorker(options: { base?: string; onLine?: (line: string) => void }): Promise<BuiltImage> {
  const { buildWorkerImage } = await import('../../host/process/worker-images.ts')
  return await buildWorkerImage(options)
}

/** Throws `docker_unreachable`. */
export async function pruneWorkers(home: string, dryRun: boolean): Promise<WorkerPruneOutcome> {
  const { pruneWorkersOf } = await import('./worker-images.ts')
  return await pruneWorkersOf(home, dryRun)
}
