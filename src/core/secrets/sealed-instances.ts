/** Finds out whether an instance of a home still needs the key that its values are sealed with: {@link file://./key-file.ts} asks before it makes another. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../primitives/is-object.ts'
import { isStatus, isTerminal } from '../protocol/status.ts'

/** The list of secret texts, in the directory of an instance ({@link file://./sealed-texts.ts}). */
export const SEALED_TEXTS_FILE = 'sealed'

/** An instance that has not ended, or is paused: its next host opens what its journal holds sealed. */
export function needsSealedValues(home: string): boolean {
  const instances = join(home, 'instances')
  return namesIn(instances).some((id) => {
    const root = join(instances, id)
    return existsSync(join(root, SEALED_TEXTS_FILE)) && !hasEnded(root)
  })
}

/** By the cached record. Where it is missing, damaged or out of date, the instance is taken as a live one. */
function hasEnded(root: string): boolean {
  try {
    const cached: unknown = JSON.parse(readFileSync(join(root, 'record.json'), 'utf8'))
    const record = isObject(cached) ? cached['record'] : undefined
    const status = isObject(record) ? record['status'] : undefined
    return isStatus(status) && isTerminal(status)
  } catch {
    return false
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    // Before the first instance there is no directory.
    return []
  }
}
