/**
 * The reducer from the journal to a {@link Story}, the projection of an instance. The record, `show`, `--json`, the live view and
 * the web page all read it, so they show the same state. Pure: no clock, no files.
 */
import { GIT_PULLS_TOLD_MAX, SESSIONS_TOLD_MAX } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import type { EventEnvelope } from '../protocol/event.ts'
import { isDataChanged } from '../protocol/event.ts'
import type { Form } from '../protocol/form.ts'
import type { InstanceError, Progress } from '../protocol/instance.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import { WORKER_LOST } from '../protocol/methods.ts'
import {
  addCost,
  addUsage,
  NO_USAGE,
  SESSION_KINDS,
  type SessionSpending,
  type SessionSummary,
  sessionUsage,
} from '../protocol/session/session.ts'
import { isStatus, isTerminal } from '../protocol/status.ts'
import type { story, storyArtifact, storyCompletion, storyPhase, storyRequest, storyStop } from '../protocol/story.ts'
import { PULL_ACTIONS } from '../protocol/workspace.ts'
import { fits } from '../schema/fits.ts'
import type { Static } from '../schema/schema.ts'

export type Story = Static<typeof story>
export type StoryRequest = Static<typeof storyRequest>
export type StoryPhase = Static<typeof storyPhase>
export type StoryArtifact = Static<typeof storyArtifact>
export type StoryStop = Static<typeof storyStop>
export type StoryCompletion = Static<typeof storyCompletion>

/** The story before the first event: an instance that was just created. */
export function beginStory(creation: CreationRecord): Story {
  return {
    creation,
    status: 'created',
    history: [{ status: 'created', at: creation.created_at, reason: null }],
    phase: null,
    phases: [],
    progress: null,
    setup: null,
    artifacts: [],
    requests: [],
    messages: [],
    changedData: [],
    completion: null,
    output: null,
    error: null,
    incarnation: 0,
    wantedIncarnation: 1,
    queue: null,
    turn: 0,
    queuedMs: 0,
    adoptions: 0,
    rejected: 0,
    lastSeq: 0,
    lastEventAt: creation.created_at,
    endedAt: null,
  }
}

/** Applies one event of the journal to the story, in place. Ignores unknown events and malformed payloads. */
export function applyEvent(story: Story, seq: number, event: EventEnvelope): void {
  story.lastSeq = seq
  story.lastEventAt = event.timestamp
  const chapter = Object.hasOwn(chapters, event.event_type) ? chapters[event.event_type] : undefined
  if (chapter !== undefined) chapter(story, event.data, event.timestamp)
  else if (isDataChanged(event.event_type)) dataChanged(story, event.data)
}

/** What an event `resolver:progress` reports. */
export function progressIn(data: Readonly<Record<string, unknown>>, at: string): Progress {
  const fraction = asNumber(data['fraction'])
  return {
    milestone: asText(data['milestone']) ?? '',
    fraction: fraction === undefined ? null : Math.min(1, Math.max(0, fraction)),
    label: asText(data['label']) ?? null,
    at,
  }
}

/** The phase that a `resolver:phase` event names. */
export function phaseName(data: Record<string, unknown>): string | undefined {
  return asText(data['name']) ?? asText(data['phase'])
}

export function pendingRequests(story: Story): StoryRequest[] {
  return story.requests.filter((request) => request.status === 'pending')
}

type Data = Record<string, unknown>

const chapters: Record<string, (story: Story, data: Data, at: string) => void> = {
  'platform.setup.starting': (story, data, at) => {
    const total = asNumber(data['total']) ?? 0
    story.setup = { state: 'running', step: 0, total, description: null, output: null, at }
  },
  'platform.setup.progress': (story, data, at) => {
    const step = asNumber(data['step']) ?? 0
    const total = asNumber(data['total']) ?? step
    const [description, output] = [asText(data['description']) ?? null, asText(data['output']) ?? null]
    const fraction = asNumber(data['fraction']) ?? null
    story.setup = { state: 'running', step, total, description, output, ...(fraction === null ? {} : { fraction }), at }
  },
  'platform.setup.completed': (story, data, at) => {
    if (Array.isArray(data['bundles'])) story.bundles = data['bundles'] as NonNullable<Story['bundles']>
    if (story.setup) story.setup = { ...story.setup, state: 'completed', at }
  },
  'platform.setup.failed': (story, _, at) => {
    if (story.setup) story.setup = { ...story.setup, state: 'failed', at }
  },
  'platform.git.ready': (story, data) => {
    if (Array.isArray(data['repos'])) story.repos = data['repos'] as NonNullable<Story['repos']>
  },
  'platform.git.pushed': pushed,
  'platform.git.pull_request': pullRequestTold,
  'platform.git.snapshot': (story, data, at) => {
    const [repo, seq] = [asText(data['repo']), asNumber(data['seq'])]
    if (repo === undefined || seq === undefined) return
    const others = (story.snapshots ?? []).filter((one) => one.repo !== repo)
    story.snapshots = [...others, { repo, seq, cause: asText(data['cause']) ?? '', at }]
  },
  'platform.instance.status_changed': statusChanged,
  'platform.instance.queued': queued,
  'platform.instance.dequeued': (story, _, at) => {
    leaveQueue(story, at)
    story.turn = story.wantedIncarnation
  },
  'platform.worker.launched': (story, data) => {
    story.incarnation = asNumber(data['incarnation']) ?? story.incarnation + 1
  },
  'platform.worker.adopted': (story) => {
    story.adoptions += 1
  },
  'platform.input.requested': inputRequested,
  'platform.input.answered': inputAnswered,
  'platform.message.accepted': (story, data, at) => {
    story.messages.push({
      number: asNumber(data['number']) ?? story.messages.length + 1,
      message_type: asText(data['message_type']) ?? '',
      actor: asText(data['actor']) ?? '',
      via: asText(data['via']) ?? '',
      at,
    })
  },
  'platform.event.rejected': (story, data) => {
    story.rejected += asNumber(data['lines']) ?? 1
  },
  'resolver:phase': (story, data, at) => {
    const name = phaseName(data)
    if (name === undefined) return
    story.phase = name
    story.phases.push({ name, at })
  },
  'resolver:progress': (story, data, at) => {
    story.progress = progressIn(data, at)
  },
  'resolver:artifact': (story, data, at) => {
    story.artifacts.push({
      kind: asText(data['kind']) ?? 'other',
      value: asText(data['value']) ?? '',
      metadata: isObject(data['metadata']) ? data['metadata'] : null,
      at,
    })
  },
  'platform.promotion.completed': (story, data, at) => {
    const { pr_url, repo, branch, target_branch, number, commit } = data
    const value = asText(pr_url) ?? ''
    // A promotion that is repeated updates its pull request.
    story.artifacts = story.artifacts.filter((one) => one.kind !== 'pr' || one.value !== value)
    story.artifacts.push({ kind: 'pr', value, metadata: { repo, branch, target_branch, number, commit }, at })
  },
  'platform.resolver.session_dispatched': (story, data, at) => dispatchSession(story, data, at),
  'platform.resolver.session_completed': (story, data, at) => completeSession(story, data, at),
  'resolver:completed': (story, data) => {
    story.completion = {
      outcome: data['outcome'] === 'success' ? 'success' : 'failed',
      summary: asText(data['summary']) ?? '',
      duration_s: asNumber(data['duration_s']) ?? null,
      error: asError(data['error']),
    }
  },
}

function gitOf(story: Story): NonNullable<Story['git']> {
  story.git ??= { pushes: [], pulls: [], next: 0 }
  return story.git
}

function pushed(story: Story, data: Data, at: string): void {
  const [repo, ref] = [asText(data['repo']), asText(data['ref'])]
  if (repo === undefined || ref === undefined) return
  const { pushes } = gitOf(story)
  const commit = asText(data['to']) ?? null
  const known = pushes.find((one) => one.repo === repo && one.ref === ref)
  if (known === undefined) pushes.push({ repo, ref, commit, at })
  else Object.assign(known, { commit, at })
}

function pullRequestTold(story: Story, data: Data, at: string): void {
  const [repo, number] = [asText(data['repo']), asNumber(data['number'])]
  const action = PULL_ACTIONS.find((one) => one === data['action'])
  if (repo === undefined || number === undefined || action === undefined) return
  const git = gitOf(story)
  git.next = asNumber(data['next']) ?? git.next
  const field = (name: string) => asText(data[name]) ?? ''
  const texts = { title: field('title'), head: field('head'), base: field('base') }
  const pull = { repo, number, action, ...texts, commit: field('commit'), url: field('url'), at }
  const index = git.pulls.findIndex((one) => one.repo === repo && one.number === number)
  if (index === -1) git.pulls = [...git.pulls, pull].slice(-GIT_PULLS_TOLD_MAX)
  else git.pulls[index] = pull
}

function statusChanged(story: Story, data: Data, at: string): void {
  const to = data['to']
  if (!isStatus(to)) return
  leaveQueue(story, at)
  if (story.status === 'paused' && to === 'running') {
    story.wantedIncarnation = story.incarnation + 1
    story.completion = null
    story.output = null
    story.error = null
  }
  story.status = to
  const reason = asText(data['reason']) ?? null
  story.history.push({ status: to, at, reason, ...(data['forced'] === true ? { forced: true } : {}) })
  if ('output' in data) story.output = asText(data['output']) ?? null
  if ('error' in data) story.error = asError(data['error'])
  const sessions = asNumber(data['sessions_used'])
  if (sessions !== undefined) story.sessionsUsed = sessions
  if (isTerminal(to)) story.endedAt = at
  if (isTerminal(to)) endSessions(story, at)
  if (isTerminal(to) || to === 'paused') tellStop(story, undefined)
  if (to === 'paused' && reason === WORKER_LOST) carryOver(story)
  else if (isTerminal(to) || to === 'paused') withdraw(story)
  if (to === 'running' && reason === REQUESTS_WITHDRAWN) withdraw(story)
}

function dispatchSession(story: Story, data: Data, at: string): void {
  const [id, turn] = [asText(data['session_id']), asNumber(data['turn'])]
  if (id === undefined || turn === undefined) return
  const model = asText(data['model']) ?? ''
  const kind = SESSION_KINDS.find((one) => one === data['kind']) ?? 'live'
  const { spending = NOTHING_SPENT } = story
  story.spending = { ...spending, kinds: [...new Set([...spending.kinds, kind])] }
  const sessions = story.sessions ?? []
  const known = sessions.find((one) => one.id === id)
  if (known !== undefined) {
    Object.assign(known, { turns: turn, status: 'running', model, kind, ended_at: null, error: null })
    return
  }
  const begun: SessionSummary = {
    ...{ id, name: asText(data['session_name']) ?? id, status: 'running', model, kind },
    parent_id: asText(data['parent_id']) ?? null,
    ...{ turns: turn, steps: 0, usage: NO_USAGE, cost_usd: 0, started_at: at, ended_at: null, error: null },
  }
  story.sessions = [...sessions, begun].slice(-SESSIONS_TOLD_MAX)
}

const NOTHING_SPENT: SessionSpending = { usage: NO_USAGE, cost_usd: 0, kinds: [] }

function completeSession(story: Story, data: Data, at: string): void {
  const { usage } = data
  const { spending = NOTHING_SPENT } = story
  story.spending = {
    ...spending,
    usage: fits(sessionUsage, usage) ? addUsage(spending.usage, usage) : spending.usage,
    cost_usd: addCost(spending.cost_usd, asNumber(data['cost_usd']) ?? null),
  }
  const known = story.sessions?.find((one) => one.id === data['session_id'])
  if (known === undefined) return
  known.status = data['success'] === true ? 'completed' : 'failed'
  known.steps += asNumber(data['steps']) ?? 0
  if (fits(sessionUsage, usage)) known.usage = addUsage(known.usage, usage)
  known.cost_usd = addCost(known.cost_usd, asNumber(data['cost_usd']) ?? null)
  known.ended_at = at
  known.error = asError(data['error'])
}

/** A worker that is lost tells no end. */
function endSessions(story: Story, at: string): void {
  for (const one of story.sessions ?? [])
    if (one.status === 'running') Object.assign(one, { status: 'ended', ended_at: at })
}

function queued(story: Story, data: Data, at: string): void {
  const since = story.queue?.since ?? (story.status === 'created' ? story.creation.created_at : at)
  const bound = data['bound'] === 'resolver' ? 'resolver' : 'home'
  story.queue = { position: asNumber(data['position']) ?? 1, bound, limit: asNumber(data['limit']) ?? 1, since }
}

/** The time that a resumed instance waited is not counted as time with a worker (R27). */
function leaveQueue(story: Story, at: string): void {
  if (story.queue != null && story.status === 'running') {
    story.queuedMs = (story.queuedMs ?? 0) + Math.max(0, Date.parse(at) - Date.parse(story.queue.since))
  }
  story.queue = null
}

/** The reason of awaiting_input → running when the resolver ended its run while a request was open. */
export const REQUESTS_WITHDRAWN = 'requests_withdrawn'

/** Sets the stop that is under way: the host and readers of a journal know it from its private lines. */
export function tellStop(story: Story, stop: StoryStop | undefined): void {
  if (stop === undefined) delete story.stop
  else story.stop = stop
}

/** The output of a paused run that says only that it paused; the SDK writes it where the resolver gives no summary. */
export function isPauseWord(output: string): boolean {
  return output === 'paused' || /^paused: [a-z]+(?:_[a-z]+)*$/.test(output)
}

function withdraw(story: Story): void {
  for (const request of story.requests) if (request.status === 'pending') request.status = 'cancelled'
}

/** R58: the questions of a lost worker stay open. The resumed one asks them again, and then each counts as asked by it. */
function carryOver(story: Story): void {
  for (const request of story.requests) if (request.status === 'pending') request.carried = true
}

function inputRequested(story: Story, data: Data, at: string): void {
  const id = asText(data['request_id'])
  if (id === undefined) return
  const asked: StoryRequest = {
    id,
    prompt: asText(data['prompt']) ?? '',
    schema: data['schema'] as Form,
    status: 'pending',
    asked_at: at,
    answered_at: null,
    actor: null,
    via: null,
  }
  // A withdrawn request can be opened again after a resume: it replaces the old entry.
  const before = story.requests.findIndex((request) => request.id === id)
  if (before === -1) story.requests.push(asked)
  else story.requests[before] = asked
}

function inputAnswered(story: Story, data: Data, at: string): void {
  const request = story.requests.find((candidate) => candidate.id === data['request_id'])
  if (request === undefined) return
  request.status = 'answered'
  request.answered_at = at
  request.actor = asText(data['actor']) ?? null
  request.via = asText(data['via']) ?? null
}

/** The maximum number of paths that the story keeps; the events have all of them. */
const CHANGED_DATA_MAX = 1_000

function dataChanged(story: Story, data: Data): void {
  const paths = Array.isArray(data['paths']) ? data['paths'].slice(-CHANGED_DATA_MAX) : []
  for (const path of paths) {
    if (typeof path !== 'string') continue
    const known = story.changedData.indexOf(path)
    if (known !== -1) story.changedData.splice(known, 1)
    story.changedData.push(path)
  }
  story.changedData.splice(0, story.changedData.length - CHANGED_DATA_MAX)
}

function asText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

const PLACE_MAX_CHARS = 300

function asError(value: unknown): InstanceError | null {
  if (!isObject(value)) return null
  const place = asText(value['place'])?.slice(0, PLACE_MAX_CHARS)
  return {
    code: asText(value['code']) ?? 'error',
    detail: asText(value['detail']) ?? '',
    ...(place === undefined ? {} : { place }),
  }
}
