/**
 * I7 of what was accepted: an answer or a message stands in a private line of the journal once, before the event that tells of it, and
 * lies before the resolver as it was accepted. Private lines are read here on their own, without the product's reader.
 */
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Left, type Report, readJson } from './invariants.ts'

/** A private line of a journal. */
export interface PrivateNote {
  kind: string
  body: Record<string, unknown>
  /** How many lines with a number stand before it. */
  after: number
}

const KINDS = [
  'answer',
  'message',
  'stop',
  'delivered',
  'run',
  'sandbox',
  'name',
  'labels',
  'imported',
  'admitted',
  'unchecked_input',
  'sealed_input',
]
/** What may be noted of an instance that has ended. */
const LATE = ['name', 'labels', 'imported']

/** One private line; undefined where it is none. */
export function parseNote(line: string, after: number): PrivateNote | undefined {
  const [mark, kind = '', ...rest] = line.split('\t')
  if (mark !== 'p' || !KINDS.includes(kind)) return undefined
  try {
    const body: unknown = JSON.parse(rest.join('\t'))
    const isRecord = typeof body === 'object' && body !== null && !Array.isArray(body)
    return isRecord ? { kind, body: body as Record<string, unknown>, after } : undefined
  } catch {
    return undefined
  }
}

export function checkPrivate({ paths, lines, notes, hasEnded, endsAt }: Left, report: Report): void {
  const of = (kind: string) => notes.filter((note) => note.kind === kind)
  /** What was taken over from the layout of an earlier version stands before this one, and behind what tells of it. */
  const imported = notes.findLastIndex(({ kind }) => kind === 'imported')
  const isImported = imported !== -1
  const isLate = (note: PrivateNote, seq: number) => note.after > seq && notes.indexOf(note) > imported
  const compare = (what: string, expected: unknown, file: string) => {
    const found = readJson(join(paths.project, '.resolve', file))
    if (found === undefined && !hasEnded) return
    if (!isDeepStrictEqual(found, expected)) report('I7', `${file} is not ${what}`)
  }
  const answers = new Map(of('answer').map((note) => [note.body['request_id'], note]))
  const messages = new Map(of('message').map((note) => [note.body['number'], note]))
  if (answers.size < of('answer').length) report('I7', 'a request has two answers that were accepted')
  if (messages.size < of('message').length) report('I7', 'two messages that were accepted have one number')
  let told = 0
  for (const { seq, event } of lines) {
    const { request_id: rid, number } = event.data
    if (event.event_type === 'platform.input.answered') {
      const note = answers.get(rid)
      if (note === undefined || isLate(note, seq))
        report('I7', `line ${seq} answers ${String(rid)}, and no answer stands before it`)
      else compare('the answer that was accepted', note.body['payload'], `input-requests/${String(rid)}.response.json`)
    }
    if (event.event_type !== 'platform.message.accepted') continue
    told += 1
    if (number !== told) report('I7', `line ${seq} has message ${String(number)} where ${told} is next`)
    const note = messages.get(number)
    if (note === undefined || isLate(note, seq))
      report('I7', `line ${seq} has message ${String(number)}, and none stands before it`)
    else {
      const { message_type, payload } = note.body
      compare(
        'the message that was accepted',
        { number, message_type, payload },
        `messages/${String(number).padStart(3, '0')}.json`,
      )
    }
  }
  const isTold = (rid: unknown) =>
    lines.some(({ event }) => event.event_type === 'platform.input.answered' && event.data['request_id'] === rid)
  for (const rid of answers.keys()) {
    if (!isImported && !isTold(rid)) report('I7', `an answer to ${String(rid)} was accepted, and no event tells of it`)
  }
  if (!isImported && messages.size !== told)
    report('I7', `${messages.size} messages were accepted, ${told} are told of`)
  checkMarks(notes, answers, messages, report)
  for (const note of notes) {
    if (endsAt === undefined || LATE.includes(note.kind) || !isLate(note, endsAt)) continue
    report('I5', `a private line (${note.kind}) comes after the end`)
  }
}

/** What is marked as taken was accepted before, and is marked once. */
function checkMarks(
  notes: readonly PrivateNote[],
  answers: ReadonlyMap<unknown, PrivateNote>,
  messages: ReadonlyMap<unknown, PrivateNote>,
  report: Report,
): void {
  const taken = new Set<PrivateNote>()
  for (const note of notes.filter(({ kind }) => kind === 'delivered')) {
    const { request_id: rid, number } = note.body
    const accepted = number === undefined ? answers.get(rid) : messages.get(number)
    const what = number === undefined ? `the answer to ${String(rid)}` : `message ${String(number)}`
    if (accepted === undefined || notes.indexOf(accepted) > notes.indexOf(note)) {
      report('I7', `${what} is marked as taken, and was not accepted before`)
    } else if (taken.has(accepted)) report('I7', `${what} is marked as taken twice`)
    else taken.add(accepted)
  }
}
