/**
 * Reads the files that an earlier version kept beside the journal: `mailbox/` with accepted answers, messages, a stop and
 * marks, and `name.json`. {@link file://./journal-projection.ts} reads them for instances that still have them; the next host
 * of such an instance writes them into the journal.
 */
import { closeSync, constants, existsSync, fstatSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { INPUT_MAX_BYTES } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import type { AnswerIntent, MessageIntent, PrivateLine, StopIntent } from '../protocol/journal.ts'
import type { Place } from './journal-line.ts'

export interface FoundLine {
  line: PrivateLine
  /** The file that holds the payload of an answer or a message. */
  place: Place
}

const SENT = '.sent.json'
/** A payload of full size with the fields around it. */
const FILE_MAX_BYTES = 2 * INPUT_MAX_BYTES

/** Whether this instance's directory has files of that layout. */
export function hasMailboxLayout(root: string): boolean {
  return existsSync(mailboxIn(root)) || existsSync(nameIn(root))
}

/** All of them as private lines, in the order of acceptance. An unreadable file is left out. */
export function readMailboxLayout(root: string): FoundLine[] {
  const sent: FoundLine[] = []
  const marks: FoundLine[] = []
  for (const name of namesIn(mailboxIn(root))) {
    const path = join(mailboxIn(root), name)
    const found = (line: PrivateLine, bytes = 0): FoundLine => ({ line, place: { path, offset: 0, bytes } })
    const run = /^run-(\d+)\.sent\.json$/.exec(name)
    if (run !== null) marks.push(found({ kind: 'run', incarnation: Number(run[1]) }))
    else if (name === `sandbox${SENT}`) marks.push(found({ kind: 'sandbox' }))
    else if (/^(answer|message|stop)/.test(name) && name.endsWith('.json')) {
      const { value, bytes } = readJson(path) ?? {}
      const line = value as AnswerIntent | MessageIntent | StopIntent | undefined
      if (line?.kind === 'stop') marks.push(found(line))
      if (line?.kind !== 'answer' && line?.kind !== 'message') continue
      sent.push(found(line, bytes))
      if (name.endsWith(SENT)) marks.push(found(deliveredOf(line)))
    }
  }
  const renamed = readJson(nameIn(root))?.value
  if (typeof renamed?.['name'] === 'string' || renamed?.['name'] === null) {
    const place = { path: nameIn(root), offset: 0, bytes: 0 }
    marks.push({ line: { kind: 'name', name: renamed['name'], at: '' }, place })
  }
  return [...sent.sort(byTime), ...marks]
}

/** Removes the files after they were written into the journal. */
export function removeMailboxLayout(root: string): void {
  rmSync(mailboxIn(root), { recursive: true, force: true })
  rmSync(nameIn(root), { force: true })
}

function deliveredOf(line: AnswerIntent | MessageIntent): PrivateLine {
  return line.kind === 'answer'
    ? { kind: 'delivered', request_id: line.request_id }
    : { kind: 'delivered', number: line.number }
}

function byTime({ line: a }: FoundLine, { line: b }: FoundLine): number {
  const [one, other] = [a, b] as [AnswerIntent | MessageIntent, AnswerIntent | MessageIntent]
  if (one.at !== other.at) return one.at < other.at ? -1 : 1
  return numberOf(one) - numberOf(other)
}

function numberOf(line: AnswerIntent | MessageIntent): number {
  return line.kind === 'message' ? line.number : 0
}

function mailboxIn(root: string): string {
  return join(root, 'mailbox')
}

function nameIn(root: string): string {
  return join(root, 'name.json')
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** A JSON object in a regular file. A link is not followed, and a FIFO must not block the process. */
function readJson(path: string): { value: Record<string, unknown>; bytes: number } | undefined {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = fstatSync(fd)
      if (!stat.isFile() || stat.size > FILE_MAX_BYTES) return undefined
      const content = readFileSync(fd)
      const value: unknown = JSON.parse(content.toString('utf8'))
      return isObject(value) ? { value, bytes: content.length } : undefined
    } finally {
      closeSync(fd)
    }
  } catch {
    return undefined
  }
}
