/**
 * The resource usage of a container, read from the engine and the kernel (spec, Limits; threats B8: nothing runs inside the
 * container for it).
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Engine } from '../engine/engine.ts'
import type { Usage } from '../worker.ts'

/** undefined where the container does not run. Throws `docker_unreachable`. */
export async function usageOfContainer(
  engine: Engine,
  id: string,
): Promise<Pick<Usage, 'pids' | 'memoryBytes' | 'oomKills'> | undefined> {
  const found = await engine.callUnless(404, (docker, abortSignal) => docker.getContainer(id).inspect({ abortSignal }))
  if (found?.State.Running !== true) return undefined
  const stats = await engine.callUnless([404, 409], (docker, abortSignal) =>
    docker.getContainer(id).stats({ stream: false, 'one-shot': true, abortSignal } as { stream: false }),
  )
  if (stats === undefined) return undefined
  const { usage = 0, stats: parts } = stats.memory_stats
  const kept = parts as unknown as Record<string, number> | undefined
  // Page cache counts in `usage`, but the kernel can drop it at any time, so it is subtracted.
  const droppable = kept?.['total_inactive_file'] ?? kept?.['inactive_file'] ?? 0
  return {
    pids: stats.pids_stats?.current ?? 0,
    memoryBytes: Math.max(0, usage - droppable),
    oomKills: await oomKillsOf(found.State.Pid),
  }
}

const ROOT = '/sys/fs/cgroup'

/** OOM kills that the kernel counted for the control group of a process; 0 where this machine does not show them. */
async function oomKillsOf(pid: number): Promise<number> {
  try {
    const groups = (await readFile(`/proc/${pid}/cgroup`, 'latin1')).split('\n').map((line) => line.split(':'))
    const first = groups.find(([, controllers]) => controllers?.split(',').includes('memory'))
    const path =
      first === undefined
        ? join(ROOT, groups.find(([number]) => number === '0')?.[2] ?? '', 'memory.events')
        : join(ROOT, 'memory', first[2] ?? '', 'memory.oom_control')
    return Number(/^oom_kill (\d+)$/m.exec(await readFile(path, 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
