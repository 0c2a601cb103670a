/** Makes names in a directory durable for many callers with few syncs: the group commit of {@link file://./../store/create-instance.ts}. */
import { syncDirectory } from './write-whole.ts'

interface Line {
  running: Promise<void>
  /** The sync after the running one; it covers all that came meanwhile. */
  next: Promise<void> | undefined
}

const lines = new Map<string, Line>()

/** Resolves after a sync of the directory that began after this call. Throws what the sync throws. */
export function syncDirectoryTogether(path: string): Promise<void> {
  const line = lines.get(path)
  if (line === undefined) return start(path)
  // A sync that is running may have passed over what was done a moment ago.
  line.next ??= line.running.then(
    () => start(path),
    () => start(path),
  )
  return line.next
}

function start(path: string): Promise<void> {
  const running = syncDirectory(path)
  const line: Line = { running, next: undefined }
  lines.set(path, line)
  const end = () => {
    if (lines.get(path) === line && line.next === undefined) lines.delete(path)
  }
  running.then(end, end)
  return running
}
