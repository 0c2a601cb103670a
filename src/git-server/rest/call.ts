/** One request of the REST API while it is answered: its parts, already bounded, and the answer that a handler returns. */
import { GIT_PAGE_MAX_ROWS, GIT_PAGE_ROWS } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import type { GitService } from '../pulls/service.ts'
import { Refusal } from '../repository/refusal.ts'
import type { Repository } from '../repository/repositories.ts'

export interface Call {
  service: GitService
  /** The parts of the path that the route names, decoded. */
  part: (name: string) => string
  query: URLSearchParams
  /** The path without its query, for links to other pages. */
  path: string
  /** The fields of the body; empty where there is none. */
  body: Readonly<Record<string, unknown>>
}

export interface Answer {
  status: number
  headers?: Readonly<Record<string, string>>
  /** Undefined: no body. A string or bytes are sent as they are, with the type among the headers. */
  json?: unknown
  content?: string | Buffer
}

export type Handler = (call: Call) => Promise<Answer> | Answer

export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, json: value, headers }
}

export function empty(status: number): Answer {
  return { status }
}

export function text(content: string | Buffer, type = 'text/plain;charset=utf-8'): Answer {
  return { status: 200, content, headers: { 'content-type': type } }
}

/** The owner in the path does not matter: every repository has the same one. */
export function repositoryOf({ service, part }: Call): Repository {
  const name = part('repo')
  const found = service.repositories.find(name) ?? service.repositories.find(name.replace(/\.git$/, ''))
  if (found === undefined) throw new Refusal(404, 'there is no such repository')
  return found
}

export function numberOf(call: Call, name: string): number {
  const value = call.part(name)
  if (!/^\d{1,9}$/.test(value)) throw new Refusal(404, `${name} is not a number`)
  return Number(value)
}

export interface Page {
  page: number
  limit: number
}

export function pageOf({ query }: Call): Page {
  const page = Number(query.get('page') ?? 1)
  const limit = Number(query.get('limit') ?? GIT_PAGE_ROWS)
  return {
    page: Number.isSafeInteger(page) && page > 0 ? Math.min(page, 1_000_000) : 1,
    limit: Number.isSafeInteger(limit) && limit > 0 ? Math.min(limit, GIT_PAGE_MAX_ROWS) : GIT_PAGE_ROWS,
  }
}

export function rowsOn<T>({ page, limit }: Page, rows: readonly T[]): T[] {
  return rows.slice((page - 1) * limit, page * limit)
}

/** How many rows there are, and where the other pages of the list are. */
export function listHeaders(call: Call, total: number): Record<string, string> {
  const { page, limit } = pageOf(call)
  const last = Math.max(1, Math.ceil(total / limit))
  const link = (to: number, rel: string) => {
    const query = new URLSearchParams(call.query)
    query.set('page', String(to))
    query.set('limit', String(limit))
    return `<${call.service.baseUrl}${call.path}?${query}>; rel="${rel}"`
  }
  const links = [
    ...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : []),
    ...(page > 1 ? [link(1, 'first'), link(page - 1, 'prev')] : []),
  ]
  return { 'x-total-count': String(total), ...(links.length === 0 ? {} : { link: links.join(',') }) }
}

/** A text field of the body; undefined where it is missing or null. Throws 422 for another type. */
export function textField({ body }: Call, name: string): string | undefined {
  const value = body[name] ?? undefined
  if (value === undefined || typeof value === 'string') return value
  throw new Refusal(422, `${name} is not a text`)
}

export function neededText(call: Call, name: string): string {
  const value = textField(call, name)
  if (value === undefined || value === '') throw new Refusal(422, `[${name}]: Required`)
  return value
}

export function listField({ body }: Call, name: string): unknown[] | undefined {
  const value = body[name] ?? undefined
  if (value === undefined || Array.isArray(value)) return value
  throw new Refusal(422, `${name} is not a list`)
}

export function toFields(value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw new Refusal(422, 'the body is not a JSON object')
  return value
}
