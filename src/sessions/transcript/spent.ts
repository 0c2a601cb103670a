/** What the sessions of an instance cost before this process, as their transcripts tell. {@link file://./../main.ts} reads it once. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { TRANSCRIPT_RESUME_MAX_BYTES } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { isSessionId, SESSIONS_DIR, TRANSCRIPT_FILE } from '../../core/protocol/session/session.ts'

/** `dir`: the path of `.resolve`. What can't be read counts nothing: its own session refuses it. */
export function spentBefore(dir: string): number {
  const place = join(dir, SESSIONS_DIR)
  return namesIn(place)
    .filter(isSessionId)
    .reduce((sum, id) => sum + spentIn(join(place, id, TRANSCRIPT_FILE)), 0)
}

function namesIn(place: string): string[] {
  try {
    return fs.readdirSync(place)
  } catch {
    return []
  }
}

function spentIn(path: string): number {
  return textOf(path)
    .split('\n')
    .filter((line) => line.includes('"cost_usd":'))
    .reduce((sum, line) => sum + costOf(line), 0)
}

/** A line of an agent repeats what the agent's own transcript has. */
function costOf(line: string): number {
  try {
    const value: unknown = JSON.parse(line)
    if (!isObject(value) || (value['type'] !== 'step' && value['type'] !== 'compaction')) return 0
    const cost = value['cost_usd']
    return typeof cost === 'number' && cost > 0 ? cost : 0
  } catch {
    return 0
  }
}

function textOf(path: string): string {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = fs.constants
  let fd: number
  try {
    fd = fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch {
    return ''
  }
  try {
    const stat = fs.fstatSync(fd)
    return stat.isFile() && stat.size <= TRANSCRIPT_RESUME_MAX_BYTES ? fs.readFileSync(fd, 'utf8') : ''
  } catch {
    return ''
  } finally {
    fs.closeSync(fd)
  }
}
