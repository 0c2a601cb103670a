/** Removes copies of bundles that no instance used for a while; `resolve git prune` calls it. */
import { randomBytes } from 'node:crypto'
import { readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesBelow } from '../../files/disk-usage.ts'
import { tryLock } from '../../files/lock.ts'
import { removeTree } from '../../files/remove-tree.ts'
import { DISK_SAMPLE_MAX_ENTRIES } from '../../limits.ts'
import { bundlesDirectory, COMMIT, NOTE, readNote } from './bundle-cache.ts'

export interface PrunedBundle {
  kind: 'bundle'
  /** The address of the repository; null where it is not known. */
  url: string | null
  commit: string
  bytes: number
  /** When an instance used it last, ISO-8601; of an older commit when it was fetched. */
  used_at: string
}

export interface BundlePrune {
  olderThanMs: number
  dryRun: boolean
  /** Commits of instances that have not ended: they keep them when they are resumed. Called where there is something to remove. */
  inUse: () => Promise<(commit: string) => boolean>
}

const REMOVING = '.removing-'

/** A tree is renamed before it is deleted: a killed prune leaves either the whole of it or a leftover for the next one. */
export async function pruneBundles(
  home: string,
  options: BundlePrune,
): Promise<{ removed: PrunedBundle[]; kept: number }> {
  const directory = bundlesDirectory(home)
  const outcome: { removed: PrunedBundle[]; kept: number } = { removed: [], kept: 0 }
  let used: ((commit: string) => boolean) | undefined
  const isUsed = async (commit: string) => {
    used ??= await options.inUse()
    return used(commit)
  }
  for (const key of await readdir(directory).catch(() => []))
    if (/^[0-9a-f]{32}$/.test(key)) await pruneOne(join(directory, key), options, isUsed, outcome)
  return outcome
}

async function pruneOne(
  directory: string,
  { olderThanMs, dryRun }: BundlePrune,
  isUsed: (commit: string) => Promise<boolean>,
  outcome: { removed: PrunedBundle[]; kept: number },
): Promise<void> {
  const release = await tryLock(`${directory}.lock`)
  const names = await readdir(directory).catch(() => [])
  const trees = names.filter((name) => COMMIT.test(name))
  if (release === undefined) {
    outcome.kept += trees.length
    return
  }
  try {
    if (!dryRun) for (const name of names) if (name.startsWith(REMOVING)) await removeTree(join(directory, name))
    const note = await readNote(directory)
    let left = 0
    for (const commit of trees) {
      const path = join(directory, commit)
      const usedMs = note?.commit === commit ? note.usedMs : (await stat(path)).mtimeMs
      if (Date.now() - usedMs < olderThanMs || (await isUsed(commit))) {
        left += 1
        continue
      }
      const bytes = await bytesBelow(path, DISK_SAMPLE_MAX_ENTRIES)
      if (!dryRun) {
        const aside = join(directory, `${REMOVING}${randomBytes(4).toString('hex')}`)
        await rename(path, aside)
        await removeTree(aside)
      }
      const used_at = new Date(usedMs).toISOString()
      outcome.removed.push({ kind: 'bundle', url: note?.url ?? null, commit, bytes, used_at })
    }
    outcome.kept += left
    if (dryRun || left > 0) return
    await rm(join(directory, NOTE), { force: true })
    // What a killed fetch left stays for the next fetch.
    await rmdir(directory).catch(() => {})
  } finally {
    await release()
  }
}
