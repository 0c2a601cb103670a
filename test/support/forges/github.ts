/**
 * GitHub's double. Requests and answers are checked against GitHub's own description (test/support/forges/github-description.json; MIT,
 * made by scripts/github-description.mjs): a request that does not fit fails the test, and so does an answer.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import {
  type Asked,
  addPull,
  type Behaviour,
  type Dialect,
  FORGE_TOKEN,
  type KeptPull,
  pageOf,
  type Reply,
  sameOpen,
} from './double.ts'

type Json = Record<string, unknown>
interface Described {
  parameters?: Json[]
  requestBody?: { content: { 'application/json': { schema: Json } } }
  responses: Record<string, Json>
}

const description = JSON.parse(readFileSync(join(import.meta.dirname, 'github-description.json'), 'utf8')) as {
  paths: Record<string, Record<string, Described>>
  components: Json
}

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema({ ...description, $id: 'github' } as unknown as Json)
const compiled = new Map<unknown, ValidateFunction>()

/** The first problem of a value with a schema of the description. */
function problemOf(schema: Json, value: unknown): string | undefined {
  const check = compiled.get(schema) ?? ajv.compile(absolute(schema) as Json)
  compiled.set(schema, check)
  return check(value) ? undefined : ajv.errorsText(check.errors).slice(0, 500)
}

function absolute(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(absolute)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    key === '$ref' && typeof inner === 'string' ? inner.replace(/^#/, 'github#') : absolute(inner),
  ])
  return Object.fromEntries(entries) as Json
}

function resolved(value: Json): Json {
  const ref = value['$ref']
  if (typeof ref !== 'string') return value
  return ref
    .slice(2)
    .split('/')
    .reduce((at, key) => at[key] as Json, description as unknown as Json)
}

/** The smallest value that a schema allows, with all required fields. */
function sampleOf(schema: Json): unknown {
  const at = resolved(schema)
  if (at['nullable'] === true) return null
  const choices = (at['oneOf'] ?? at['anyOf']) as Json[] | undefined
  if (choices?.[0] !== undefined) return sampleOf(choices[0])
  const all = at['allOf'] as Json[] | undefined
  if (all !== undefined) return Object.assign({}, ...all.map(sampleOf)) as unknown
  const values = at['enum'] as unknown[] | undefined
  if (values !== undefined) return values[0]
  if (at['type'] === 'string') return at['format'] === 'date-time' ? '2026-01-02T03:04:05Z' : 'x'
  if (at['type'] === 'integer' || at['type'] === 'number') return 1
  if (at['type'] === 'boolean') return false
  if (at['type'] === 'array') return []
  const properties = (at['properties'] ?? {}) as Record<string, Json>
  const required = (at['required'] ?? []) as string[]
  return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {})]))
}

const OWNER = 'octo'
const NAME = 'repo'
const API = '/api/v3'

export const githubDialect: Dialect = (asked, state) => {
  if (!asked.path.startsWith(API)) return undefined
  const path = asked.path.slice(API.length)
  const number = /^\/repos\/octo\/repo\/pulls\/(\d+)$/.exec(path)?.[1]
  const template =
    path === '/user' ? path : number !== undefined ? PULL : path === `/repos/${OWNER}/${NAME}/pulls` ? PULLS : undefined
  const operation = template === undefined ? undefined : description.paths[template]?.[asked.method.toLowerCase()]
  if (operation === undefined || template === undefined) return notFound
  if (asked.headers.authorization?.replace(/^(?:token|Bearer) /i, '') !== FORGE_TOKEN) {
    return {
      status: 401,
      body: { message: 'Bad credentials', documentation_url: 'https://docs.github.com/rest', status: '401' },
    }
  }
  checkRequest(operation, asked)
  const reply = answer(template, number, asked, state)
  checkReply(operation, reply)
  return reply
}

const PULLS = '/repos/{owner}/{repo}/pulls'
const PULL = '/repos/{owner}/{repo}/pulls/{pull_number}'
const notFound: Reply = {
  status: 404,
  body: { message: 'Not Found', documentation_url: 'https://docs.github.com/rest', status: '404' },
}

function answer(template: string, number: string | undefined, asked: Asked, state: Behaviour): Reply {
  const { method, base } = asked
  if (template === '/user') {
    const user = sampleOf({ $ref: '#/components/schemas/public-user' }) as Json
    return { status: 200, body: { ...user, login: 'octo-bot', user_view_type: 'public' } }
  }
  if (template === PULLS) return method === 'GET' ? list(asked, state) : create(asked, state)
  const pull = state.pulls.find((one) => one.number === Number(number))
  if (pull === undefined) return notFound
  if (method === 'PATCH') Object.assign(pull, changes(asked.body as Json))
  return { status: 200, body: shown('pull-request', pull, base) }
}

function changes({ title, body, state }: Json): Partial<KeptPull> {
  return {
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof body === 'string' ? { body } : {}),
    ...(typeof state === 'string' ? { isOpen: state === 'open' } : {}),
  }
}

function list({ query, base }: Asked, { pulls }: Behaviour): Reply {
  const [head, target] = [query.get('head'), query.get('base')]
  const found = pulls
    .filter(({ isOpen }) => isOpen)
    // A filter without an owner is ignored, as GitHub does.
    .filter((one) => head === null || !head.includes(':') || `${one.isFork ? 'someone' : OWNER}:${one.head}` === head)
    .filter((one) => target === null || one.target === target)
  const { page } = pageOf(found, query.get('page'), query.get('per_page'))
  return { status: 200, body: page.map((one) => shown('pull-request-simple', one, base)) }
}

function create({ body, base }: Asked, state: Behaviour): Reply {
  const {
    title = '',
    head,
    base: target,
    body: text = '',
    draft = false,
  } = body as Record<string, string> & { draft?: boolean }
  const name = String(head).replace(/^.*?:/, '')
  if (draft === true && state.noDrafts) return invalid('Draft pull requests are not supported in this repository.')
  if (sameOpen(state, name, String(target)) !== undefined)
    return invalid(`A pull request already exists for ${OWNER}:${name}.`)
  if (state.empty.has(name)) return invalid(`No commits between ${target} and ${name}`)
  const pull = addPull(state, { head: name, target: String(target), title, body: text, isDraft: draft === true })
  return { status: 201, body: shown('pull-request', pull, base) }
}

function invalid(message: string): Reply {
  return {
    status: 422,
    body: {
      message: 'Validation Failed',
      errors: [{ resource: 'PullRequest', code: 'custom', message }],
      documentation_url: 'https://docs.github.com/rest/pulls/pulls#create-a-pull-request',
      status: '422',
    },
  }
}

function shown(schema: string, pull: KeptPull, base: string): Json {
  const sample = sampleOf({ $ref: `#/components/schemas/${schema}` }) as Json & { head: Json; base: Json }
  const full = `${pull.isFork ? 'someone' : OWNER}/${NAME}`
  const repository = (name: string) => ({
    ...(sampleOf({ $ref: '#/components/schemas/repository' }) as Json),
    full_name: name,
  })
  return {
    ...sample,
    number: pull.number,
    html_url: `${base}/${OWNER}/${NAME}/pull/${pull.number}`,
    title: pull.title,
    body: pull.body,
    draft: pull.isDraft,
    state: pull.isOpen ? 'open' : 'closed',
    head: { ...sample.head, ref: pull.head, repo: repository(full) },
    base: { ...sample.base, ref: pull.target, repo: repository(`${OWNER}/${NAME}`) },
  }
}

class OffDescription extends Error {}

function checkRequest({ parameters = [], requestBody }: Described, { query, body }: Asked): void {
  const known = parameters.map(resolved).filter((one) => one['in'] === 'query')
  for (const [name, value] of query) {
    const parameter = known.find((one) => one['name'] === name)
    if (parameter === undefined) throw new OffDescription(`GitHub has no query parameter ${name}`)
    const schema = parameter['schema'] as Json
    const typed = schema['type'] === 'integer' ? Number(value) : value
    const problem = problemOf(schema, typed)
    if (problem !== undefined) throw new OffDescription(`query ${name}: ${problem}`)
  }
  if (requestBody === undefined) return
  const { schema } = requestBody.content['application/json']
  const unknown = Object.keys(body as Json).filter((name) => !(name in (schema['properties'] as Json)))
  const problem = unknown.length > 0 ? `unknown ${unknown.join(', ')}` : problemOf(schema, body)
  if (problem !== undefined) throw new OffDescription(`body: ${problem}`)
}

function checkReply({ responses }: Described, { status, body }: Reply): void {
  const response = responses[String(status)]
  // 401 and 404 are not described at each operation.
  if (response === undefined) return
  const content = resolved(response)['content'] as Record<string, { schema: Json }>
  const problem = problemOf(content['application/json']?.schema ?? {}, body)
  if (problem !== undefined) throw new OffDescription(`answer ${status}: ${problem}`)
}
