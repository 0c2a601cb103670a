/** The shapes of an instance: its record, its story, its questions and messages (R8, R28; spec, Resources). */
import { FORM_MAX_COMPONENTS } from '../../core/limits.ts'
import { STATUSES } from '../../core/protocol/status.ts'

const text = { type: 'string' }
const textOrNull = { type: ['string', 'null'] }
const time = { type: 'string', format: 'date-time', description: 'ISO-8601, UTC' }
const timeOrNull = { type: ['string', 'null'], format: 'date-time' }
const count = { type: 'integer', minimum: 0 }
const status = { type: 'string', enum: [...STATUSES] }
const problem = { type: ['object', 'null'], properties: { code: text, detail: text }, required: ['code', 'detail'] }

const record = {
  instance_id: { type: 'string', pattern: '^[0-9a-f]{12}$' },
  name: { ...textOrNull, description: 'For people' },
  resolver: text,
  resolver_version: text,
  status,
  input: { $ref: 'Payload#' },
  output: textOrNull,
  error: problem,
  supports_resume: { type: 'boolean' },
  resolver_state: { type: ['object', 'null'], description: 'The latest state snapshot' },
  phase: textOrNull,
  pending_inputs: { ...count, description: 'How many questions wait for an answer' },
  created_at: time,
  updated_at: time,
  ended_at: timeOrNull,
  parent_id: textOrNull,
}

const story = {
  creation: { type: 'object', description: 'What was fixed when the instance was created' },
  status,
  history: {
    type: 'array',
    items: {
      type: 'object',
      properties: { status, at: time, reason: textOrNull },
      required: ['status', 'at', 'reason'],
    },
  },
  phase: textOrNull,
  phases: { type: 'array', items: { type: 'object' } },
  progress: { type: ['object', 'null'] },
  artifacts: { type: 'array', items: { type: 'object' } },
  requests: { type: 'array', items: { type: 'object' } },
  messages: { type: 'array', items: { type: 'object' } },
  changedData: { type: 'array', items: text },
  completion: { type: ['object', 'null'] },
  output: textOrNull,
  error: problem,
  incarnation: count,
  wantedIncarnation: count,
  adoptions: count,
  rejected: count,
  lastSeq: { ...count, description: 'The number of the last event' },
  lastEventAt: time,
  endedAt: timeOrNull,
}

const request = {
  id: text,
  prompt: text,
  schema: { $ref: 'Form#' },
  status: { type: 'string', enum: ['pending', 'answered', 'cancelled'] },
}

const messageType = { name: text, label: text, description: text, schema: { $ref: 'Form#' } }

export const RECORD_SHAPES = {
  Payload: { type: 'object', description: 'What a person filled in, by the id of the component' },
  Form: {
    description: 'A form in the dialect of docs/forms.md',
    type: 'object',
    properties: {
      type: { type: 'string', const: 'form' },
      components: { type: 'array', maxItems: FORM_MAX_COMPONENTS, items: { type: 'object' } },
    },
    required: ['type', 'components'],
  },
  Instance: { type: 'object', properties: record, required: Object.keys(record) },
  Story: {
    description: 'What a person sees of an instance, as all that its events tell',
    type: 'object',
    properties: story,
    required: Object.keys(story),
  },
  InputRequest: {
    description: 'A question of a resolver',
    type: 'object',
    properties: request,
    required: Object.keys(request),
  },
  MessageType: {
    description: 'A message that the resolver takes now',
    type: 'object',
    properties: messageType,
    required: ['name', 'label', 'schema'],
  },
} as const
