/** What the sessions of an instance used before this process, as their transcripts tell. {@link file://./../main.ts} reads it once. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { TRANSCRIPT_RESUME_MAX_BYTES } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import {
  isSessionId,
  SESSIONS_DIR,
  sessionUsage,
  TRANSCRIPT_FILE,
  tokensOf,
} from '../../core/protocol/session/session.ts'
import { fits } from '../../core/schema/fits.ts'

export interface Spent {
  usd: number
  tokens: number
}

/** `dir`: the path of `.resolve`. What can't be read counts nothing: its own session refuses it. */
export function spentBefore(dir: string): Spent {
  const place = join(dir, SESSIONS_DIR)
  return sumOf(
    namesIn(place)
      .filter(isSessionId)
      .map((id) => spentIn(join(place, id, TRANSCRIPT_FILE))),
  )
}

function sumOf(all: readonly Spent[]): Spent {
  return all.reduce((sum, { usd, tokens }) => ({ usd: sum.usd + usd, tokens: sum.tokens + tokens }), NOTHING)
}

const NOTHING: Spent = { usd: 0, tokens: 0 }

function namesIn(place: string): string[] {
  try {
    return fs.readdirSync(place)
  } catch {
    return []
  }
}

function spentIn(path: string): Spent {
  return sumOf(
    textOf(path)
      .split('\n')
      .filter((line) => line.includes('"cost_usd":'))
      .map(spentBy),
  )
}

/** A line of an agent repeats what the agent's own transcript has. */
function spentBy(line: string): Spent {
  try {
    const value: unknown = JSON.parse(line)
    if (!isObject(value) || (value['type'] !== 'step' && value['type'] !== 'compaction')) return NOTHING
    const { cost_usd: cost, usage } = value
    return {
      usd: typeof cost === 'number' && cost > 0 ? cost : 0,
      tokens: fits(sessionUsage, usage) ? tokensOf(usage) : 0,
    }
  } catch {
    return NOTHING
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
