/** What an earlier process of a run told, so that a run that goes on does not tell its begin or its end twice (R58). */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../core/primitives/is-object.ts'
import { EVENTS_FILE } from '../../core/protocol/coordination.ts'

/** Its begin is among the first events of a run, its end among the last. */
const LOOK_BYTES = 64 * 1024

/** Whether an event of this type is in the first or last 64 KiB of the events of this instance. */
export function wasTold(resolveDir: string, type: string): boolean {
  let file: number
  try {
    file = openSync(join(resolveDir, EVENTS_FILE), 'r')
  } catch {
    return false
  }
  try {
    const { size } = fstatSync(file)
    const parts = [textAt(file, 0), ...(size <= LOOK_BYTES ? [] : [textAt(file, size - LOOK_BYTES)])]
    return parts.some((part) => part.split('\n').some((line) => isOfType(line, type)))
  } finally {
    closeSync(file)
  }
}

function textAt(file: number, from: number): string {
  const bytes = Buffer.alloc(LOOK_BYTES)
  return bytes.toString('utf8', 0, readSync(file, bytes, 0, LOOK_BYTES, from))
}

function isOfType(line: string, type: string): boolean {
  if (!line.includes(type)) return false
  try {
    const event: unknown = JSON.parse(line)
    return isObject(event) && event['event_type'] === type
  } catch {
    // A line that the part begins or ends within.
    return false
  }
}
