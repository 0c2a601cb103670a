/** The OpenAPI 3.1 document, made from the table of operations: {@link file://./../routes/server.ts} serves it. */
import { IDEMPOTENCY_KEY_MAX_CHARS } from '../../core/limits.ts'
import { type Operation, type OperationAnswer, TAGS, takesKey } from '../../core/protocol/api/operation.ts'
import { OPERATIONS } from '../../core/protocol/api/operations.ts'
import { API } from '../../core/protocol/http.ts'
import { NAME, type Schema } from '../../core/schema/schema.ts'
import { refusalAnswers } from './refusals.ts'

type Json = Record<string, unknown>

const INFO = {
  title: 'resolve',
  version: '1',
  description: 'Run instances of resolvers, follow their events, answer their questions.',
}

const KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Sent again with the same key and body, the request has no second effect: the first answer is given again, for 24 h.',
  schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_KEY_MAX_CHARS },
}

/** The path parameters, which are the same in every operation. */
const PARTS: Readonly<Record<string, Json>> = {
  id: { description: 'The instance', example: '0123456789ab' },
  rid: { description: 'The question' },
  sid: { description: 'The LLM session' },
  repo: { description: 'The repository: its name in the workspace', example: 'app' },
  name: { description: 'The resolver', example: 'hello' },
  path: { description: 'The path of the file' },
}

let made: Json | undefined

export function openApiDocument(): Json {
  made ??= makeDocument()
  return made
}

function makeDocument(): Json {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  for (const [operationId, operation] of Object.entries(OPERATIONS) as [string, Operation][]) {
    const url = `${API}${operation.path.replace('{+', '{')}`
    paths[url] ??= {}
    paths[url][operation.method.toLowerCase()] = { operationId, ...documented(operation, schemas) }
  }
  return {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'resolve token create' } },
      schemas,
    },
  }
}

function documented(operation: Operation, schemas: Json): Json {
  const { path, scope, tag, summary, description, takes, query, headers, body, bodyOptional = false } = operation
  const needs = scope === null ? 'Needs no token.' : `Needs a token with scope ${scope}.`
  const parts = [...path.matchAll(/\{\+?(\w+)\}/g)].map(([, name = '']) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
    ...PARTS[name],
  }))
  const answers = Object.entries(operation.answers).map(([status, answer]) => [status, answerOf(answer, schemas)])
  return {
    summary,
    tags: [tag],
    description: description === undefined ? needs : `${description} ${needs}`,
    ...(scope === null ? { security: [] } : {}),
    parameters: [
      ...parts,
      ...parametersOf(query, 'query'),
      ...parametersOf(headers, 'header'),
      ...(takesKey(operation) ? [KEY_PARAMETER] : []),
    ],
    ...(body === undefined ? {} : { requestBody: { required: !bodyOptional, content: jsonContent(body, schemas) } }),
    ...(takes === undefined ? {} : { requestBody: { required: true, content: { [takes]: {} } } }),
    responses: { ...Object.fromEntries(answers), ...refusalAnswers(operation, (schema) => reference(schema, schemas)) },
  }
}

function parametersOf(fields: Schema | undefined, place: 'query' | 'header'): Json[] {
  return Object.entries((fields?.['properties'] ?? {}) as Json).map(([name, field]) => {
    const { description, examples, ...schema } = field as Json
    const [example] = (examples ?? []) as unknown[]
    return {
      ...{ name, in: place, required: false, schema },
      ...(description === undefined ? {} : { description }),
      ...(example === undefined ? {} : { example }),
    }
  })
}

function answerOf({ description, headers, json, type }: OperationAnswer, schemas: Json): Json {
  const isText = type?.startsWith('text/') ?? false
  const raw = { type: 'string', ...(isText ? {} : { contentMediaType: type }) }
  return {
    description,
    ...(headers === undefined ? {} : { headers: headersOf(headers) }),
    ...(json === undefined ? {} : { content: jsonContent(json, schemas) }),
    ...(type === undefined ? {} : { content: { [type]: { schema: raw } } }),
  }
}

function headersOf(headers: Readonly<Record<string, Schema>>): Json {
  return Object.fromEntries(
    Object.entries(headers).map(([name, { description, ...schema }]) => [
      name,
      { schema, ...(description === undefined ? {} : { description }) },
    ]),
  )
}

function jsonContent(schema: Schema, schemas: Json): Json {
  return { 'application/json': { schema: reference(schema, schemas) } }
}

/** The schema as the document has it: a named shape is a reference to a component. */
function reference(schema: Schema, schemas: Json): Json {
  const name = schema[NAME]
  if (name === undefined) return inlined(schema, schemas)
  schemas[name] ??= inlined(schema, schemas)
  return { $ref: `#/components/schemas/${name}` }
}

function inlined(schema: Schema, schemas: Json): Json {
  const { properties, items, anyOf, additionalProperties, ...rest } = schema as Json
  const inside = (one: unknown) => reference(one as Schema, schemas)
  const isMap = typeof additionalProperties === 'object'
  return {
    ...rest,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(Object.entries(properties as Json).map(([name, one]) => [name, inside(one)])),
        }),
    ...(items === undefined ? {} : { items: inside(items) }),
    ...(anyOf === undefined ? {} : { anyOf: (anyOf as unknown[]).map(inside) }),
    ...(additionalProperties === undefined
      ? {}
      : { additionalProperties: isMap ? inside(additionalProperties) : additionalProperties }),
  }
}
