/** Reads that tolerate a damaged or hostile instance, for lists and records. */
import { ResolveError } from '../../errors.ts'
import { readSnapshot } from '../../host/ingest/instance-files.ts'
import type { InstanceRecord } from '../../protocol/instance.ts'
import type { InstancePaths } from '../../store/home.ts'
import { readRecordInTurns } from '../../store/record.ts'

/** Undefined for a damaged instance, so that a list still shows the others. */
export async function readSoundRecord(paths: InstancePaths): Promise<InstanceRecord | undefined> {
  try {
    return await readRecordInTurns(paths)
  } catch {
    return undefined
  }
}

/** Null where a resolver put something else in place of its state, so that the record is still returned. */
export function readSoundState(paths: InstancePaths): Record<string, unknown> | null {
  return readSoundSnapshot(paths)?.state ?? null
}

/** As {@link readSoundState}, with the time at which it was saved. */
export function readSoundSnapshot(paths: InstancePaths): ReturnType<typeof readSnapshot> {
  try {
    return readSnapshot(paths)
  } catch (error) {
    if (error instanceof ResolveError) return undefined
    throw error
  }
}
