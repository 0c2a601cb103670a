/** Finds the route of a REST request and answers it; refusals take the form of Gitea's errors. */

import type { GitService } from '../pulls/service.ts'
import { Refusal } from '../repository/refusal.ts'
import { branchRoutes } from './branch-routes.ts'
import { type Answer, type Handler, json, toFields } from './call.ts'
import { contentRoutes } from './content-routes.ts'
import { issueRoutes } from './issue-routes.ts'
import { pullRoutes } from './pull-routes.ts'
import { repositoryRoutes } from './repository-routes.ts'

export const API = '/api/v1'

interface Route {
  method: string
  pattern: RegExp
  names: string[]
  handler: Handler
}

const routes: readonly Route[] = Object.entries({
  ...repositoryRoutes,
  ...branchRoutes,
  ...contentRoutes,
  ...pullRoutes,
  ...issueRoutes,
}).map(([key, handler]) => {
  const [method = '', path = ''] = key.split(' ')
  const names = [...path.matchAll(/[:*](\w+)/g)].map(([, name]) => name ?? '')
  const pattern = path
    .replace(/:number\b/g, '(\\d[^/]*)')
    .replace(/:\w+/g, '([^/]+)')
    .replace(/\*\w+/g, '(.+)')
  return { method, pattern: new RegExp(`^${pattern}$`), names, handler }
})

export interface ApiRequest {
  method: string
  /** As sent, below `/api/v1`, without the query: parts are decoded after they are told apart. */
  path: string
  query: URLSearchParams
  /** The body's text; empty where there is none. */
  body: string
}

export async function answerApi(service: GitService, request: ApiRequest): Promise<Answer> {
  try {
    const fitting = routes.flatMap((route) => {
      const match = route.pattern.exec(request.path)
      return match === null ? [] : [{ route, parts: match.slice(1) }]
    })
    const found = fitting.find(({ route }) => route.method === request.method)
    if (found === undefined) throw new Refusal(fitting.length > 0 ? 405 : 404, 'Not Found')
    const parts = new Map(found.route.names.map((name, at) => [name, decode(found.parts[at] ?? '')]))
    return await found.route.handler({
      service,
      part: (name) => parts.get(name) ?? '',
      query: request.query,
      path: `${API}${request.path}`,
      body: request.body.trim() === '' ? {} : toFields(parse(request.body)),
    })
  } catch (error) {
    return refusalAnswer(service, error)
  }
}

/** Every error response of the server that is no answer of git itself. */
export function refusalAnswer({ baseUrl }: GitService, error: unknown): Answer {
  const { status, message } =
    error instanceof Refusal ? error : { status: 500, message: 'the git server failed: its log says why' }
  if (!(error instanceof Refusal)) process.stderr.write(`${(error as Error)?.stack ?? error}\n`)
  const headers: Record<string, string> = status === 401 ? { 'www-authenticate': 'Basic realm="Gitea"' } : {}
  return json({ message, url: `${baseUrl}/api/swagger` }, status, headers)
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Refusal(400, 'the path is not well-formed')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Refusal(422, 'the body is not JSON')
  }
}
