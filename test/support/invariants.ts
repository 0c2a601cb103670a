/**
 * The one checker of I1 to I13: what must hold of an instance after any run, however it went (reliability, Invariants). It looks at the files that were
 * left behind and, where a test recorded them, at what readers and callers were sent, at the process table, at canaries and at what the
 * host used. A test that has run instances ends with {@link soundInstance}.
 */
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { EventEnvelope } from '../../src/core/protocol/event.ts'
import type { CreationRecord } from '../../src/core/protocol/journal.ts'
import { canMove, isTerminal, type Status } from '../../src/core/protocol/status.ts'
import { Redactor } from '../../src/core/redaction/redact.ts'
import { type InstancePaths, instancePaths } from '../../src/core/store/home.ts'
import { type Canaries, checkCanaries } from './invariants-canaries.ts'
import { checkEnd, checkReplay } from './invariants-ends.ts'
import { checkForms } from './invariants-forms.ts'
import { checkHostUse, type HostUse } from './invariants-host.ts'
import { checkExchanges, type Exchange } from './invariants-http.ts'
import { checkPrivate, type PrivateNote, parseNote } from './invariants-private.ts'
import { checkHoldings, type Holdings } from './invariants-processes.ts'
import { checkStreams, type StreamHistory } from './invariants-streams.ts'
import { belongsInJournal, isInstant } from './line-judge.ts'

export interface Violation {
  /** Their ids (reliability, Invariants). */
  id: `I${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13}`
  what: string
}

export interface Run {
  home: string
  id: string
  /** What each reader was sent, connection by connection. */
  streams?: readonly StreamHistory[]
  /** What each caller sent and was answered, of this instance or of the API at large. */
  answers?: readonly Exchange[]
  /** What its worker was told: a line that holds one stands in the journal redacted (docs/decisions/0010-secrets.md). */
  secrets?: readonly string[]
  /** What it held of the machine, and what others hold there. */
  holdings?: Holdings
  /** Files and texts that must stay unread and unchanged. */
  canaries?: Canaries
  /** What the process that hosted it used meanwhile. */
  host?: HostUse
}

/** A line of the journal, with the envelope read. */
export interface KeptLine {
  seq: number
  sourceEnd: number | null
  text: string
  event: EventEnvelope
}

/** An instance as it stands on disk. */
export interface Left {
  paths: InstancePaths
  creation: CreationRecord
  lines: KeptLine[]
  /** Its private lines, in order. */
  notes: PrivateNote[]
  hasEnded: boolean
  /** The number of the move into a final status. */
  endsAt: number | undefined
}

export type Report = (id: Violation['id'], what: string) => void

/** Everything that does not hold; nothing for a sound run. */
export function checkInvariants(run: Run): Violation[] {
  const { home, id, streams = [], answers = [], secrets = [], holdings, canaries, host } = run
  const violations: Violation[] = []
  const report: Report = (invariant, what) => void violations.push({ id: invariant, what })
  const left = readLeft(instancePaths(home, id), report)
  if (left === undefined) return violations
  checkSource(left, report, new Redactor(secrets))
  checkMoves(left, report)
  checkCauses(left, report)
  checkPrivate(left, report)
  checkStreams(left, streams, report)
  checkExchanges(home, left, answers, report)
  checkForms(left, answers, report)
  checkEnd(left, answers, report)
  checkReplay(left, answers, report)
  if (holdings !== undefined) checkHoldings(left, holdings, report)
  if (canaries !== undefined) checkCanaries(canaries, report)
  if (host !== undefined) checkHostUse(host, report)
  return violations
}

/** For the end of a test. */
export function soundInstance(home: string, id: string, recorded: Omit<Run, 'home' | 'id'> = {}): void {
  expect(checkInvariants({ home, id, ...recorded })).toEqual([])
}

/** I2: numbers from 0 without gaps; between them only private lines, and none before line 0. */
function readLeft(paths: InstancePaths, report: Report): Left | undefined {
  const all = readFileSync(paths.journal, 'utf8').split('\n')
  const torn = all.pop()
  const texts: string[] = []
  const notes: PrivateNote[] = []
  for (const text of all) {
    const note = texts.length > 0 ? parseNote(text, texts.length) : undefined
    if (note === undefined) texts.push(text)
    else notes.push(note)
  }
  const parsed = texts.map((text) => /^(\d+)\t(-|\d+)\t([ \t]*\{.*\}[ \t]*)$/s.exec(text))
  for (const [index, line] of parsed.entries()) {
    if (line !== null && line[1] === String(index)) continue
    report('I2', `line ${index} of the journal begins with "${texts[index]?.slice(0, 30)}"`)
    return undefined
  }
  const [creation, ...rest] = parsed.map((line) => JSON.parse(line?.[3] as string) as unknown)
  const lines = rest.map((event, index) => {
    const [, seq, sourceEnd, text] = parsed[index + 1] as unknown as [string, string, string, string]
    return {
      seq: Number(seq),
      sourceEnd: sourceEnd === '-' ? null : Number(sourceEnd),
      text,
      event: event as EventEnvelope,
    }
  })
  const endsAt = lines.find((line) => isTerminal(moveOf(line) ?? 'created'))?.seq
  const hasEnded = endsAt !== undefined
  if (hasEnded && torn !== '') report('I5', 'a line is torn after the end')
  return { paths, creation: creation as CreationRecord, lines, notes, hasEnded, endsAt }
}

export function moveOf(line: KeptLine): Status | undefined {
  const { event_type: type, data } = line.event
  return type === 'platform.instance.status_changed' ? (data['to'] as Status) : undefined
}

function isOfPlatform(line: KeptLine): boolean {
  return line.event.event_type.startsWith('platform.')
}

/** More than this is not compared. */
const SOURCE_MAX_BYTES = 256 * 1024 * 1024

/** I1: every good line of the worker's events file stands in the journal once, in order, byte for byte. */
function checkSource({ paths, creation, lines, hasEnded }: Left, report: Report, redactor: Redactor): void {
  const path = join(paths.project, '.resolve', 'events.jsonl')
  const reset = lines.findLastIndex((line) => isOfPlatform(line) && line.event.data['reason'] === 'source_reset')
  const carried = lines.slice(reset + 1).filter((line) => line.sourceEnd !== null)
  const journaled = new Map<number, KeptLine>()
  let before = 0
  for (const line of carried) {
    const end = line.sourceEnd as number
    if (end < before) report('I1', `line ${line.seq} stands before what came before it in the source`)
    before = end
    if (isOfPlatform(line)) continue
    if (journaled.has(end)) report('I1', `line ${line.seq} is a second one of the same source line`)
    journaled.set(end, line)
  }
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat !== undefined && (!stat.isFile() || stat.size > SOURCE_MAX_BYTES)) return
  const source = stat === undefined ? Buffer.alloc(0) : readFileSync(path)
  const covered = hasEnded ? source.length : before
  for (let start = 0; start < covered; ) {
    const end = source.indexOf(0x0a, start) + 1
    if (end === 0 || end > covered) break
    const bytes = source.subarray(start, end - 1)
    start = end
    const isGood = belongsInJournal(bytes, creation.instance_id)
    const line = journaled.get(end)
    journaled.delete(end)
    if (isGood && line === undefined) report('I1', `the source line that ends at ${end} is missing`)
    else if (!isGood && line !== undefined) report('I1', `line ${line.seq} should have been rejected`)
    else if (line !== undefined && !isTheSame(line, bytes, redactor)) {
      report('I1', `line ${line.seq} is not what the source says`)
    }
  }
  for (const line of journaled.values()) report('I1', `line ${line.seq} stands nowhere in the source`)
}

/** Byte for byte; or, where it holds a secret or no usable timestamp, the same value without the one and with the other. */
function isTheSame({ text, event }: KeptLine, bytes: Buffer, redactor: Redactor): boolean {
  const source = JSON.parse(bytes.toString('utf8')) as EventEnvelope
  const isStamped = isInstant(source.timestamp)
  if (isStamped && !redactor.suspects(bytes)) return text === bytes.toString('utf8').replaceAll('\r', ' ')
  const timestamp = isStamped ? source.timestamp : event.timestamp
  const { schema_version, instance_id } = source
  return (
    isInstant(event.timestamp) &&
    isDeepStrictEqual(event, { ...redactor.value(source), schema_version, instance_id, timestamp })
  )
}

/** I4: moves along the table. I5: one end, and of the platform nothing after it but late lines it rejects. */
function checkMoves({ lines }: Left, report: Report): void {
  let status: Status = 'created'
  for (const line of lines) {
    if (isTerminal(status) && isOfPlatform(line) && line.event.event_type !== 'platform.event.rejected') {
      report('I5', `line ${line.seq} (${line.event.event_type}) comes after the end`)
    }
    const to = moveOf(line)
    if (to === undefined) continue
    const { from } = line.event.data
    if (from !== status) report('I4', `line ${line.seq} moves from ${String(from)} where it was ${status}`)
    if (!canMove(status, to)) report('I4', `line ${line.seq} moves from ${status} to ${to}`)
    status = to
  }
}

/** I3: nothing stands before its cause. */
function checkCauses({ lines }: Left, report: Report): void {
  const first = (matches: (line: KeptLine) => boolean) => lines.find(matches)?.seq ?? Number.POSITIVE_INFINITY
  const launched = first(({ event }) => event.event_type === 'platform.worker.launched')
  const spoke = first((line) => !isOfPlatform(line))
  if (spoke < launched) report('I3', `line ${spoke} is the worker's, before there was one`)
  const ran = first((line) => moveOf(line) === 'running')
  const said = first(({ event }) => event.event_type === 'resolver:created')
  if (said < ran) report('I3', `resolver:created (${said}) stands before running (${ran})`)
  const open = new Set<unknown>()
  for (const line of lines) {
    const request = line.event.data['request_id']
    if (line.event.event_type === 'platform.input.requested') open.add(request)
    if (line.event.event_type === 'platform.input.answered' && !open.delete(request)) {
      report('I3', `line ${line.seq} answers ${String(request)}, which was not open`)
    }
    if (moveOf(line) === 'awaiting_input' && open.size === 0)
      report('I3', `line ${line.seq} awaits input without an open request`)
  }
}

export function readJson(path: string): Record<string, unknown> | undefined {
  try {
    if (!lstatSync(path).isFile()) return undefined
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  } catch {
    return undefined
  }
}
