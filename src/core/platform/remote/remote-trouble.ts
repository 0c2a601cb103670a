/** Explains why a server was not reached, and whether a retry makes sense: for {@link file://./remote-http.ts}. */
import { fail, ResolveError, systemCode } from '../../errors.ts'
import { REMOTE_ANSWER_LIMIT_MS, REMOTE_CONNECT_LIMIT_MS } from '../../limits.ts'

const BROKEN = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']
const ABSENT = ['ECONNREFUSED', 'ENOENT', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT']
const SILENT = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']

const seconds = (ms: number) => `${ms / 1000} s`

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'no host has that name',
  EAI_AGAIN: "the host's name can't be looked up now",
  ENOENT: 'there is no such socket',
  EACCES: 'it may not be reached',
  EHOSTUNREACH: 'no way leads there',
  ENETUNREACH: 'no way leads there',
  ETIMEDOUT: 'no connection came about',
  UND_ERR_CONNECT_TIMEOUT: `no connection came about within ${seconds(REMOTE_CONNECT_LIMIT_MS)}`,
  UND_ERR_HEADERS_TIMEOUT: `no answer came within ${seconds(REMOTE_ANSWER_LIMIT_MS)}`,
  UND_ERR_BODY_TIMEOUT: 'its answer stopped coming',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another host',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak https',
  EPROTO: 'it does not speak https',
}

/** The connection existed and broke: a retry with the same key takes effect only once. */
export function isBroken(error: unknown): boolean {
  return BROKEN.includes(systemCode(error) ?? '') || isCutShort(error)
}

/** A chunked answer that ended before its last chunk. undici's parser reports it only by the name and message of its error. */
function isCutShort(error: unknown): boolean {
  return isUnparsed(error) && error.message.includes('EOF')
}

function isUnparsed(error: unknown): error is Error {
  return error instanceof Error && error.name === 'HTTPParserError'
}

/** The server does not accept connections now. */
export function isAbsent(error: unknown): boolean {
  return ABSENT.includes(systemCode(error) ?? '')
}

export function isSilent(error: unknown): boolean {
  return SILENT.includes(systemCode(error) ?? '')
}

/** The error itself where it is of the catalogue; else `server_unreachable` or `server_strange`. */
export function trouble(error: unknown, url: string): ResolveError {
  if (error instanceof ResolveError) return error
  const code = systemCode(error) ?? ''
  if (isUnparsed(error) && !isCutShort(error))
    return fail('server_strange', { url, problem: 'that is no HTTP' }, { cause: error })
  return fail('server_unreachable', { url, reason: reasonOf(error, code) }, { cause: error })
}

function reasonOf(error: unknown, code: string): string {
  const known = REASONS[code]
  if (known !== undefined) return known
  if (isBroken(error)) return 'the connection broke'
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) return `its certificate is not trusted (${code})`
  if (/^ERR_(?:SSL|TLS)/.test(code)) return `no secure connection came about (${code})`
  return code === '' ? (error instanceof Error ? error.message : String(error)) : code
}
