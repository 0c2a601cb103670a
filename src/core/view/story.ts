/**
 * The reducer from the journal to a {@link Story}, the projection of an instance. The record, `show`, `--json`, the live view and
 * the web page all read it, so they show the same state. Pure: no clock, no files.
 */
import { isObject } from '../primitives/is-object.ts'
import type { EventEnvelope } from '../protocol/event.ts'
import { isDataChanged } from '../protocol/event.ts'
import type { Form } from '../protocol/form.ts'
import type { InstanceError, RequestStatus } from '../protocol/instance.ts'
import type { CreationRecord } from '../protocol/journal.ts'
import { isStatus, isTerminal, type Status } from '../protocol/status.ts'

export interface StatusChange {
  status: Status
  at: string
  reason: string | null
}

export interface StoryRequest {
  id: string
  prompt: string
  schema: Form
  status: RequestStatus
  asked_at: string
  answered_at: string | null
  actor: string | null
  via: string | null
}

export interface StoryMessage {
  number: number
  message_type: string
  actor: string
  via: string
  at: string
}

export interface StoryPhase {
  name: string
  at: string
}

export interface StoryProgress {
  milestone: string
  /** 0 to 1; null if the resolver does not report it. */
  fraction: number | null
  label: string | null
  at: string
}

export interface StoryArtifact {
  kind: string
  value: string
  metadata: Record<string, unknown> | null
  at: string
}

export interface StoryCompletion {
  outcome: 'success' | 'failed'
  summary: string
  duration_s: number | null
  error: InstanceError | null
}

export interface Story {
  creation: CreationRecord
  status: Status
  history: StatusChange[]
  phase: string | null
  phases: StoryPhase[]
  progress: StoryProgress | null
  artifacts: StoryArtifact[]
  requests: StoryRequest[]
  messages: StoryMessage[]
  /** Data files that the resolver reported as changed, latest last. */
  changedData: string[]
  /** The last `resolver:completed`; each run emits one. */
  completion: StoryCompletion | null
  output: string | null
  error: InstanceError | null
  /** How many workers were launched, and how many were requested (each resume requests another). */
  incarnation: number
  wantedIncarnation: number
  /** How many times another host took over. */
  adoptions: number
  /** The number of rejected event lines of the resolver. */
  rejected: number
  lastSeq: number
  lastEventAt: string
  endedAt: string | null
}

/** The story before the first event: an instance that was just created. */
export function beginStory(creation: CreationRecord): Story {
  return {
    creation,
    status: 'created',
    history: [{ status: 'created', at: creation.created_at, reason: null }],
    phase: null,
    phases: [],
    progress: null,
    artifacts: [],
    requests: [],
    messages: [],
    changedData: [],
    completion: null,
    output: null,
    error: null,
    incarnation: 0,
    wantedIncarnation: 1,
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

export function pendingRequests(story: Story): StoryRequest[] {
  return story.requests.filter((request) => request.status === 'pending')
}

type Data = Record<string, unknown>

const chapters: Record<string, (story: Story, data: Data, at: string) => void> = {
  'platform.instance.status_changed': statusChanged,
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
    const name = asText(data['name']) ?? asText(data['phase'])
    if (name === undefined) return
    story.phase = name
    story.phases.push({ name, at })
  },
  'resolver:progress': (story, data, at) => {
    const fraction = asNumber(data['fraction'])
    story.progress = {
      milestone: asText(data['milestone']) ?? '',
      fraction: fraction === undefined ? null : Math.min(1, Math.max(0, fraction)),
      label: asText(data['label']) ?? null,
      at,
    }
  },
  'resolver:artifact': (story, data, at) => {
    story.artifacts.push({
      kind: asText(data['kind']) ?? 'other',
      value: asText(data['value']) ?? '',
      metadata: isObject(data['metadata']) ? data['metadata'] : null,
      at,
    })
  },
  'resolver:completed': (story, data) => {
    story.completion = {
      outcome: data['outcome'] === 'success' ? 'success' : 'failed',
      summary: asText(data['summary']) ?? '',
      duration_s: asNumber(data['duration_s']) ?? null,
      error: asError(data['error']),
    }
  },
}

function statusChanged(story: Story, data: Data, at: string): void {
  const to = data['to']
  if (!isStatus(to)) return
  if (story.status === 'paused' && to === 'running') {
    story.wantedIncarnation = story.incarnation + 1
    story.completion = null
    story.output = null
    story.error = null
  }
  story.status = to
  story.history.push({ status: to, at, reason: asText(data['reason']) ?? null })
  if ('output' in data) story.output = asText(data['output']) ?? null
  if ('error' in data) story.error = asError(data['error'])
  if (isTerminal(to)) story.endedAt = at
  if (isTerminal(to) || to === 'paused') withdraw(story)
  if (to === 'running' && data['reason'] === REQUESTS_WITHDRAWN) withdraw(story)
}

/** The reason of awaiting_input → running when the resolver ended its run while a request was open. */
export const REQUESTS_WITHDRAWN = 'requests_withdrawn'

function withdraw(story: Story): void {
  for (const request of story.requests) if (request.status === 'pending') request.status = 'cancelled'
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

function asError(value: unknown): InstanceError | null {
  if (!isObject(value)) return null
  return { code: asText(value['code']) ?? 'error', detail: asText(value['detail']) ?? '' }
}
