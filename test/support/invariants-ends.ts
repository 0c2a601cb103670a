/** I11: who is stopped comes to its end in time. I12: the journal alone tells what the API told at the end (reliability, Invariants). */
import { isDeepStrictEqual } from 'node:util'
import { STOP_LIMIT_MS, TERM_LIMIT_MS } from '../../src/core/limits.ts'
import { isTerminal } from '../../src/core/protocol/status.ts'
import { readStory } from '../../src/core/store/journal-projection.ts'
import { readRecord, toRecord } from '../../src/core/store/record.ts'
import { visibleStory } from '../../src/server/access/visibility.ts'
import { type Left, moveOf, type Report } from './invariants.ts'
import { type Exchange, routeOf } from './invariants-http.ts'

/** What ending takes beyond the limits of the calls: looks at the process table, or an engine's time. */
const SLACK_MS = 15_000
export const STOP_BUDGET_MS = STOP_LIMIT_MS + TERM_LIMIT_MS + SLACK_MS

export function checkEnd({ creation, lines }: Left, answers: readonly Exchange[], report: Report): void {
  const own = `/instances/${creation.instance_id}`
  const end = lines.find((line) => isTerminal(moveOf(line) ?? 'created'))
  // A host that adopts the worker carries the stop out from its beginning: it can't know how far the killed one came.
  const adoptions = lines.filter(({ event }) => event.event_type === 'platform.worker.adopted')
  const taken = Math.max(0, ...adoptions.map(({ event }) => Date.parse(event.timestamp)))
  for (const { method, path, status, to } of answers) {
    const isStop =
      (method === 'POST' && routeOf(path) === `${own}/stop`) || (method === 'DELETE' && routeOf(path) === own)
    if (!isStop || status < 200 || status >= 300) continue
    if (end === undefined) report('I11', `${method} ${path} was acknowledged, and it never ended`)
    else if (Date.parse(end.event.timestamp) > Math.max(to, taken) + STOP_BUDGET_MS) {
      report('I11', `${method} ${path} was acknowledged, and the end came at ${end.event.timestamp}`)
    }
  }
}

export function checkReplay({ paths, creation, hasEnded }: Left, answers: readonly Exchange[], report: Report): void {
  const story = readStory(paths.journal)
  const rebuilt = plain(toRecord(story))
  // The cache is as good as the journal, whatever state it is in.
  if (!isDeepStrictEqual(plain(readRecord(paths)), rebuilt)) report('I12', 'the record is not what the journal tells')
  if (!hasEnded) return
  const own = `/instances/${creation.instance_id}`
  const last = (route: string) =>
    answers.findLast(({ method, path, status }) => isRead(method, status) && routeOf(path) === route)
  const compare = (what: string, told: Exchange | undefined, from: unknown) => {
    // What was asked for before the end may be told as it was then.
    if (told === undefined || told.from < Date.parse(story.endedAt ?? '')) return
    // The state is the resolver's own file and stands in no journal.
    const { resolver_state: _, ...body } = told.body as Record<string, unknown>
    const { resolver_state: __, ...expected } = from as Record<string, unknown>
    if (!isDeepStrictEqual(body, expected)) report('I12', `${what} that was told is not what the journal tells`)
  }
  compare('the record', last(own), rebuilt)
  compare('the story', last(`${own}/story`), plain(visibleStory(story, false)))
}

const isRead = (method: string, status: number) => method === 'GET' && status === 200

/** As it arrives at a consumer. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
