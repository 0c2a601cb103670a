/** Removes copies of upstream repositories that no instance used for a while; `resolve git prune` calls it. */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesBelow } from '../files/disk-usage.ts'
import { tryLock } from '../files/lock.ts'
import { removeTree } from '../files/remove-tree.ts'
import { DISK_SAMPLE_MAX_ENTRIES } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { cacheDirectory } from './repo-cache.ts'

export interface PrunedCache {
  kind: 'repository' | 'bundle'
  /** The address of the upstream; null where it is not known. */
  url: string | null
  /** Of a bundle: a copy for each commit. */
  commit?: string
  bytes: number
  /** When an instance used it last, ISO-8601. */
  used_at: string
}

export interface CachePruneOutcome {
  dry_run: boolean
  removed: PrunedCache[]
  /** How many stay, because they were used since or are used now. */
  kept: number
}

const REMOVING = '.removing-'

/** A cache is renamed before it is deleted: a killed prune leaves either the whole of it or a leftover for the next one. */
export async function pruneCaches(
  home: string,
  { olderThanMs, dryRun }: { olderThanMs: number; dryRun: boolean },
): Promise<CachePruneOutcome> {
  const directory = cacheDirectory(home)
  const names = await readdir(directory).catch(() => [])
  if (!dryRun) for (const name of names) if (name.startsWith(REMOVING)) await removeTree(join(directory, name))
  const outcome: CachePruneOutcome = { dry_run: dryRun, removed: [], kept: 0 }
  for (const name of names) {
    const [, key] = /^([0-9a-f]{32})\.git$/.exec(name) ?? []
    if (key === undefined) continue
    const removed = await prune(directory, key, olderThanMs, dryRun)
    if (removed === undefined) outcome.kept += 1
    else outcome.removed.push(removed)
  }
  return outcome
}

async function prune(
  directory: string,
  key: string,
  olderThanMs: number,
  dryRun: boolean,
): Promise<PrunedCache | undefined> {
  const release = await tryLock(join(directory, `${key}.lock`))
  if (release === undefined) return undefined
  try {
    const path = join(directory, `${key}.git`)
    const { url, usedMs } = await lastUse(directory, key)
    if (Date.now() - usedMs < olderThanMs) return undefined
    const bytes = await bytesBelow(path, DISK_SAMPLE_MAX_ENTRIES)
    if (!dryRun) {
      const aside = join(directory, `${REMOVING}${key}-${randomBytes(4).toString('hex')}`)
      await rename(path, aside)
      await rm(join(directory, `${key}.json`), { force: true })
      await removeTree(aside)
      await removeTree(`${path}.new`)
    }
    return { kind: 'repository', url, bytes, used_at: new Date(usedMs).toISOString() }
  } finally {
    await release()
  }
}

async function lastUse(directory: string, key: string): Promise<{ url: string | null; usedMs: number }> {
  try {
    const note: unknown = JSON.parse(await readFile(join(directory, `${key}.json`), 'utf8'))
    const [url, at] = isObject(note) ? [note['url'], Date.parse(String(note['fetched_at']))] : []
    if (typeof url === 'string' && Number.isFinite(at)) return { url, usedMs: at as number }
  } catch {
    // A killed host wrote none.
  }
  const found = await stat(join(directory, `${key}.git`))
  return { url: null, usedMs: found.mtimeMs }
}
