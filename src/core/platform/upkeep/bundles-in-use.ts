/** Which commits of bundles the instances of a home keep; {@link file://./upkeep.ts} asks before it removes copies. */
import { isTerminal } from '../../protocol/status.ts'
import { instanceIds, instancePaths } from '../../store/home.ts'
import { readStoryInTurns } from '../../store/journal-projection.ts'

/** An instance that has bundles and has not told their commits yet may use any of them. So may one whose journal can't be read. */
export async function bundlesInUse(home: string): Promise<(commit: string) => boolean> {
  const used = new Set<string>()
  let mayBeAny = false
  for (const id of instanceIds(home)) {
    const story = await readStoryInTurns(instancePaths(home, id).journal).catch(() => undefined)
    if (story === undefined) mayBeAny = true
    else if (!isTerminal(story.status)) {
      const { container, bundles = [] } = story.creation
      if (story.bundles === undefined && (container?.bundles ?? bundles).length > 0) mayBeAny = true
      for (const { commit } of story.bundles ?? []) used.add(commit)
    }
  }
  return (commit) => mayBeAny || used.has(commit)
}
