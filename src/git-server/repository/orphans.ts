/**
 * Ends the git processes that a killed server left, before the sweep: one that still writes would lose what the sweep removes. In a
 * container there are none, because they ended with it.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 10
const LIMIT_MS = 5_000

/** Every git process with its working directory below `root`, which only this server and its predecessors start there. */
export async function endOrphans(root: string): Promise<void> {
  const deadline = Date.now() + LIMIT_MS
  for (let left = orphansBelow(root); left.length > 0 && Date.now() < deadline; left = orphansBelow(root)) {
    for (const pid of left) kill(pid)
    await sleep(LOOK_MS)
  }
}

/** None on a system without /proc. */
function orphansBelow(root: string): number[] {
  const names = attempt(() => readdirSync('/proc')) ?? []
  return names.flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const directory = attempt(() => readlinkSync(`/proc/${name}/cwd`)) ?? ''
    if (!directory.startsWith(`${root}/`)) return []
    return (attempt(() => readFileSync(`/proc/${name}/comm`, 'utf8')) ?? '').startsWith('git') ? [Number(name)] : []
  })
}

function kill(pid: number): void {
  attempt(() => process.kill(pid, 'SIGKILL'))
}

/** A process may end while it is looked at. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
