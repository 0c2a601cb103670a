/** Answers a request at one of the two doors: git, REST, promotions, and for the host alone what lies below `/host/`. */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { GitService } from '../pulls/service.ts'
import { Refusal } from '../repository/refusal.ts'
import { API, answerApi, refusalAnswer } from '../rest/api.ts'
import { type Answer, json, toFields } from '../rest/call.ts'
import type { Access } from './access.ts'
import { type Transfers, transferAt } from './git-http.ts'
import { type HostCalls, isHostPath } from './host-calls.ts'
import { readBody, respond } from './respond.ts'

export interface Door {
  service: GitService
  access: Access
  transfers: Transfers
  /** Only at the host's door. */
  host?: HostCalls
}

const OPEN: Readonly<Record<string, string>> = {
  '/api/healthz': '',
  [`${API}/version`]: '/version',
}
const PROMOTION = /^\/internal\/instances\/[^/]+\/repos\/([^/]+)\/promote\/pr$/
const TEXT = /^\/[^/]+\/([^/]+)\/pulls\/(\d+\.(?:diff|patch))$/

export function listenerOf(door: Door): RequestListener {
  return (request, response) => {
    handle(door, request, response).catch((error: unknown) => {
      respond(response, refusalAnswer(door.service, error))
    })
  }
}

async function handle(door: Door, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/' } = request
  const at = url.indexOf('?')
  const query = at === -1 ? '' : url.slice(at + 1)
  // Some clients double the slash between the address and the path.
  const path = (at === -1 ? url : url.slice(0, at)).replace(/\/{2,}/g, '/')
  if (method === 'GET' && path in OPEN) return respond(response, await openAnswer(door.service, path))
  if (!door.access(request.headers)) throw new Refusal(401, 'token is required')
  const transfer = transferAt(door.service, { method, path, query, isHost: door.host !== undefined })
  if (transfer !== undefined) return await door.transfers.serve(transfer, request, response)
  if (door.host !== undefined && isHostPath(path)) {
    const call = { method, path, query: new URLSearchParams(query), body: await readBody(request) }
    return await door.host.answer(call, response)
  }
  respond(response, await answer(door.service, { method, path, query }, request))
}

async function openAnswer(service: GitService, path: string): Promise<Answer> {
  const rest = OPEN[path] ?? ''
  if (rest === '') return json({ status: 'pass', description: 'git-server' })
  return await answerApi(service, { method: 'GET', path: rest, query: new URLSearchParams(), body: '' })
}

async function answer(
  service: GitService,
  { method, path, query }: { method: string; path: string; query: string },
  request: IncomingMessage,
): Promise<Answer> {
  const body = await readBody(request)
  const fields = new URLSearchParams(query)
  if (path.startsWith(`${API}/`))
    return await answerApi(service, { method, path: path.slice(API.length), query: fields, body })
  const [, repo] = PROMOTION.exec(path) ?? []
  if (repo !== undefined && method === 'POST') return await promotion(service, repo, body)
  const [, of, file] = TEXT.exec(path) ?? []
  if (of !== undefined && method === 'GET')
    return await answerApi(service, { method, path: `/repos/admin/${of}/pulls/${file}`, query: fields, body: '' })
  throw new Refusal(404, 'Not Found')
}

async function promotion(service: GitService, name: string, body: string): Promise<Answer> {
  const repository = service.repositories.find(name)
  if (repository === undefined) throw new Refusal(404, 'there is no such repository')
  const asked = await service.promotions.ask(repository.name, toFields(parse(body)))
  if (asked === undefined) throw new Refusal(504, 'the host has not answered yet; the same request joins this one')
  return json(asked.body, asked.status)
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new Refusal(422, 'the body is not JSON')
  }
}
