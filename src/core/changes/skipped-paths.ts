/** Reads a list of paths that a snapshot left out: from the message of a snapshot, and from the container that read the tree. Pure. */
import { SNAPSHOT_SKIPPED_MAX } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { SKIP_REASONS, type SkippedPath } from '../protocol/changes.ts'
import { cleanLine } from '../view/clean.ts'

/** How many there are in all: at least those that are named. */
export function parseSkippedTotal(value: unknown, named: number): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > named ? value : named
}

/** What is malformed is left out. */
export function parseSkipped(value: unknown): SkippedPath[] {
  if (!Array.isArray(value)) return []
  const all = value.slice(0, SNAPSHOT_SKIPPED_MAX).flatMap((one: unknown) => {
    if (!isObject(one) || typeof one['path'] !== 'string') return []
    const reason = SKIP_REASONS.find((known) => known === one['reason'])
    return reason === undefined ? [] : [{ path: cleanLine(one['path']).slice(0, 500), reason }]
  })
  return all
}
