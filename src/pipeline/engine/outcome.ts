/** What a node ended with, and how it is read from what an agent wrote (docs/pipelines.md, Outcomes). */

export const STATUSES = ['success', 'partial_success', 'fail', 'retry', 'skipped'] as const

export type Status = (typeof STATUSES)[number]

export interface Outcome {
  status: Status
  preferred_label?: string
  suggested_next_ids?: string[]
  context_updates?: Record<string, unknown>
  notes?: string
  failure_reason?: string
  /** What it wrote, for a fan-in and for nodes that get the outputs of those before; `last_response` is its beginning. */
  output?: string
  /** It was `retry` until its retries were used up: edges with `outcome=retry` lead on. */
  is_exhausted?: boolean
  /** How often the node was tried; absent for once. */
  attempts?: number
  /** The session that it shares with other nodes, and how many prompts that one has answered. */
  thread?: { name: string; turns: number }
}

export function isGood(status: Status | undefined): boolean {
  return status === 'success' || status === 'partial_success'
}

/** Of a record whose keys are ids of nodes: one may be called `constructor`. */
export function ownOf<T>(record: Readonly<Record<string, T>>, id: string): T | undefined {
  return Object.hasOwn(record, id) ? record[id] : undefined
}

export function failed(reason: string): Outcome {
  return { status: 'fail', failure_reason: reason }
}

export interface Said {
  /** The text of `status.json`, where the agent wrote one in this execution. */
  statusFile: string | undefined
  reply: string
  /** Whether text without a verdict leaves it open, as on a goal gate. */
  needsVerdict: boolean
}

const NOTES_MAX_CHARS = 10_000
const NEXT_MAX = 100

/** The strongest word counts: the file, then an object in the reply, then that the agent ended at all. */
export function outcomeOf({ statusFile, reply, needsVerdict }: Said): Outcome {
  if (statusFile !== undefined) {
    return verdictIn(objectOf(statusFile)) ?? failed('status.json is malformed: it is an object with "outcome".')
  }
  const verdict = objectsIn(reply)
    .map(verdictIn)
    .findLast((one) => one !== undefined)
  if (verdict !== undefined) return verdict
  if (!needsVerdict) return { status: 'success' }
  return { status: 'retry', failure_reason: 'The agent gave no verdict, which a goal gate needs.' }
}

const STATUS_NAMES: Readonly<Record<string, Status>> = {
  succeeded: 'success',
  failed: 'fail',
  failure: 'fail',
  error: 'fail',
  partially_succeeded: 'partial_success',
}

/** A word that is no status is a label: graphs route on `outcome=approve`. Undefined: it says nothing of an outcome. */
function verdictIn(value: unknown): Outcome | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const given = value as Record<string, unknown>
  if (isTooDeep(given)) return undefined
  const word = given['outcome'] ?? given['status']
  if (typeof word !== 'string' || word.trim() === '') return undefined
  const name = word.trim()
  const lower = name.toLowerCase()
  const known = (STATUSES as readonly string[]).includes(lower) ? (lower as Status) : STATUS_NAMES[lower]
  const outcome: Outcome = { status: known ?? 'success' }
  const label = given['preferred_label']
  if (typeof label === 'string' && label !== '') outcome.preferred_label = label
  else if (known === undefined) outcome.preferred_label = name
  const next = given['suggested_next_ids']
  if (Array.isArray(next)) {
    const ids = next.filter((id) => typeof id === 'string').slice(0, NEXT_MAX)
    if (ids.length > 0) outcome.suggested_next_ids = ids
  }
  const updates = given['context_updates']
  if (typeof updates === 'object' && updates !== null && !Array.isArray(updates))
    outcome.context_updates = { ...updates } as Record<string, unknown>
  const notes = given['notes']
  if (typeof notes === 'string' && notes !== '') outcome.notes = notes.slice(0, NOTES_MAX_CHARS)
  const reason = given['failure_reason']
  if (outcome.status === 'fail')
    outcome.failure_reason =
      typeof reason === 'string' && reason !== ''
        ? reason.slice(0, NOTES_MAX_CHARS)
        : (outcome.notes ?? 'The agent says that it failed.')
  return outcome
}

const LEVELS_MAX = 64

/** Values come into the context, which is written as JSON: that of thousands of levels has no text. */
export function isTooDeep(value: unknown, levels = LEVELS_MAX): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((one) => isTooDeep(one, levels - 1))
}

function objectOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The whole text, each fenced block, and the last object in braces. */
function objectsIn(text: string): unknown[] {
  const last = lastObject(text)
  return [...fencedIn(text), ...(last === undefined ? [] : [last]), text.trim()].map(objectOf)
}

/** Line by line: a pattern over several lines takes time by the cube of their count. */
function fencedIn(text: string): string[] {
  const found: string[] = []
  let inside: string[] | undefined
  for (const line of text.split('\n')) {
    if (inside === undefined) {
      if (/```(?:json)?\s*$/.test(line)) inside = []
    } else if (line.trimStart().startsWith('```')) {
      if (inside.length > 0) found.push(inside.join('\n'))
      inside = undefined
    } else inside.push(line)
  }
  return found
}

/** The last `{…}` whose braces are balanced, seen from its end. */
function lastObject(text: string): string | undefined {
  const end = text.lastIndexOf('}')
  if (end === -1) return undefined
  let depth = 0
  for (let at = end; at >= 0; at -= 1) {
    if (text[at] === '}') depth += 1
    if (text[at] === '{') depth -= 1
    if (depth === 0) return text.slice(at, end + 1)
  }
  return undefined
}
