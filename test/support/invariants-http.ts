/** I4, I6, I7 and I13 of what was sent to the HTTP API and answered by it (reliability, Invariants, R7, R12). */
import { isDeepStrictEqual } from 'node:util'
import { type Left, moveOf, type Report } from './invariants.ts'

/** One request and its answer. */
export interface Exchange {
  method: string
  /** With or without `/api` and a query. */
  path: string
  /** What was sent as JSON. */
  sent?: unknown
  /** Its Idempotency-Key. */
  key?: string
  status: number
  /** What came back: parsed where it is JSON, otherwise as text. */
  body?: unknown
  /** When it was sent and answered, in milliseconds since 1970. */
  from: number
  to: number
}

export function checkExchanges(home: string, left: Left, answers: readonly Exchange[], report: Report): void {
  for (const exchange of answers) {
    checkError(home, exchange, report)
    checkStatus(left, exchange, report)
  }
  checkAcknowledged(left, answers, report)
}

/** What a server may say of its surroundings without being at fault (R7). */
const OUTER_TROUBLE = [501, 502, 503, 504, 507]

/** I13: errors have their shape, hostile input no 500, and nothing tells of stacks and paths. */
function checkError(home: string, { method, path, status, body }: Exchange, report: Report): void {
  const where = `${method} ${path} → ${status}`
  if (status < 400) return
  if (status >= 500 && !OUTER_TROUBLE.includes(status)) report('I13', `${where}: a fault of the server`)
  const text = typeof body === 'string' ? body : JSON.stringify(body ?? null)
  if (/\bat [^ ]+ \(|\.[jt]s:\d+|node_modules|node:internal/.test(text)) report('I13', `${where}: tells of the program`)
  if (text.includes(home)) report('I13', `${where}: tells where the home is`)
  const { detail, code, errors } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  if (typeof detail !== 'string') report('I13', `${where}: has no detail`)
  else if (errors === undefined && typeof code !== 'string') report('I13', `${where}: has no code`)
  if (errors === undefined) return
  const isList = Array.isArray(errors) && errors.length > 0 && errors.every((error) => typeof error === 'string')
  if (status !== 422 || detail !== 'Validation failed' || code !== undefined || !isList) {
    report('I13', `${where}: is not the body of a form that fails`)
  }
}

/** Clocks of one machine, read at different moments. */
const SLACK_MS = 25

/** I4: a record tells a status the instance had while it was asked for. */
function checkStatus(
  { creation, lines }: Left,
  { method, path, status, body, from, to }: Exchange,
  report: Report,
): void {
  if (method !== 'GET' || status !== 200 || routeOf(path) !== `/instances/${creation.instance_id}`) return
  const held = [
    { status: 'created', at: Date.parse(creation.created_at) },
    ...lines.flatMap((line) => {
      const moved = moveOf(line)
      return moved === undefined ? [] : [{ status: moved as string, at: Date.parse(line.event.timestamp) }]
    }),
  ]
  const told = (body as { status?: unknown }).status
  const fits = held.some(({ status: one, at }, index) => {
    const until = held[index + 1]?.at ?? Number.POSITIVE_INFINITY
    return one === told && at - SLACK_MS <= to && until + SLACK_MS >= from
  })
  if (!fits) report('I4', `${method} ${path} told ${String(told)}, which it was not then`)
}

/** I6: what was acknowledged is in the journal. I7: one request is answered once. */
function checkAcknowledged({ creation, lines, notes }: Left, answers: readonly Exchange[], report: Report): void {
  const own = `/instances/${creation.instance_id}`
  const accepted = answers.filter(({ method, status }) => method === 'POST' && status >= 200 && status < 300)
  const count = (type: string, rid?: string) =>
    lines.filter(({ event }) => event.event_type === type && (rid === undefined || event.data['request_id'] === rid))
      .length
  const answersTo = new Map<string, Exchange[]>()
  const messages: Exchange[] = []
  for (const exchange of accepted) {
    const route = routeOf(exchange.path)
    const rid = route.startsWith(`${own}/input-requests/`)
      ? decodeURIComponent(route.split('/').at(-1) as string)
      : undefined
    if (rid !== undefined) answersTo.set(rid, [...(answersTo.get(rid) ?? []), exchange])
    if (route === `${own}/messages`) messages.push(exchange)
    const isCreation =
      route === '/instances' && (exchange.body as { instance_id?: unknown }).instance_id === creation.instance_id
    if (isCreation && !isDeepStrictEqual(creation.input, (exchange.sent as { input?: unknown }).input ?? {})) {
      report('I6', 'the journal was born with another input')
    }
    const isStop = route === `${own}/stop` || route === `${own}/pause`
    const isHeeded = lines.some((line) => ['completed', 'failed', 'cancelled', 'paused'].includes(moveOf(line) ?? ''))
    if (isStop && !isHeeded && !notes.some(({ kind }) => kind === 'stop')) {
      report('I6', `${exchange.path} was acknowledged and is not kept`)
    }
  }
  for (const [rid, exchanges] of answersTo) {
    const journaled = count('platform.input.answered', rid)
    if (journaled === 0) report('I6', `the answer to ${rid} was acknowledged and is not in the journal`)
    else if (acts(exchanges) > journaled) report('I7', `${rid} was answered ${acts(exchanges)} times`)
    const kept = notes.find(({ kind, body }) => kind === 'answer' && body['request_id'] === rid)
    const isKept = exchanges.some(({ sent }) => isDeepStrictEqual(sent, kept?.body['payload']))
    if (!isKept) report('I7', `the answer kept for ${rid} is not the one that was acknowledged`)
  }
  if (acts(messages) > count('platform.message.accepted')) {
    report(
      'I6',
      `${acts(messages)} messages were acknowledged, ${count('platform.message.accepted')} are in the journal`,
    )
  }
}

/** The same key again is the same act (R11). */
function acts(exchanges: readonly Exchange[]): number {
  const keys = new Set(exchanges.flatMap(({ key }) => (key === undefined ? [] : [key])))
  return keys.size + exchanges.filter(({ key }) => key === undefined).length
}

export function routeOf(path: string): string {
  return path.replace(/\?.*$/, '').replace(/^\/api(?=\/)/, '')
}
