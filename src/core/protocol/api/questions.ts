/** Operations on the input requests, messages and data files of an instance (spec, Endpoints; R9, R13, R25, R28). */
import { INBOX_MAX_INSTANCES } from '../../limits.ts'
import { constant, count, integer, listOf, named, object, oneOf, optional, text, time } from '../../schema/schema.ts'
import { payload } from '../form.ts'
import { dataFile, inboxEntry, inputRequest, messageType, REQUEST_STATUSES, sentMessage } from '../instance.ts'
import { HOST_TROUBLE, type Operation } from './operation.ts'

const accepted = named(
  'Accepted',
  object({ accepted: constant(true), number: count({ description: 'Counts from 1' }) }),
  'The message is on disk, and will be delivered',
)

const fileHeaders = {
  'Accept-Ranges': text(),
  'Last-Modified': text(),
  'Content-Disposition': text({
    description: 'attachment, unless a browser can show it without running anything',
  }),
}

export const QUESTION_OPERATIONS = {
  getInbox: {
    method: 'GET',
    path: '/inbox',
    scope: 'read',
    tag: 'questions',
    narrows: true,
    summary: 'List the open input requests of all instances',
    description: `Of the ${INBOX_MAX_INSTANCES} newest instances that wait for an answer. A token of one instance gets those of its instance.`,
    answers: { 200: { description: 'The oldest first', json: listOf(inboxEntry) } },
    refuses: [],
  },
  getInstanceInputRequests: {
    method: 'GET',
    path: '/instances/{id}/input-requests',
    scope: 'read',
    tag: 'questions',
    summary: 'List its input requests',
    query: object({ status: optional(oneOf(REQUEST_STATUSES)) }),
    answers: { 200: { description: 'In the order of their creation', json: listOf(inputRequest) } },
    refuses: ['instance_unknown', 'request_invalid', 'journal_broken'],
  },
  getInstanceInputRequest: {
    method: 'GET',
    path: '/instances/{id}/input-requests/{rid}',
    scope: 'read',
    tag: 'questions',
    summary: 'Read an input request',
    answers: { 200: { description: 'The input request', json: inputRequest } },
    refuses: ['instance_unknown', 'request_unknown', 'journal_broken'],
  },
  postInstanceInputRequest: {
    method: 'POST',
    path: '/instances/{id}/input-requests/{rid}',
    scope: 'run',
    tag: 'questions',
    summary: 'Answer an input request',
    description: 'The first valid answer wins.',
    body: payload,
    answers: { 204: { description: 'The answer is stored on disk and will be delivered' } },
    refuses: [
      ...(['instance_unknown', 'request_unknown', 'form_invalid', 'invalid_state'] as const),
      ...(['already_answered', 'request_cancelled'] as const),
      ...HOST_TROUBLE,
    ],
  },
  getInstanceMessageTypes: {
    method: 'GET',
    path: '/instances/{id}/message-types',
    scope: 'read',
    tag: 'questions',
    summary: 'List the message types that it accepts now',
    answers: { 200: { description: 'The types can change with the phase', json: listOf(messageType) } },
    refuses: [
      ...(['instance_unknown', 'invalid_state', 'resolver_silent', 'resolver_gone', 'form_malformed'] as const),
      ...HOST_TROUBLE,
    ],
  },
  getInstanceMessages: {
    method: 'GET',
    path: '/instances/{id}/messages',
    scope: 'read',
    tag: 'questions',
    summary: 'List the messages that were sent to it, one page',
    query: object({
      after: optional(
        integer({
          minimum: 0,
          default: 0,
          description: 'Only messages with a greater number: the last number of a page gives the next page',
        }),
      ),
    }),
    answers: { 200: { description: 'In the order of their creation', json: listOf(sentMessage) } },
    refuses: ['instance_unknown', 'journal_broken', 'request_invalid'],
  },
  postInstanceMessages: {
    method: 'POST',
    path: '/instances/{id}/messages',
    scope: 'run',
    tag: 'questions',
    summary: 'Send a message',
    body: object({ message_type: text(), payload }),
    answers: { 202: { description: 'Accepted', json: accepted } },
    refuses: [
      ...(['instance_unknown', 'message_type_unknown', 'form_invalid', 'invalid_state'] as const),
      ...(['resolver_silent', 'resolver_gone', 'form_malformed'] as const),
      ...HOST_TROUBLE,
    ],
  },
  postInstanceViewportToken: {
    method: 'POST',
    path: '/instances/{id}/viewport-token',
    scope: 'read',
    tag: 'data',
    summary: 'Get a token that reads this instance only, for the requests of its viewport',
    description: 'It expires soon, and at once when the token of this request is revoked.',
    answers: { 200: { description: 'The token', json: object({ token: text(), expires_at: time() }) } },
    refuses: ['instance_unknown', 'usage'],
  },
  getInstanceData: {
    method: 'GET',
    path: '/instances/{id}/data',
    scope: 'read',
    tag: 'data',
    summary: 'List its data files',
    answers: { 200: { description: 'Sorted by path', json: listOf(dataFile) } },
    refuses: ['instance_unknown', 'host_unreachable'],
  },
  getInstanceDataArchive: {
    method: 'GET',
    path: '/instances/{id}/data.tar.gz',
    scope: 'read',
    tag: 'data',
    summary: 'Read all its data files as an archive',
    answers: { 200: { description: "A gzip'd tar archive", type: 'application/gzip' } },
    refuses: ['instance_unknown', 'host_unreachable', 'too_many'],
  },
  getInstanceDataFile: {
    method: 'GET',
    path: '/instances/{id}/data/{+path}',
    scope: 'read',
    tag: 'data',
    summary: 'Read a data file',
    description: 'HEAD gives its size and modification time. One range of bytes can be requested.',
    headers: object({ range: optional(text({ description: 'One byte range', examples: ['bytes=0-1023'] })) }),
    answers: {
      200: {
        description: 'The file, with the content type of its file name',
        headers: fileHeaders,
        type: 'application/octet-stream',
      },
      206: {
        description: 'The requested part',
        headers: { ...fileHeaders, 'Content-Range': text() },
        type: 'application/octet-stream',
      },
    },
    refuses: ['instance_unknown', 'file_unknown', 'path_refused', 'range_unsatisfiable', 'host_unreachable'],
  },
} as const satisfies Record<string, Operation>
