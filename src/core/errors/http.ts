/** The HTTP server and its callers. */
import type { Entry } from './entry.ts'

export const httpErrors = {
  token_missing: {
    kind: 'user',
    http: 401,
    exit: 4,
    message: (_: Record<string, never>) => 'The request has no token.',
    hint: () =>
      'Send it as "Authorization: Bearer TOKEN"; commands read it from RESOLVE_TOKEN. "resolve token create" on the server\'s machine creates one.',
  },
  token_refused: {
    kind: 'user',
    http: 401,
    exit: 4,
    message: (d: { malformed?: boolean }) =>
      d.malformed ? 'The Authorization header is malformed.' : 'The token is unknown, expired or revoked.',
    hint: (d: { malformed?: boolean }) =>
      d.malformed
        ? 'Send exactly one header "Authorization: Bearer TOKEN".'
        : 'Set RESOLVE_TOKEN; "resolve token create" on the server\'s machine creates a token.',
  },
  code_refused: {
    kind: 'user',
    http: 401,
    exit: 4,
    message: (_: Record<string, never>) => 'The sign-in code is not valid, has expired or was already used.',
    hint: () => 'A code works once; "resolve serve" prints a new link when it starts.',
  },
  scope_missing: {
    kind: 'user',
    http: 403,
    exit: 4,
    message: (d: { needed: string; has: string }) =>
      `This operation needs the scope "${d.needed}"; your token has "${d.has}".`,
    hint: (d: { needed?: string }) =>
      `Create a token with "resolve token create --scope ${d.needed ?? 'run'}" on the server's machine.`,
  },
  token_narrow: {
    kind: 'user',
    http: 403,
    exit: 4,
    message: (_: Record<string, never>) => 'The token is limited to one instance, and this operation is not.',
    hint: () => "Create a token without --instance on the server's machine.",
  },
  origin_refused: {
    kind: 'user',
    http: 403,
    exit: 2,
    message: (_: Record<string, never>) => 'Requests from pages of other sites are refused.',
  },
  host_refused: {
    kind: 'user',
    http: 421,
    exit: 2,
    message: (d: { host?: string }) =>
      d.host === undefined ? 'This server needs one Host header.' : `This server does not answer for "${d.host}".`,
    hint: (d: { host?: string }) =>
      `To allow it, start the server with --allowed-host ${d.host === undefined ? 'NAME' : d.host.replace(/:\d+$/, '')}.`,
  },
  route_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (_: Record<string, never>) => 'There is no such route; GET /api/openapi.json lists all routes.',
  },
  media_type_refused: {
    kind: 'user',
    http: 415,
    exit: 2,
    message: (d: { type?: string }) =>
      d.type === undefined
        ? 'The body must be JSON, with Content-Type: application/json.'
        : `The body must have Content-Type: ${d.type}.`,
  },
  request_malformed: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (d: { problem: string }) => `The request can't be read: ${d.problem}.`,
  },
  request_slow: {
    kind: 'user',
    http: 408,
    exit: 10,
    message: (_: Record<string, never>) => 'The request did not arrive in time.',
    hint: () => 'Send it again.',
  },
  headers_too_large: {
    kind: 'user',
    http: 431,
    exit: 2,
    message: (d: { limit: number }) => `The headers of the request have more than ${d.limit} bytes.`,
  },
  request_invalid: {
    kind: 'user',
    http: 422,
    exit: 2,
    message: (d: { problem: string }) => `The request is not valid: ${d.problem}.`,
  },
  cursor_unknown: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (d: { cursor: string }) => `The cursor "${d.cursor}" does not exist.`,
  },
  range_unsatisfiable: {
    kind: 'user',
    http: 416,
    exit: 2,
    message: (d: { bytes: number }) => `The range is outside of the file, which has ${d.bytes} bytes.`,
  },
  key_reused: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (_: Record<string, never>) => 'This Idempotency-Key was already used for a different request.',
    hint: () => 'Use a new key for each new request, and the same key only to repeat a request.',
  },
  too_many: {
    kind: 'user',
    http: 429,
    exit: 10,
    message: (d: { what: string; limit: number }) => `Too many ${d.what} at the same time; the limit is ${d.limit}.`,
    hint: () => 'Try again in a moment.',
  },
  shutting_down: {
    kind: 'environment',
    http: 503,
    exit: 10,
    message: (_: Record<string, never>) => 'The server is shutting down.',
    hint: () => 'Try again in a moment.',
  },
  server_unreachable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { url: string; reason: string }) => `Can't reach the server at ${d.url}: ${d.reason}.`,
    hint: () => 'Check that it is running and that the address is right (--server, RESOLVE_URL).',
  },
  server_strange: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { url: string; problem: string }) => `${d.url} does not answer like a resolve server: ${d.problem}.`,
    hint: () => 'Check the address (--server, RESOLVE_URL), and that the server has the same version.',
  },
  address_refused: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (d: { address: string; reason: string }) => `Can't listen on ${d.address}: ${d.reason}.`,
  },
  address_taken: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { address: string; reason: string }) => `Can't listen on ${d.address}: ${d.reason}.`,
    hint: () => 'Choose another port with --port, or end the program that uses this one.',
  },
} as const satisfies Record<string, Entry>
