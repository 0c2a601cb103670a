/**
 * Parses the body of a request: JSON in UTF-8, of limited depth, without keys such as `__proto__` that JavaScript treats
 * specially.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { fail } from '../../core/errors.ts'
import { JSON_MAX_DEPTH } from '../../core/limits.ts'

export function addJsonBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    refuseEncoded(request)
    return body.length === 0 ? undefined : parseBody(body)
  })
}

/** Throws `invalid_json`, and `request_invalid` for valid JSON that is refused. */
export function parseBody(body: Buffer, where = 'body'): unknown {
  const value = parsed(body, where)
  const rest: { value: unknown; depth: number }[] = [{ value, depth: 1 }]
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue
    if (next.depth > JSON_MAX_DEPTH) {
      throw fail('request_invalid', { problem: `the ${where} nests deeper than ${JSON_MAX_DEPTH}` })
    }
    if (Object.hasOwn(next.value, '__proto__')) {
      throw fail('request_invalid', { problem: `the ${where} has a key "__proto__"` })
    }
    for (const inner of Object.values(next.value)) rest.push({ value: inner, depth: next.depth + 1 })
  }
  return value
}

function parsed(body: Buffer, where: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw fail('invalid_json', { where }, { cause })
  }
}

function refuseEncoded(request: FastifyRequest): void {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  const charset = /;\s*charset\s*=\s*"?([^;"\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  if (encoding !== 'identity' || !/^utf-?8$/i.test(charset)) throw fail('media_type_refused', {})
}
