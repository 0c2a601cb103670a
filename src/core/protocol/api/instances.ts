/** Operations on instances: create, list, read, rename, pause, resume, stop, follow (spec, Endpoints; R6, R9). */
import {
  EVENTS_PAGE_MAX,
  LOG_PAGE_LINES,
  LOG_PAGE_MAX_LINES,
  LOG_WAIT_MAX_S,
  PAGE_DEFAULT_RECORDS,
  PAGE_MAX_RECORDS,
} from '../../limits.ts'
import {
  closed,
  count,
  either,
  flag,
  integer,
  listOf,
  named,
  nullable,
  object,
  oneOf,
  optional,
  text,
} from '../../schema/schema.ts'
import { payload } from '../form.ts'
import { instanceRecord, instanceState, LABELS_MAX, labelChanges, labels, statusCounts } from '../instance.ts'
import { EXECUTORS } from '../journal.ts'
import { LOG_SOURCES, logPage } from '../log.ts'
import { instanceName } from '../names.ts'
import { atifDocument } from '../session/atif.ts'
import { budgetTokens, budgetUsd, sessionSummary, transcriptDocument } from '../session/session.ts'
import { STATUSES } from '../status.ts'
import { story } from '../story.ts'
import { HOST_TROUBLE, type Operation, RESOLVER_TROUBLE, SEALED_TROUBLE } from './operation.ts'

const name = instanceName()

const record = { 200: { description: 'The record', json: instanceRecord } } as const

/** Which instances are listed or counted. */
const narrowing = {
  resolver: optional(text({ description: 'Only instances of this resolver' })),
  name: optional(text({ description: 'Only instances with this name' })),
  label: optional(
    listOf(text(), {
      description:
        'Only instances with these labels, all of them: key=value, or key for any value; the parameter may be repeated',
      examples: [['team=red']],
      maxItems: LABELS_MAX,
    }),
  ),
  since: optional(
    text({ description: 'Only instances created at this time or later', examples: ['2026-01-31T10:00:00Z'] }),
  ),
  until: optional(text({ description: 'Only instances created before this time' })),
  text: optional(
    text({
      maxLength: 200,
      description: 'Only instances with this text in the id, name, resolver, labels or the beginning of the input',
    }),
  ),
}

const listQuery = object({
  status: optional(
    listOf(text(), {
      description: `Only instances with these statuses; the parameter may be repeated, or list them with commas: ${STATUSES.join(', ')}`,
      examples: [['running', 'awaiting_input']],
    }),
  ),
  ...narrowing,
  order: optional(
    oneOf(['newest', 'oldest'], { default: 'newest', description: 'Which of them come first, by their creation' }),
  ),
  limit: optional(integer({ minimum: 1, maximum: PAGE_MAX_RECORDS, default: PAGE_DEFAULT_RECORDS })),
  cursor: optional(text({ description: 'The cursor in the link to the next page' })),
  reference: optional(
    text({ description: 'Only one instance: its id, a unique prefix of at least 4 characters, @last, or its name' }),
  ),
})

const createBody = object({
  resolver: text({ description: 'The name of a resolver of the catalog' }),
  input: payload,
  name: optional(name),
  parent_id: optional(nullable(text({ maxLength: 200 }))),
  labels: optional(labels),
  budget_usd: optional(budgetUsd('What its LLM sessions may cost together; default: RESOLVE_BUDGET_USD of the server')),
  budget_tokens: optional(
    budgetTokens('How many tokens its LLM sessions may use together; default: RESOLVE_BUDGET_TOKENS of the server'),
  ),
  executor: optional(
    oneOf(['auto', ...EXECUTORS], {
      description: 'A value other than auto overrides the manifest, and needs the scope admin',
    }),
  ),
})

const retryBody = nullable(
  closed({
    input: optional(payload),
    name: optional(name),
    labels: optional(labelChanges),
    budget_usd: optional(budgetUsd('Another budget than that of the instance that it repeats')),
    budget_tokens: optional(budgetTokens('Another budget than that of the instance that it repeats')),
    executor: optional(oneOf(['auto', ...EXECUTORS], { description: 'As when an instance is created' })),
  }),
)

const stopBody = nullable(
  object({
    reason: optional(text({ maxLength: 1_000 })),
    force: optional(flag({ description: 'Kill the worker at once' })),
  }),
)

const resumeBody = nullable(
  object({
    lost: optional(
      flag({ description: 'A resume without a person, of an instance whose worker was lost; refused after the third' }),
    ),
  }),
)

const eventsQuery = object({
  token: optional(text({ description: 'The access token, where no header can be sent' })),
  after: optional(
    text({ description: 'Only events with a greater number; the header Last-Event-ID takes precedence' }),
  ),
  follow: optional(
    oneOf(['true', 'false'], {
      description: 'false: end after the existing events, without the closing {"type":"done"}',
    }),
  ),
  limit: optional(
    integer({
      minimum: 1,
      maximum: EVENTS_PAGE_MAX,
      description: 'End after this many events, without the closing {"type":"done"}; continue with after',
    }),
  ),
  transcripts: optional(
    oneOf(['true', 'false'], {
      description:
        'true: also tell when transcripts of running LLM sessions grow, as `event: transcripts` and `data: {SESSION: BYTES}`, without an id',
    }),
  ),
})

const transcriptQuery = object({
  after: optional(count({ description: 'Where an earlier answer ended: its meta.next' })),
  format: optional(oneOf(['events', 'atif'], { default: 'events', description: 'atif: for viewers and training' })),
})

const logsQuery = object({
  after: optional(count({ description: 'Only lines with a greater number' })),
  tail: optional(count({ description: 'Only the last lines, this many' })),
  since: optional(text({ description: 'Only lines from this time on', examples: ['2026-01-31T10:00:00Z'] })),
  source: optional(
    listOf(text(), {
      description: `Only lines of these sources; the parameter may be repeated, or list them with commas: ${LOG_SOURCES.join(', ')}`,
      examples: [['stderr']],
    }),
  ),
  limit: optional(integer({ minimum: 1, maximum: LOG_PAGE_MAX_LINES, default: LOG_PAGE_LINES })),
  wait: optional(
    integer({ minimum: 0, maximum: LOG_WAIT_MAX_S, description: 'Seconds to wait for a line where there is none yet' }),
  ),
  format: optional(
    oneOf(['json', 'jsonl', 'text'], { description: 'jsonl: one line of JSON for each; text: time, source and text' }),
  ),
})

export const INSTANCE_OPERATIONS = {
  getInstances: {
    method: 'GET',
    path: '/instances',
    scope: 'read',
    tag: 'instances',
    summary: 'List instances',
    narrows: true,
    query: listQuery,
    answers: {
      200: {
        description: 'Newest first, or with order=oldest the oldest',
        headers: {
          Link: text({ description: 'The address of the next page, with rel="next"; absent on the last page' }),
        },
        json: listOf(instanceRecord),
      },
    },
    refuses: ['request_invalid', 'cursor_unknown', 'instance_unknown', 'instance_ambiguous'],
  },
  getInstanceCounts: {
    method: 'GET',
    path: '/instance-counts',
    scope: 'read',
    tag: 'instances',
    summary: 'Count instances by status',
    narrows: true,
    query: object(narrowing),
    answers: {
      200: { description: 'How many instances fit, for each status that one of them has', json: statusCounts },
    },
    refuses: ['request_invalid'],
  },
  postInstances: {
    method: 'POST',
    path: '/instances',
    scope: 'run',
    tag: 'instances',
    summary: 'Create an instance',
    body: createBody,
    answers: {
      202: {
        description: 'The instance is stored on disk and will be run',
        headers: { Location: text({ description: 'The path of its record' }) },
        json: instanceRecord,
      },
    },
    refuses: [
      ...([
        'form_invalid',
        'resolver_unknown',
        'feature_missing',
        'repo_refused',
        'docker_unreachable',
        'image_missing',
      ] as const),
      ...RESOLVER_TROUBLE,
      ...HOST_TROUBLE,
    ],
  },
  getInstance: {
    method: 'GET',
    path: '/instances/{id}',
    scope: 'read',
    tag: 'instances',
    summary: 'Read an instance',
    answers: record,
    refuses: ['instance_unknown', 'journal_broken'],
  },
  patchInstance: {
    method: 'PATCH',
    path: '/instances/{id}',
    scope: 'run',
    tag: 'instances',
    summary: 'Change its name or its labels',
    body: closed({ name: optional(name), labels: optional(labelChanges) }),
    answers: record,
    refuses: ['instance_unknown', 'disk_full', 'request_invalid'],
  },
  postInstanceRetry: {
    method: 'POST',
    path: '/instances/{id}/retry',
    scope: 'run',
    tag: 'instances',
    summary: 'Run it again: a new instance with the same resolver and input',
    description:
      'The fields of input replace those of before; secret fields must be among them. The new instance has this one as its parent.',
    body: retryBody,
    bodyOptional: true,
    answers: {
      202: {
        description: 'The new instance is stored on disk and will be run',
        headers: { Location: text({ description: 'The path of its record' }) },
        json: instanceRecord,
      },
    },
    refuses: [
      ...(['instance_unknown', 'form_invalid', 'resolver_unknown', 'feature_missing', 'repo_refused'] as const),
      ...(['docker_unreachable', 'image_missing'] as const),
      ...RESOLVER_TROUBLE,
      ...HOST_TROUBLE,
    ],
  },
  deleteInstance: {
    method: 'DELETE',
    path: '/instances/{id}',
    scope: 'run',
    tag: 'instances',
    summary: 'Cancel an instance',
    answers: record,
    refuses: ['instance_unknown', 'invalid_state', ...HOST_TROUBLE],
  },
  getInstanceStory: {
    method: 'GET',
    path: '/instances/{id}/story',
    scope: 'read',
    tag: 'instances',
    summary: 'Read its story: the summary of its events',
    answers: { 200: { description: 'The story', json: story } },
    refuses: ['instance_unknown', 'journal_broken'],
  },
  getInstanceState: {
    method: 'GET',
    path: '/instances/{id}/state',
    scope: 'read',
    tag: 'instances',
    summary: 'Read its state snapshot',
    answers: {
      200: {
        description:
          'The latest snapshot that the resolver wrote, with status, phase and updated_at; before the first one {status, phase}',
        json: instanceState,
      },
    },
    refuses: ['instance_unknown', ...SEALED_TROUBLE],
  },
  postInstancePause: {
    method: 'POST',
    path: '/instances/{id}/pause',
    scope: 'run',
    tag: 'instances',
    summary: 'Request a pause',
    answers: record,
    refuses: ['instance_unknown', 'invalid_state', 'resume_unsupported', ...HOST_TROUBLE],
  },
  postInstanceResume: {
    method: 'POST',
    path: '/instances/{id}/resume',
    scope: 'run',
    tag: 'instances',
    summary: 'Resume a paused instance',
    body: resumeBody,
    bodyOptional: true,
    answers: record,
    refuses: [
      'instance_unknown',
      'invalid_state',
      'resume_unsupported',
      'resume_exhausted',
      ...SEALED_TROUBLE,
      ...HOST_TROUBLE,
    ],
  },
  postInstanceStop: {
    method: 'POST',
    path: '/instances/{id}/stop',
    scope: 'run',
    tag: 'instances',
    summary: 'Request a graceful stop',
    body: stopBody,
    bodyOptional: true,
    answers: record,
    refuses: ['instance_unknown', 'invalid_state', ...HOST_TROUBLE],
  },
  getInstanceEvents: {
    method: 'GET',
    path: '/instances/{id}/events',
    scope: 'read',
    tag: 'instances',
    summary: 'Follow the events of an instance',
    query: eventsQuery,
    headers: object({
      'last-event-id': optional(text({ description: 'The number of the last event that the client got' })),
    }),
    answers: {
      200: {
        description:
          'Each event as `id: NUMBER` and `data: ENVELOPE`; at the end of the instance `data: {"type":"done"}`',
        type: 'text/event-stream',
      },
    },
    refuses: ['instance_unknown', 'cursor_unknown', 'too_many'],
  },
  getInstanceStderr: {
    method: 'GET',
    path: '/instances/{id}/stderr',
    scope: 'run',
    tag: 'instances',
    summary: "Read the end of its worker's stderr",
    answers: { 200: { description: 'The text, unchanged', type: 'text/plain' } },
    refuses: ['instance_unknown', ...SEALED_TROUBLE],
  },
  getInstanceLogs: {
    method: 'GET',
    path: '/instances/{id}/logs',
    scope: 'run',
    tag: 'instances',
    summary: 'Read what its worker printed and logged',
    description:
      'Pages of lines, oldest first: continue after the last number. With wait, a request without new lines stays open until there is one.',
    query: logsQuery,
    answers: {
      200: {
        description: 'One page; with format=jsonl or text, only its lines, and the next page in Link',
        headers: {
          Link: text({
            description: 'Where to continue, with rel="next"; absent after the last line of an ended instance',
          }),
        },
        json: logPage,
      },
    },
    refuses: ['instance_unknown', 'request_invalid', 'journal_broken', 'too_many'],
  },
  getInstanceSessions: {
    method: 'GET',
    path: '/instances/{id}/sessions',
    scope: 'read',
    tag: 'instances',
    summary: 'List its LLM sessions',
    description: 'The latest 500, oldest first. Each with its status, model, usage and estimated cost.',
    answers: { 200: { description: 'The sessions', json: listOf(sessionSummary) } },
    refuses: ['instance_unknown', 'journal_broken'],
  },
  getInstanceSessionTranscript: {
    method: 'GET',
    path: '/instances/{id}/sessions/{sid}/transcript',
    scope: 'run',
    tag: 'instances',
    summary: 'Read what an LLM session did',
    description:
      'Prompts, answers of the model, calls of tools and their results, in order. Known secrets are redacted. A session that runs adds to it: ask again with after.',
    query: transcriptQuery,
    answers: {
      200: {
        description: 'The transcript, or as much of it as one answer holds; with format=atif an ATIF document',
        json: either(transcriptDocument, atifDocument),
      },
    },
    refuses: ['instance_unknown', 'session_unknown', 'request_invalid', 'too_many', ...SEALED_TROUBLE],
  },
  getInstanceExport: {
    method: 'GET',
    path: '/instances/{id}/export',
    scope: 'read',
    tag: 'instances',
    summary: 'Export everything about the instance',
    answers: { 200: { description: "A gzip'd tar archive, without secrets", type: 'application/gzip' } },
    refuses: ['instance_unknown', 'journal_broken', 'too_many', ...SEALED_TROUBLE],
  },
  getInstanceHost: {
    method: 'GET',
    path: '/instances/{id}/host',
    scope: 'read',
    tag: 'instances',
    summary: 'Check whether a live host owns it',
    answers: {
      200: {
        description: 'The result of the check; no host is started',
        json: named(
          'Host',
          object({
            attended: flag({ description: 'Whether a live host owns the instance' }),
            answers: optional(flag({ description: 'false: the host lives and does not answer requests' })),
          }),
        ),
      },
    },
    refuses: ['instance_unknown'],
  },
  postInstanceAttend: {
    method: 'POST',
    path: '/instances/{id}/attend',
    scope: 'run',
    tag: 'instances',
    summary: 'Make sure that a live host owns it',
    answers: { 204: { description: 'A live host owns it, or it needs none' } },
    refuses: ['instance_unknown', ...HOST_TROUBLE],
  },
} as const satisfies Record<string, Operation>
