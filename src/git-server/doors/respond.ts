/** Reads and answers the requests that are not git's own: REST, promotions, errors. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { GIT_REST_BODY_MAX_BYTES } from '../../core/limits.ts'
import { Refusal } from '../repository/refusal.ts'
import type { Answer } from '../rest/call.ts'

/** Throws 413 for a body over the limit. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request) {
    bytes += (part as Buffer).length
    if (bytes > GIT_REST_BODY_MAX_BYTES) throw new Refusal(413, `a body has at most ${GIT_REST_BODY_MAX_BYTES} bytes`)
    parts.push(part as Buffer)
  }
  return Buffer.concat(parts).toString('utf8')
}

export function respond(response: ServerResponse, { status, headers = {}, json, content }: Answer): void {
  if (response.headersSent || response.destroyed) return
  const body = json === undefined ? content : `${JSON.stringify(json)}\n`
  response.writeHead(status, {
    ...(json === undefined ? {} : { 'content-type': 'application/json;charset=utf-8' }),
    'content-length': body === undefined ? 0 : Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  })
  response.end(body)
}
