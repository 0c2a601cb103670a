/** Formats one event as a sentence, for the terminal's progress lines and the page's timeline. */
import { isObject } from '../primitives/is-object.ts'
import { type EventEnvelope, isDataChanged } from '../protocol/event.ts'
import { sessionUsage, tokensOf } from '../protocol/session/session.ts'
import { isStatus } from '../protocol/status.ts'
import { fits } from '../schema/fits.ts'
import { cleanLine } from './clean.ts'
import { dollars } from './spending.ts'
import { reasonText, statusText } from './status-words.ts'
import { REQUESTS_WITHDRAWN } from './story.ts'
import { durationText } from './time-words.ts'

type Data = Record<string, unknown>

/** The progress line of an event, cleaned; null for events that are not shown as progress. */
export function progressLine(event: EventEnvelope): string | null {
  const known = Object.hasOwn(progressTexts, event.event_type) ? progressTexts[event.event_type] : undefined
  const line = known?.(event.data)
  if (line !== undefined) return line === null ? null : cleanLine(line)
  return isDataChanged(event.event_type) ? cleanLine(`data ${list(event.data['paths'])}`) : null
}

/**
 * Whether the event tells a person what another one tells too: a question and its answer are each told by the platform's own
 * event, so the resolver's report of it and the change of status say nothing new.
 */
export function isRepetition({ event_type, data }: EventEnvelope): boolean {
  if (isReportOfQuestion(event_type)) return true
  if (event_type !== 'platform.instance.status_changed') return false
  const { from, to } = data
  return (from === 'running' && to === 'awaiting_input') || (from === 'awaiting_input' && to === 'running')
}

/** The resolver's own report of a question or its answer, which stands beside the event of the platform. */
export function isReportOfQuestion(type: string): boolean {
  return type === 'resolver:input_requested' || type === 'resolver:input_responded'
}

/** The words of an event that stands without its type: as {@link eventWords}, with what the type says; null without words. */
export function eventSentence(event: EventEnvelope): string | null {
  const words = eventWords(event)
  switch (event.event_type) {
    case 'platform.worker.launched':
      return `worker started: ${words}`
    case 'platform.worker.ready':
      return 'worker is ready'
    case 'resolver:created':
      return `resolver ${words} began`
    case 'resolver:completed': {
      const { error } = event.data
      const detail = isObject(error) ? cleanLine(text(error['detail'])) : ''
      return detail === '' ? words : `${words} (${detail})`
    }
    default:
      return words
  }
}

/** What a list of all events says of one: the progress line where there is one, and words for the beginning and end of a worker; null without words. */
export function eventWords(event: EventEnvelope): string | null {
  const { event_type, data } = event
  switch (event_type) {
    case 'platform.worker.launched':
      return cleanLine(
        `${String(data['executor'])}${Number(data['incarnation']) > 1 ? `, start ${String(data['incarnation'])}` : ''}`,
      )
    case 'platform.worker.ready':
      return ''
    case 'resolver:created':
      return cleanLine(`${String(data['resolver_name'])} ${String(data['resolver_version'])}`)
    case 'resolver:completed':
      return cleanLine(`${String(data['outcome'])}: ${String(data['summary'])}`)
    default:
      return progressLine(event)
  }
}

const progressTexts: Record<string, (data: Data) => string | null> = {
  'platform.instance.status_changed': ({ to, reason, forced }) => {
    if (!isStatus(to)) return null
    // The next event says what the run does: it pauses or ends.
    if (reason === REQUESTS_WITHDRAWN) return null
    const why = [reasonText(text(reason)), forced === true ? 'forced' : ''].filter(Boolean).join(', ')
    return `${statusText(to)}${why === '' ? '' : ` (${why})`}`
  },
  'platform.setup.progress': setupLine,
  'platform.git.ready': ({ repos }) =>
    Array.isArray(repos) ? `workspace: ${repos.map((repo: Data) => text(repo?.['name'])).join(', ')}` : null,
  'platform.git.pushed': ({ repo, ref, to }) =>
    to === null ? `removed ${refWords(ref)} of ${text(repo)}` : `pushed ${refWords(ref)} of ${text(repo)}`,
  'platform.git.pull_request': ({ repo, number, action, title }) =>
    `pull request ${text(repo)} #${text(number)} ${text(action)}: ${text(title)}`,
  'platform.git.behind': ({ repo, branch, commits }) =>
    `${text(branch)} of ${text(repo)} has ${text(commits)} new ${commits === 1 ? 'commit' : 'commits'} upstream`,
  'platform.git.snapshot': ({ repo, files, additions, deletions, skipped_total: left }) =>
    `work in ${text(repo)}: ${text(files)} ${files === 1 ? 'file' : 'files'}, +${text(additions)} -${text(deletions)}${typeof left === 'number' && left > 0 ? `, ${left} left out` : ''}`,
  'platform.promotion.requested': ({ branch, repo }) => `promotion of ${text(branch)} in ${text(repo)}`,
  'platform.promotion.completed': ({ pr_url, created }) =>
    `pull request ${created === true ? 'opened' : 'updated'}: ${text(pr_url)}`,
  'platform.promotion.failed': ({ branch, error }) => `promotion of ${text(branch)} failed: ${text(error)}`,
  'platform.instance.queued': ({ position, bound, limit }) =>
    `queued, place ${text(position)} (at most ${text(limit)} ${bound === 'resolver' ? 'of this resolver' : 'here'} ${limit === 1 ? 'runs' : 'run'} at the same time)`,
  'platform.instance.dequeued': () => 'its turn has come',
  'platform.setup.failed': ({ stage, error }) => `setup failed at ${text(stage)}: ${text(error)}`,
  // The line before it is about the setup, with the same error.
  'platform.worker.failed': ({ cause, error }) =>
    cause === 'setup_failed' ? null : `worker failed: ${text(cause)} ${text(error)}`,
  'platform.worker.adopted': () => 'another host took over',
  'platform.input.requested': ({ request_id, prompt }) => `question ${text(request_id)}: ${text(prompt)}`,
  'platform.input.answered': ({ request_id, actor, via }) =>
    `answered ${text(request_id)} by ${text(actor)} (${text(via)})`,
  'platform.message.accepted': ({ message_type, actor }) => `message ${text(message_type)} from ${text(actor)}`,
  'platform.watchdog.warning': ({ kind, value, limit, detail }) =>
    `warning: ${typeof detail === 'string' ? detail : `${text(kind)} at ${text(value)} of ${text(limit)}`}`,
  'platform.egress.denied': ({ host, port, reason, count }) =>
    deniedText(text(host), Number(port), text(reason), Number(count)),
  'platform.resolver.session_dispatched': ({ session_name, turn, model, kind }) =>
    `${turnText(session_name, turn)} began with ${text(model)}${kindText(kind)}`,
  'platform.resolver.session_completed': turnEnd,
  'platform.event.rejected': ({ reason }) => `warning: an event line of the resolver was rejected (${text(reason)})`,
  'resolver:phase': (data) => `phase ${text(data['name'] ?? data['phase'])}`,
  'resolver:progress': ({ milestone, fraction, label }) => `progress${percent(fraction)} ${text(label ?? milestone)}`,
  'resolver:artifact': ({ kind, value }) => `artifact ${text(kind)}: ${text(value)}`,
}

function refWords(ref: unknown): string {
  return text(ref).replace(/^refs\/(?:heads|tags)\//, '')
}

/** A prompt of an LLM session has its answer, or failed: what it took, and why it failed. */
function turnEnd({ session_name, turn, kind, success, duration_seconds, steps, usage, cost_usd, error }: Data): string {
  const took = [
    typeof duration_seconds === 'number' ? durationText(duration_seconds * 1_000) : '',
    typeof steps === 'number' ? `${steps} ${steps === 1 ? 'step' : 'steps'}` : '',
    kind === 'live' && fits(sessionUsage, usage) ? `${tokensOf(usage)} tokens` : '',
    kind === 'live' && typeof cost_usd === 'number' ? `about ${dollars(cost_usd)}` : '',
  ].filter(Boolean)
  const why = isObject(error) ? `: ${text(error['detail'] ?? error['code'])}` : ''
  const ended = success === true ? 'ended' : 'failed'
  return `${turnText(session_name, turn)} ${ended}${took.length === 0 ? '' : ` after ${took.join(', ')}`}${why}`
}

/** The first prompt of a session is the session itself. */
function turnText(name: unknown, turn: unknown): string {
  return `session ${text(name)}${Number(turn) > 1 ? `, prompt ${text(turn)}` : ''}`
}

/** A session that was not live must not look like one that was. */
function kindText(kind: unknown): string {
  return kind === 'scripted' || kind === 'replayed' ? ` (${kind})` : ''
}

/** A step of a setup: it began, printed its last line, or ended. */
export function setupLine({ step, total, description, exit_code: code, output, fraction }: Data): string {
  const ended = code === undefined ? '' : code === 0 ? ' (done)' : ` (exit code ${text(code)})`
  const said = (code === undefined || fraction !== undefined) && text(output) !== '' ? ` | ${text(output)}` : ''
  const part = typeof fraction === 'number' && fraction < 1 ? ` ${Math.round(fraction * 100)}%` : ''
  return `setup ${text(step)}/${text(total)}: ${text(description)}${part}${ended}${said}`
}

/** Which connection was refused, and what would allow it (docs/manifest.md, The network). */
export function deniedText(host: string, port: number, reason: string, count = 1): string {
  const times = count > 1 ? ` (${count} times)` : ''
  const target = host === '*' ? 'further hosts' : port > 0 ? `${host}:${port}` : host
  const refused = `network: ${target} was refused${times}`
  switch (reason) {
    case 'not_allowed':
      return `${refused}; to allow it: ${allowingLine(host, port)}`
    case 'forbidden_address':
      return `${refused}: its address belongs to this machine or a private network, which "allowlist" never opens`
    case 'malformed':
      return `${refused}: a worker reaches hosts by name, with HTTP_PROXY or HTTPS_PROXY`
    case 'too_many':
      return `${refused}: too many connections at once`
    default:
      return `${refused} (${reason})`
  }
}

/** The line of manifest.json that would allow the host. */
export function allowingLine(host: string, port: number): string {
  if (host === '*') return 'list the hosts in "container": {"egress": […]} of manifest.json'
  if (!/[a-z]/i.test(host.split('.').at(-1) ?? ''))
    return 'an address cannot be listed; use a host name, or "network": "open"'
  const rule = port === 80 || port === 443 || !(port > 0) ? host : `${host}:${port}`
  return `add ${JSON.stringify(rule)} to "container": {"egress": […]} of manifest.json`
}

export function percent(fraction: unknown): string {
  if (typeof fraction !== 'number' || !Number.isFinite(fraction)) return ''
  return ` ${Math.round(Math.min(1, Math.max(0, fraction)) * 100)}%`
}

function text(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function list(value: unknown): string {
  return Array.isArray(value) ? value.map(text).join(', ') : text(value)
}
