/**
 * Removes the directories of ended instances, and leftovers of earlier removals and creations; `resolve instance prune` and
 * doctor call it.
 */
import { randomBytes } from 'node:crypto'
import { lstat, readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode } from '../../errors.ts'
import { removeTree } from '../../files/remove-tree.ts'
import { hasHost } from '../../host/process/reach.ts'
import { DRAFT_STALE_MS } from '../../limits.ts'
import { unpromotedIn } from '../../promotion/unpromoted.ts'
import { isTerminal } from '../../protocol/status.ts'
import { instanceIds, instancePaths, instancesDirectory } from '../../store/home.ts'
import { readStoryInTurns } from '../../store/journal-projection.ts'
import type { Story } from '../../view/story.ts'
import type { Pruned, PruneOptions, PruneOutcome } from '../platform.ts'

const REMOVING = '.removing-'
const DRAFT = '.new-'

/**
 * An instance is first renamed to a name that no list reads, and then deleted. A killed prune therefore leaves either the whole
 * instance or a leftover for the next one. A live or paused instance is never removed, whatever `status` says.
 */
export async function pruneInstances(home: string, options: PruneOptions): Promise<PruneOutcome> {
  const dryRun = options.dry_run ?? false
  const removed: Pruned[] = []
  for (const id of instanceIds(home)) {
    if (options.instances?.includes(id) === false) continue
    const story = await readFinished(home, id, options)
    // Its host may not have closed its files yet, although the end is already journaled.
    if (story === undefined || (await hasHost(home, id))) continue
    const { root, git } = instancePaths(home, id)
    const unpromoted = await unpromotedIn(git, story.repos ?? [])
    if (unpromoted.length > 0 && options.keep_unpromoted === true) continue
    const bytes = await bytesBelow(root)
    if (!dryRun && !(await removeWhole(root, join(instancesDirectory(home), removingName(id))))) continue
    const { resolver, name } = story.creation
    removed.push({
      ...{
        instance_id: id,
        name,
        resolver: resolver.name,
        status: story.status,
      },
      ...{ ended_at: story.endedAt ?? story.lastEventAt, bytes },
      ...(unpromoted.length === 0 ? {} : { unpromoted }),
    })
  }
  return { dry_run: dryRun, removed, leftovers: await removeLeftovers(home, dryRun) }
}

/** Leftovers of killed removals and creations in the directory of instances. */
export async function leftoversIn(home: string): Promise<string[]> {
  const directory = instancesDirectory(home)
  const found: string[] = []
  for (const name of await readdir(directory).catch(() => [])) {
    const path = join(directory, name)
    if (name.startsWith(REMOVING)) found.push(path)
    if (name.startsWith(DRAFT) && (await ageOf(path)) > DRAFT_STALE_MS) found.push(path)
  }
  return found
}

/** Removes them, or only counts them. */
export async function removeLeftovers(home: string, dryRun: boolean): Promise<{ count: number; bytes: number }> {
  const total = { count: 0, bytes: 0 }
  for (const path of await leftoversIn(home)) {
    const bytes = await bytesBelow(path)
    if (!dryRun && !(await removeTree(path))) continue
    total.count += 1
    total.bytes += bytes
  }
  return total
}

/** The status from the journal, not from the derived record; undefined for an instance that stays. */
async function readFinished(
  home: string,
  id: string,
  { older_than_ms, status }: PruneOptions,
): Promise<Story | undefined> {
  let story: Story
  try {
    story = await readStoryInTurns(instancePaths(home, id).journal)
  } catch {
    // An unreadable journal does not show that the instance has ended; doctor reports it.
    return undefined
  }
  if (!isTerminal(story.status) || (status !== undefined && !status.includes(story.status))) return undefined
  const endedAt = Date.parse(story.endedAt ?? story.lastEventAt)
  return Date.now() - endedAt >= older_than_ms ? story : undefined
}

function removingName(id: string): string {
  return `${REMOVING}${id}-${randomBytes(4).toString('hex')}`
}

/** False where another prune was first, or something may not be removed; the rest is then a leftover. */
async function removeWhole(path: string, aside: string): Promise<boolean> {
  try {
    await rename(path, aside)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
  return await removeTree(aside)
}

async function bytesBelow(path: string): Promise<number> {
  try {
    const found = await lstat(path)
    if (!found.isDirectory()) return found.size
    let bytes = 0
    for (const name of await readdir(path)) bytes += await bytesBelow(join(path, name))
    return bytes
  } catch {
    return 0
  }
}

async function ageOf(path: string): Promise<number> {
  try {
    return Date.now() - (await lstat(path)).mtimeMs
  } catch {
    return 0
  }
}
