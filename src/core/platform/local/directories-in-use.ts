/** Which directories of resolvers unfinished instances need: for {@link file://./local.ts}, before it removes files of uploads. */
import { isTerminal } from '../../protocol/status.ts'
import { instancePaths } from '../../store/home.ts'
import type { InstanceIndex } from '../../store/instance-index.ts'
import { readCreationRecord } from '../../store/journal-reader.ts'

/** Undefined where an instance cannot be read: it may need any of them. */
export async function directoriesInUse(home: string, index: InstanceIndex): Promise<ReadonlySet<string> | undefined> {
  const directories = new Set<string>()
  for (const id of index.ids()) {
    try {
      if (isTerminal(index.read(id).status)) continue
      directories.add(readCreationRecord(instancePaths(home, id).journal).resolver.dir)
    } catch {
      return undefined
    }
  }
  return directories
}
