/** Reads that a damaged or hostile instance must not break for the others. */
import { ResolveError } from '../../errors.ts'
import { readInstanceState } from '../../host/ingest/instance-files.ts'
import type { InstanceRecord } from '../../protocol/instance.ts'
import type { InstancePaths } from '../../store/home.ts'
import { readRecord } from '../../store/record.ts'

/** A damaged instance must not hide the others from a list. */
export function readSoundRecord(paths: InstancePaths): InstanceRecord | undefined {
  try {
    return readRecord(paths)
  } catch {
    return undefined
  }
}

/** What a resolver planted in place of its state must not hide the record. */
export function readSoundState(paths: InstancePaths): Record<string, unknown> | null {
  try {
    return readInstanceState(paths)
  } catch (error) {
    if (error instanceof ResolveError) return null
    throw error
  }
}
