/** Turns any thrown value into the error body of R7, `{detail, code}`, without a stack or a path of this machine. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { diskTrouble, fail, ResolveError } from '../../core/errors.ts'
import { HTTP_BODY_MAX_BYTES, PREPARING_RETRY_S, UPLOAD_BODY_MAX_BYTES } from '../../core/limits.ts'
import type { ErrorBody } from '../../core/protocol/http.ts'
import { harden } from './entry.ts'

export function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const error = toCatalogue(thrown, request)
  if (error.kind === 'bug') request.log.error({ err: error.cause ?? error }, 'a fault of ours')
  if (error.httpStatus === 401) reply.header('www-authenticate', 'Bearer')
  if (error.code === 'resolver_preparing') reply.header('retry-after', String(PREPARING_RETRY_S))
  if (error.code === 'range_unsatisfiable') reply.header('content-range', `bytes */${error.details['bytes']}`)
  reply
    .code(error.httpStatus)
    .type('application/json')
    .send(bodyOf(error, request.caller?.isOwner ?? false))
}

/** For an address that cannot be parsed: it fails before any route and any hook. */
export function answerFrameworkError(thrown: Error, request: FastifyRequest, reply: FastifyReply): void {
  harden(reply)
  answerError(thrown, request, reply)
}

/** `isOwner`: the caller owns the home, and may see paths of this machine (R39). */
export function bodyOf(error: ResolveError, isOwner: boolean): ErrorBody {
  if (error.code === 'form_invalid') return { detail: 'Validation failed', errors: [...error.errors] }
  const { outside } = error
  const detail = isOwner && error.code !== 'bug' ? error.message : outside
  // A hint belongs to the full message: where the message is withheld, so is its hint.
  const known = isOwner ? error.hint : error.outsideHint
  const hint = detail === error.message ? known : undefined
  return {
    detail,
    code: error.code,
    ...(hint === undefined ? {} : { hint }),
    // The owner may be a server, which passes the error on to its own callers.
    ...(detail === outside ? {} : { outside }),
  }
}

/** Maps a thrown value to an error of the catalogue. An unknown one becomes `bug`. */
export function toCatalogue(thrown: unknown, request?: FastifyRequest): ResolveError {
  if (thrown instanceof ResolveError) return thrown
  const trouble = diskTrouble(thrown, 'it')
  if (trouble !== undefined) return trouble
  const error = thrown as FastifyError
  if (Array.isArray(error?.validation)) return fail('request_invalid', { problem: problemOf(error) }, { cause: thrown })
  switch (error?.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return fail('input_too_large', { what: 'body', ...sizeOf(request) })
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_EMPTY_TYPE':
      return fail('media_type_refused', typeOf(request))
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return fail('request_malformed', { problem: 'its body is not as long as its Content-Length' })
    case 'FST_ERR_BAD_URL':
      return fail('request_malformed', { problem: 'its address is not well encoded' })
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return fail('request_malformed', { problem: 'its address is too long' })
  }
  if (error?.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500) {
    return fail('request_malformed', { problem: 'it is no HTTP that this server takes' }, { cause: thrown })
  }
  return fail('bug', { what: error instanceof Error ? error.message : String(error) }, { cause: thrown })
}

function problemOf(error: FastifyError): string {
  const [first] = error.validation ?? []
  const where = `${error.validationContext ?? 'request'}${(first?.instancePath ?? '').replaceAll('/', '.')}`
  const values = (first?.params as { allowedValues?: unknown[] } | undefined)?.allowedValues
  const allowed = values === undefined ? '' : `: ${values.join(', ')}`
  return `${where} ${ruleOf(first) ?? first?.message ?? 'is not as it must be'}${allowed}`.slice(0, 400)
}

/** In words: a field that a closed body does not have, and the rule of a text with another form, whose pattern is for programs. */
function ruleOf(error: object | undefined): string | undefined {
  const { keyword, parentSchema, params } = (error ?? {}) as {
    keyword?: string
    parentSchema?: { description?: string; properties?: object }
    params?: { additionalProperty?: string }
  }
  if (keyword === 'additionalProperties' && params?.additionalProperty !== undefined) {
    const known = Object.keys(parentSchema?.properties ?? {})
    const fields = known.length === 0 ? '' : `; its fields are ${known.join(', ')}`
    return `has no field ${JSON.stringify(params.additionalProperty.slice(0, 80))}${fields}`
  }
  const rule = keyword === 'pattern' ? parentSchema?.description : undefined
  return rule === undefined ? undefined : `is refused: ${rule}`
}

/** The announced size; a body without one exceeds the limit by at least one byte. */
function sizeOf(request: FastifyRequest | undefined): { bytes: number; limit: number } {
  const limit = typeOf(request).type === undefined ? HTTP_BODY_MAX_BYTES : UPLOAD_BODY_MAX_BYTES
  const announced = Number(request?.headers['content-length'])
  return { bytes: announced > limit ? announced : limit + 1, limit }
}

/** Empty for a route that takes JSON. */
function typeOf(request: FastifyRequest | undefined): { type?: string } {
  const type = request?.routeOptions.config.takes
  return type === undefined ? {} : { type }
}
