/** Operations on the targets of notifications. Addresses and signing secrets go in, and never come out. */
import {
  closed,
  count,
  flag,
  listOf,
  named,
  nullable,
  object,
  oneOf,
  optional,
  type Static,
  text,
  time,
} from '../../schema/schema.ts'
import type { Operation } from './operation.ts'

/** webhook: a signed JSON document (Standard Webhooks). slack: a message for a Slack-compatible webhook. desktop: this machine's own. */
export const NOTIFY_KINDS = ['webhook', 'slack', 'desktop'] as const
export type NotifyKind = (typeof NOTIFY_KINDS)[number]

/** question: an instance asks. end: it is completed or cancelled. failure: it failed. */
export const NOTIFY_EVENTS = ['question', 'end', 'failure'] as const
export type NotifyEvent = (typeof NOTIFY_EVENTS)[number]

export const NOTIFY_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'

export type NotifyTarget = Static<typeof notifyTarget>

export const notifyTarget = named(
  'NotifyTarget',
  object({
    name: text(),
    kind: oneOf(NOTIFY_KINDS),
    address: nullable(text(), { description: 'Scheme and host; the rest of the address may be secret' }),
    events: listOf(oneOf(NOTIFY_EVENTS)),
    resolver: nullable(text(), { description: 'The only resolver whose instances are told; null for all' }),
    link: nullable(text(), { description: 'The address of the page, for links' }),
    created_at: time(),
    waiting: count({ description: 'Instances with a notification that is being sent, or could not be sent yet' }),
    given_up: count({ description: 'Notifications that were given up' }),
    failing_since: nullable(text()),
    last_error: nullable(text()),
  }),
  'Where notifications are sent',
)

const URL_MAX_CHARS = 2_048

export type NotifyRequest = Static<typeof notifyRequest>

export const notifyRequest = closed({
  name: text({ pattern: NOTIFY_NAME_PATTERN }),
  kind: oneOf(NOTIFY_KINDS),
  url: optional(text({ maxLength: URL_MAX_CHARS, description: 'For webhook and slack' })),
  secret: optional(
    text({ maxLength: 200, description: 'For webhook: whsec_ and 24 to 64 bytes in base64; signs what is sent' }),
  ),
  events: optional(listOf(oneOf(NOTIFY_EVENTS), { minItems: 1, maxItems: 3 })),
  resolver: optional(nullable(text({ maxLength: 64 }))),
  link: optional(nullable(text({ maxLength: URL_MAX_CHARS }))),
})

export type NotifyOutcome = Static<typeof notifyOutcome>

export const notifyOutcome = object({
  delivered: flag(),
  error: nullable(text(), { description: 'Why the target did not take it' }),
})

/** One notification: the same content for every target. */
export interface Notice {
  event: NotifyEvent
  /** The number of its event in the journal. */
  seq: number
  /** ISO-8601 UTC. */
  at: string
  instance_id: string
  name: string | null
  resolver: string
  status: string
  request_id?: string
  prompt?: string
  error?: { code: string; detail: string } | null
}

const TROUBLE = ['notify_broken', 'secret_key_unusable', 'lock_held', 'disk_full', 'home_unusable'] as const

export const NOTIFY_OPERATIONS = {
  getNotify: {
    method: 'GET',
    path: '/notify',
    scope: 'admin',
    tag: 'server',
    summary: 'List the targets of notifications, and what waits to be sent',
    answers: { 200: { description: 'In the order in which they were added', json: listOf(notifyTarget) } },
    refuses: TROUBLE,
  },
  postNotify: {
    method: 'POST',
    path: '/notify',
    scope: 'admin',
    tag: 'server',
    summary: 'Add a target of notifications',
    body: notifyRequest,
    answers: { 200: { description: 'It is stored on disk', json: notifyTarget } },
    refuses: ['usage', 'notify_exists', 'resolver_unknown', 'catalog_broken', ...TROUBLE],
  },
  deleteNotify: {
    method: 'DELETE',
    path: '/notify/{name}',
    scope: 'admin',
    tag: 'server',
    summary: 'Remove a target of notifications',
    answers: { 200: { description: 'It was removed', json: notifyTarget } },
    refuses: ['notify_unknown', ...TROUBLE],
  },
  postNotifyTest: {
    method: 'POST',
    path: '/notify/{name}/test',
    scope: 'admin',
    tag: 'server',
    summary: 'Send a test to a target of notifications, once',
    answers: { 200: { description: 'Whether the target took it', json: notifyOutcome } },
    refuses: ['notify_unknown', ...TROUBLE],
  },
} as const satisfies Record<string, Operation>
