/** Explains why an instance failed, waits or is still running, from its journal and its worker's stderr. For `instance explain`. */

import { ResolveError } from '../../core/errors.ts'
import type { HostState, JournalEvent, Platform } from '../../core/index.ts'
import type { EventEnvelope } from '../../core/protocol/event.ts'
import type { Scope } from '../../core/protocol/http.ts'
import type { InstanceError, QueuePlace } from '../../core/protocol/instance.ts'
import { WORKER_LOST } from '../../core/protocol/methods.ts'
import { hasWorker, type Status } from '../../core/protocol/status.ts'
import { errorText, settingHint } from '../../core/view/error-text.ts'
import { deniedText } from '../../core/view/event-words.ts'
import { queueSentence } from '../../core/view/status-words.ts'
import { pendingRequests, type Story } from '../../core/view/story.ts'
import { agoText, durationText } from '../../core/view/time-words.ts'
import { answerCommand, nextCommands } from '../output/next-steps.ts'
import { commandLine } from '../output/shell.ts'

const STDERR_LINES = 10
const REJECTED_KEPT = 5
const DENIED_KEPT = 10
const HOLDERS_KEPT = 5
const HOLDERS_LOOKED_AT = 100

/** The statuses in which an instance has a place. */
const HOLDING = ['awaiting_input', 'running', 'starting'] as const

export interface Explanation {
  schema: 'resolve.explanation/1'
  instance_id: string
  resolver: string
  status: string
  /** One sentence. */
  why: string
  /** Its place, while it waits for a worker. */
  queue: QueuePlace | null
  /** Instances that have the places it waits for, those that wait for an answer first. */
  holders: { instance_id: string; resolver: string; status: Status }[]
  phase: string | null
  error: InstanceError | null
  /** The event that describes the failure; null if the instance has not failed. */
  failing_event: (EventEnvelope & { seq: number }) | null
  /** How the worker's process ended; null while it runs, or if none was started. */
  worker_end: string | null
  /** Whether the instance has a live host. */
  host_alive: boolean
  /** Whether that host answers a request; a suspended one does not. */
  host_answers: boolean
  last_event_at: string
  /** The last lines of the worker's stderr. */
  stderr: string[]
  /** The scope needed to read stderr, if the token lacks it; null if stderr was read. */
  stderr_needs: Scope | null
  /** Event lines of the resolver that were rejected: their count, and the last few with their reasons. */
  rejected: { count: number; last: { reason: string; bytes: number; detail: string | null }[] }
  /** Connections that the network rules refused, the last ones, each with what would allow it. */
  denied: { host: string; port: number; reason: string; count: number; told: string }[]
  questions: { request_id: string; prompt: string; asked_at: string; command: string }[]
  /** Commands to run next, the most useful first. */
  next: string[]
}

/** `isShort`: the commands are for a person at a terminal. */
export async function explain(platform: Platform, id: string, now: number, isShort = false): Promise<Explanation> {
  const story = await platform.story(id)
  const facts = gather()
  for await (const event of platform.events(id)) facts.note(event)
  const host = await platform.hostState(id)
  const holders = story.queue == null ? [] : await holdersOf(platform, story.creation.resolver.name, story.queue)
  const stderr = (await stderrOf(platform, id))?.trimEnd()
  return {
    schema: 'resolve.explanation/1',
    instance_id: id,
    resolver: story.creation.resolver.name,
    status: story.status,
    why: whyOf(story, host, now),
    queue: story.queue ?? null,
    holders,
    phase: story.phase,
    error: story.error,
    failing_event: story.status === 'failed' ? facts.failing : null,
    worker_end: workerEnd(story, facts.lost),
    host_alive: host !== 'none',
    host_answers: host === 'answers',
    last_event_at: story.lastEventAt,
    stderr: stderr ? stderr.split('\n').slice(-STDERR_LINES) : [],
    stderr_needs: stderr === undefined ? 'run' : null,
    rejected: { count: story.rejected, last: facts.rejected },
    denied: facts.denied(),
    questions: pendingRequests(story).map((request) => {
      const { id: request_id, prompt, asked_at } = request
      return { request_id, prompt, asked_at, command: answerCommand(id, request) }
    }),
    next: [
      ...holders
        .filter(({ status }) => status === 'awaiting_input')
        .map((holder) => commandLine('instance', 'answer', holder.instance_id)),
      ...nextOf(story, host, isShort),
    ],
  }
}

/** None where a token is limited to one instance. */
async function holdersOf(platform: Platform, resolver: string, { bound }: QueuePlace): Promise<Explanation['holders']> {
  const only = bound === 'resolver' ? { resolver } : {}
  const found: Explanation['holders'] = []
  for (const status of HOLDING) {
    try {
      const { records } = await platform.list({ ...only, status: [status], limit: HOLDERS_LOOKED_AT })
      for (const one of records)
        if (one.queue == null) found.push({ instance_id: one.instance_id, resolver: one.resolver, status: one.status })
    } catch (error) {
      if (error instanceof ResolveError && error.code === 'token_narrow') return []
      throw error
    }
  }
  return found.slice(0, HOLDERS_KEPT)
}

/** Undefined if the token's scope does not allow reading stderr, or its secrets cannot be redacted here. */
async function stderrOf(platform: Platform, id: string): Promise<string | undefined> {
  try {
    return await platform.stderrTail(id)
  } catch (error) {
    if (error instanceof ResolveError && NO_STDERR.includes(error.code)) return undefined
    throw error
  }
}

const NO_STDERR: readonly string[] = ['scope_missing', 'secret_unreadable', 'secret_key_unusable']

interface Facts {
  failing: Explanation['failing_event']
  rejected: Explanation['rejected']['last']
  /** How the last lost worker ended. */
  lost: string | null
  denied(): Explanation['denied']
  note(event: JournalEvent): void
}

/** Prefers the event that names a cause over the change of status that follows it. */
function gather(): Facts {
  let hasCause = false
  const denied = new Map<string, Explanation['denied'][number]>()
  const facts: Facts = {
    failing: null,
    rejected: [],
    lost: null,
    denied: () => [...denied.values()],
    note({ seq, event }) {
      const { event_type, data } = event
      if (event_type === 'platform.event.rejected') {
        const detail = typeof data['detail'] === 'string' ? data['detail'] : null
        facts.rejected.push({ reason: String(data['reason'] ?? ''), bytes: Number(data['bytes'] ?? 0), detail })
        facts.rejected.splice(0, facts.rejected.length - REJECTED_KEPT)
      }
      if (event_type === 'platform.worker.failed' && data['cause'] === WORKER_LOST) facts.lost = String(data['error'])
      if (event_type === 'platform.egress.denied') noteDenied(denied, data)
      const isMove = event_type === 'platform.instance.status_changed'
      if (isMove && data['from'] === 'paused') hasCause = false
      const isCause =
        CAUSES.includes(event_type) || (event_type === 'resolver:completed' && data['outcome'] === 'failed')
      if (isCause || (isMove && data['to'] === 'failed' && !hasCause)) facts.failing = { seq, ...event }
      hasCause ||= isCause
    },
  }
  return facts
}

function noteDenied(denied: Map<string, Explanation['denied'][number]>, data: Record<string, unknown>): void {
  const [host, port, reason] = [String(data['host'] ?? ''), Number(data['port'] ?? 0), String(data['reason'] ?? '')]
  const key = `${host} ${port} ${reason}`
  const count = (denied.get(key)?.count ?? 0) + Number(data['count'] ?? 1)
  denied.delete(key)
  denied.set(key, { host, port, reason, count, told: deniedText(host, port, reason, count) })
  const [oldest] = denied.keys()
  if (denied.size > DENIED_KEPT && oldest !== undefined) denied.delete(oldest)
}

const CAUSES = ['platform.setup.failed', 'platform.worker.failed']

function whyOf(story: Story, host: HostState, now: number): string {
  const reason = story.history.at(-1)?.reason ?? null
  const because = reason === null ? '' : ` (${reason})`
  const count = pendingRequests(story).length
  if (story.queue != null) return `${queueSentence(story.queue)}${HOST[host]}`
  switch (story.status) {
    case 'failed':
      if (story.error === null) return 'It failed.'
      return [`It failed: ${errorText(story.error) || story.error.code}`, settingHint(story.error) ?? []]
        .flat()
        .join(' ')
    case 'awaiting_input':
      return `It waits for ${count === 1 ? 'an answer' : `${count} answers`}.${HOST[host]}`
    case 'paused':
      if (reason === WORKER_LOST) return LOST
      return `It paused at a checkpoint${because} and continues when it is resumed.`
    case 'completed':
      return 'It completed.'
    case 'cancelled':
      return `It was cancelled${because}.`
    default: {
      const since = story.history.find(({ status }) => hasWorker(status))?.at ?? story.creation.created_at
      const heard = agoText(story.lastEventAt, now)
      return `It has been running for ${durationText(now - Date.parse(since))}; its last event came ${heard}.${HOST[host]}`
    }
  }
}

const HOST: Readonly<Record<HostState, string>> = {
  answers: '',
  none: ' It has no host.',
  silent: ' Its host does not answer: the process may be suspended or overloaded.',
}

const LOST =
  'Its worker was lost: it was killed, ran out of memory, or the machine was restarted. Its checkpoint is saved: it continues when it is resumed.'

function workerEnd(story: Story, lost: string | null): string | null {
  if (story.incarnation === 0 || hasWorker(story.status)) return null
  const reason = story.history.at(-1)?.reason ?? null
  if (story.status === 'paused')
    return reason === WORKER_LOST ? (lost ?? 'It was lost.') : 'It ended at its checkpoint.'
  if (story.status === 'cancelled' && story.history.at(-1)?.forced === true)
    return 'It was killed because it did not end in time.'
  if (story.status === 'cancelled') return 'It ended after a stop request.'
  if (story.completion !== null) return 'It ended after its run was complete.'
  return story.error === null ? 'It ended.' : `It ended without a result (${story.error.code}).`
}

function nextOf(story: Story, host: HostState, isShort: boolean): string[] {
  const id = story.creation.instance_id
  if (story.status === 'failed') {
    return [commandLine('instance', 'events', id), againCommand(story), commandLine('instance', 'export', id)]
  }
  if (host === 'silent') return [commandLine('instance', 'stop', id, '--force')]
  if (host === 'none' && (hasWorker(story.status) || story.status === 'created')) {
    return [...new Set([commandLine('instance', 'watch', id), ...nextCommands(story, isShort)])]
  }
  return nextCommands(story, isShort)
}

/** A new run with the input as flags; a retry where flags cannot say all that the instance was given. */
function againCommand({ creation }: Story): string {
  const { instance_id: id, resolver, input, name, labels = {}, secret_fields: secret = [] } = creation
  const entries = Object.entries(input)
  const isFlat = entries.every(([key, value]) => !key.includes('=') && ['string', 'boolean'].includes(typeof value))
  const hasMore = name !== null || Object.keys(labels).length + secret.length > 0 || creation.unchecked === true
  if (!isFlat || hasMore) return commandLine('instance', 'retry', id)
  const fields = entries.flatMap(([key, value]) => {
    const text = String(value)
    return ['-i', `${key}=${text.startsWith('@') ? '@' : ''}${text}`]
  })
  return commandLine('run', resolver.name, ...fields)
}
