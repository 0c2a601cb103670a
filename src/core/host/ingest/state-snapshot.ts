/** Reads the state snapshot of a resolver (spec, State snapshot; R13). The host and the platform call it. */
import { COORDINATION_FILE_MAX_BYTES, JSON_MAX_DEPTH } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { isWithinDepth } from '../../primitives/json-depth.ts'
import { STATE_FILE } from '../../protocol/coordination.ts'
import type { CoordinationDirectory } from '../../worker/worker.ts'

/**
 * The state snapshot; null where there is none, where it is not an object, and where it nests too deep (R16). Throws
 * `coordination_tampered`.
 */
export function readState(coordination: CoordinationDirectory): Record<string, unknown> | null {
  const bytes = coordination.read(STATE_FILE, COORDINATION_FILE_MAX_BYTES)
  if (bytes === undefined) return null
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isObject(value) && isWithinDepth(value, JSON_MAX_DEPTH) ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}
