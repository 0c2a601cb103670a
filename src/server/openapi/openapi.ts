/** The OpenAPI 3.1 document, made from the routes themselves: {@link file://./../routes/openapi.ts} serves it. */
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifySchema, RouteOptions } from 'fastify'
import { IDEMPOTENCY_KEY_MAX_CHARS } from '../../core/limits.ts'
import { refusals, type ToldCode } from './refusals.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What the route may refuse beside what every route of its kind may. */
    refuses?: readonly ToldCode[]
    /** A request without a body is served too. */
    bodyOptional?: boolean
  }
}

export const KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Sent again with the same key and body, the request has no second effect: the first answer is given again, for 24 h.',
  schema: { type: 'string', minLength: 1, maxLength: IDEMPOTENCY_KEY_MAX_CHARS },
}

const INFO = {
  title: 'resolve',
  version: '1',
  description: 'Run instances of resolvers, follow their events, answer their questions.',
}

const TAGS = [
  { name: 'instances', description: 'Runs of a resolver: created, followed, paused, stopped' },
  { name: 'questions', description: 'What instances ask, and are told' },
  { name: 'data', description: 'Files that instances write' },
  { name: 'resolvers', description: 'The catalog and its forms' },
  { name: 'server', description: 'Looking after the server' },
]

export const DOCUMENT: FastifyDynamicSwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: INFO,
    servers: [{ url: '/' }],
    tags: TAGS,
    security: [{ token: [] }],
    components: { securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'resolve token create' } } },
  },
  convertConstToEnum: false,
  refResolver: { buildLocalReference: (schema, _base, _fragment, at) => String(schema['$id'] ?? `def-${at}`) },
  transform: ({ schema, url, route }) => ({ schema: documented(schema ?? {}, route), url }),
  transformObject: (document) => {
    if (!('openapiObject' in document)) return document.swaggerObject
    for (const path of Object.values(document.openapiObject.paths ?? {})) complete(path as Record<string, Operation>)
    return renamed(document.openapiObject as never)
  },
}

interface Operation {
  parameters?: unknown[]
  requestBody?: { required: boolean }
  'x-key'?: boolean
  'x-body-optional'?: boolean
}

/** What follows from a route being what it is. */
function documented(schema: FastifySchema, route: RouteOptions): FastifySchema {
  const { needs = 'admin', refuses = [], bodyOptional = false } = route.config ?? {}
  const method = String(Array.isArray(route.method) ? route.method[0] : route.method)
  const isOpen = needs === 'nobody'
  const response = { ...(schema.response as object), ...refusals(refuses, { method, isOpen }) }
  const scope = isOpen ? 'Needs no token.' : `Needs a token with scope ${needs}.`
  const { description } = schema as { description?: string }
  return {
    ...schema,
    ...{ description: description === undefined ? scope : `${description} ${scope}` },
    operationId: operationIdOf(method, route.url),
    ...(isOpen ? { security: [] } : {}),
    ...(method === 'POST' && !isOpen ? { 'x-key': true } : {}),
    ...(bodyOptional ? { 'x-body-optional': true } : {}),
    response,
  } as FastifySchema
}

/** `GET /api/instances/:id/input-requests/:rid` is `getInstanceInputRequest`: what clients are generated with. */
function operationIdOf(method: string, url: string): string {
  const parts = url.replace('/api/', '').split('/')
  const words = parts.flatMap((part, at) => {
    if (part.startsWith(':') || part === '*') return []
    const isOne = parts[at + 1]?.startsWith(':') === true || parts[at + 1] === '*'
    return (isOne ? part.replace(/s$/, '') : part).split(/[-.]/)
  })
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return method.toLowerCase() + name + (url.endsWith('*') ? 'File' : '')
}

/** What the generator can't be told by a schema. */
function complete(path: Record<string, Operation>): void {
  for (const operation of Object.values(path)) {
    if (operation['x-key'] === true) operation.parameters = [...(operation.parameters ?? []), KEY_PARAMETER]
    if (operation['x-body-optional'] === true && operation.requestBody !== undefined) {
      operation.requestBody.required = false
    }
    delete operation['x-key']
    delete operation['x-body-optional']
  }
}

/** The rest of a path is called `*` by the router, and `path` by everyone else. */
function renamed<T extends { paths: Record<string, Record<string, { parameters?: { name: string }[] }>> }>(all: T): T {
  const paths = Object.entries(all.paths).map(([url, path]) => {
    for (const { parameters = [] } of Object.values(path)) {
      for (const parameter of parameters) if (parameter.name === '*') parameter.name = 'path'
    }
    return [url.replace(/\{?\*\}?$/, '{path}'), path]
  })
  return { ...all, paths: Object.fromEntries(paths) }
}
