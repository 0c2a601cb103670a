/** Operations on the targets of notifications. Addresses and signing secrets go in, and never come out. */
import { notifyOutcome, notifyRequest, notifyTarget } from '../notify.ts'
import { listOf } from '../schema.ts'
import type { Operation } from './operation.ts'

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
    refuses: ['usage', 'notify_exists', ...TROUBLE],
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
