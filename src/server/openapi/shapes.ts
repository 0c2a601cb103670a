/** The shapes of the API by name: the components of its OpenAPI document (R8; spec, Resources). Named by {@link shape}. */
import { SCOPES } from '../../core/protocol/http.ts'
import { STATUSES } from '../../core/protocol/status.ts'
import { RECORD_SHAPES } from './record-shapes.ts'

type JsonSchema = Readonly<Record<string, unknown>>

const text = { type: 'string' }
const time = { type: 'string', format: 'date-time', description: 'ISO-8601, UTC' }
const count = { type: 'integer', minimum: 0 }

/** An object that has all of `properties`, except those listed as optional, and may come to have more. */
export function object(properties: Record<string, JsonSchema>, optional: readonly string[] = []): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', properties, required }
}

/** A component by its name. */
export function shape(name: keyof typeof SHAPES): JsonSchema {
  return { $ref: `${name}#` }
}

export function listOf(name: keyof typeof SHAPES): JsonSchema {
  return { type: 'array', items: shape(name) }
}

export const SHAPES = {
  ...RECORD_SHAPES,
  Error: {
    description: 'What was refused, or failed, and why',
    ...object(
      {
        detail: { type: 'string', description: 'One sentence for a person' },
        code: { type: 'string', description: 'For a program; docs/errors.md lists every one' },
        hint: { type: 'string', description: 'What can be done about it' },
      },
      ['hint'],
    ),
  },
  FormError: {
    description: 'A submitted form fails: the messages of all its failing checks, in their order',
    ...object({ detail: { type: 'string', const: 'Validation failed' }, errors: { type: 'array', items: text } }),
    additionalProperties: false,
  },
  Accepted: {
    description: 'The message is on disk, and will be delivered',
    ...object({ accepted: { type: 'boolean', const: true }, number: { ...count, description: 'Counts from 1' } }),
  },
  SentMessage: object({
    number: count,
    message_type: text,
    payload: { $ref: 'Payload#' },
    actor: text,
    via: text,
    at: time,
  }),
  DataFile: object({ path: text, bytes: count, modified_at: time }),
  Resolver: {
    description: 'A resolver of the catalog. Where it lies on the server is told to nobody outside of it.',
    ...object({
      name: text,
      version: text,
      description: text,
      supports_resume: { type: 'boolean' },
      kind: { type: 'string', enum: ['builtin', 'directory', 'git'] },
      source: { type: ['string', 'null'], description: 'Null for a directory of the server' },
      commit: { type: ['string', 'null'] },
      ref: { type: ['string', 'null'] },
      dir: { type: ['string', 'null'], description: 'Null outside of the machine' },
      manifest: { type: 'object' },
      added_at: time,
    }),
  },
  FormCheck: {
    description: 'The form for an input, and what it says of it',
    ...object({
      form: { anyOf: [{ $ref: 'Form#' }, { type: 'null' }] },
      errors: { type: 'array', items: text },
      fields: { type: 'array', items: object({ id: text, message: text }) },
    }),
  },
  Host: object({ attended: { type: 'boolean', description: 'Whether a live host owns the instance' } }),
  PruneOutcome: object({
    dry_run: { type: 'boolean' },
    removed: {
      type: 'array',
      items: object({
        instance_id: text,
        name: { type: ['string', 'null'] },
        resolver: text,
        status: { type: 'string', enum: [...STATUSES] },
        ended_at: time,
        bytes: count,
      }),
    },
    leftovers: object({ count, bytes: count }),
  }),
  HealthRow: object({
    check: text,
    state: { type: 'string', enum: ['ok', 'note', 'failed', 'mended'] },
    message: text,
    mend: { type: ['string', 'null'], description: 'The command that mends it' },
  }),
  Scope: { type: 'string', enum: [...SCOPES] },
} as const satisfies Record<string, JsonSchema>
