/**
 * The one catalogue of errors: code → kind, HTTP status, exit code, sentence and hint.
 * Everything that is thrown on purpose is made by {@link fail}; docs/errors.md lists the same codes and a test compares them.
 */

/** user: yours to fix. environment: your machine's. bug: ours. */
export type ErrorKind = 'user' | 'environment' | 'bug'

interface Entry {
  kind: ErrorKind
  /** The HTTP status that carries it (R7). */
  http: number
  /** The exit code that carries it. */
  exit: number
  message: (details: never) => string
  /** What is said over HTTP instead, where the sentence names a path or a program of the server's machine (R7). */
  outside?: (details: never) => string
  hint?: (details: never) => string
}

const catalogue = {
  usage: { kind: 'user', http: 400, exit: 2, message: (d: { problem: string }) => d.problem },
  command_unknown: {
    kind: 'user',
    http: 404,
    exit: 127,
    message: (d: { words: string; nearest?: string }) => `There is no command "resolve ${d.words}".`,
    hint: (d: { nearest?: string }) =>
      d.nearest === undefined ? 'See "resolve --help".' : `Did you mean "resolve ${d.nearest}"?`,
  },
  interrupted: {
    kind: 'user',
    http: 400,
    exit: 130,
    message: (d: { signal: string }) => `Interrupted by ${d.signal} before the instance ran.`,
  },
  invalid_json: {
    kind: 'user',
    http: 422,
    exit: 2,
    message: (d: { where: string }) => `Invalid JSON in ${d.where}`,
  },
  input_too_large: {
    kind: 'user',
    http: 413,
    exit: 5,
    message: (d: { what: string; bytes: number; limit: number }) =>
      `The ${d.what} has ${d.bytes} bytes; the limit is ${d.limit}.`,
  },
  form_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (_: { errors: readonly string[]; fields?: readonly { id: string; message: string }[] }) =>
      'Validation failed',
  },
  form_malformed: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { where: string; errors: readonly string[] }) =>
      `The ${d.where} is not a well-formed form: ${d.errors.join(' ')}`,
    hint: () => 'Its author has to mend it; docs/forms.md shows every shape.',
  },
  manifest_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { path: string; errors: readonly string[] }) =>
      `${d.path} is not a valid manifest (${d.errors.length} ${d.errors.length === 1 ? 'fault' : 'faults'}).`,
    outside: () => 'The manifest is not valid.',
    hint: () =>
      'Mend every fault listed and add the resolver again; docs/writing-a-resolver.md shows a whole manifest.',
  },
  resolver_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { name: string; nearest?: string }) =>
      `No resolver is named "${d.name}".${d.nearest === undefined ? '' : ` Did you mean "${d.nearest}"?`}`,
    hint: () => 'See "resolve resolver list", or add one with "resolve resolver add <path-or-git-url>".',
  },
  resolver_exists: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { name: string; source: string }) => `A resolver named "${d.name}" is already added from ${d.source}.`,
    hint: () => 'Replace it with --force, or choose another name in its manifest.',
  },
  resolver_builtin: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { name: string }) => `"${d.name}" comes with resolve: there is nothing to fetch for it.`,
  },
  source_invalid: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (d: { source: string; reason: string }) => `Can't add "${d.source}": ${d.reason}.`,
    outside: () => "Can't add the source.",
    hint: () =>
      'A source is a directory, https://…, git+https://…@ref, ssh://…, git@host:path or "name @ git+https://…@ref".',
  },
  source_missing: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { path: string }) => `There is no manifest.json in ${d.path}.`,
    outside: () => 'There is no manifest.json there.',
    hint: () => 'A resolver is a directory with a manifest.json at its top.',
  },
  instance_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { id: string; needed?: number; whole?: boolean }) => {
      if (d.whole) return `"${d.id}" is not the whole id of an instance.`
      return d.id === '@last' ? 'There is no instance yet.' : `No instance matches "${d.id}".`
    },
    hint: (d: { id: string; needed?: number; whole?: boolean }) => {
      if (d.whole) return 'GET /api/instances?reference=… finds the one that a beginning of an id, or @last, means.'
      if (d.needed !== undefined) return `Give at least ${d.needed} characters of the id; see "resolve instance list".`
      return d.id === '@last' ? 'Start one with "resolve run hello".' : 'See "resolve instance list".'
    },
  },
  instance_ambiguous: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (d: { id: string; matches: readonly string[] }) =>
      `"${d.id}" matches ${d.matches.length} instances: ${d.matches.slice(0, 5).join(', ')}${d.matches.length > 5 ? ', …' : ''}.`,
    hint: () => 'Give more characters of the id.',
  },
  request_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { request: string; instance: string }) =>
      `Instance ${d.instance} has no input request "${d.request}".`,
    hint: (d: { instance: string }) => `See "resolve instance answer ${d.instance} --list".`,
  },
  message_type_unknown: {
    kind: 'user',
    http: 422,
    exit: 6,
    message: (d: { type: string; known: readonly string[] }) =>
      d.known.length === 0
        ? `The resolver takes no messages now, and so none of type "${d.type}".`
        : `The resolver takes no message of type "${d.type}" now; it takes: ${d.known.join(', ')}.`,
    hint: () => 'Message types can change with the phase: see "resolve instance message <id> --list".',
  },
  file_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { path: string }) => `There is no data file "${d.path}".`,
    hint: () => 'See "resolve instance data <id>".',
  },
  path_refused: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (_: { path: string }) => 'The path is not one of a file below the data directory.',
    hint: () => 'A path has no empty, "." or ".." part, no "\\", and no "/" that was encoded.',
  },
  state_missing: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { path: string }) => `The state snapshot has nothing at ${d.path}.`,
  },
  invalid_state: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { action: string; status: string }) => `Can't ${d.action} an instance that is ${d.status}.`,
    hint: (d: { action: string; status: string }) =>
      d.status === 'paused'
        ? 'It goes on with "resolve instance resume <id>".'
        : 'See where it stands with "resolve instance show <id>".',
  },
  already_answered: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { request: string; actor: string; via: string; at: string }) =>
      `"${d.request}" was answered already, by ${d.actor} (${d.via}) at ${d.at}.`,
  },
  request_cancelled: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { request: string }) => `"${d.request}" no longer waits for an answer: it was withdrawn.`,
  },
  resume_unsupported: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { resolver: string }) => `The resolver "${d.resolver}" supports neither pause nor resume.`,
  },
  resolver_silent: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { method: string; limit_ms: number }) =>
      `The resolver did not answer ${d.method} within ${d.limit_ms / 1000} s.`,
    hint: () => 'Its stderr may say why: see "resolve instance explain", or run its command by hand.',
  },
  resolver_refused: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { method: string; detail: string; rpc: number }) =>
      `The resolver answered ${d.method} with an error: ${d.detail}`,
    outside: (d: { method: string }) => `The resolver answered ${d.method} with an error.`,
  },
  resolver_gone: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { method: string; detail: string; by_hand: string }) =>
      `The resolver ended before it answered ${d.method}: ${d.detail || 'it said nothing (does its program call serve()?)'}`,
    outside: (d: { method: string }) => `The resolver ended before it answered ${d.method}.`,
    hint: (d: { by_hand: string }) => `See what it says by hand: ${d.by_hand}`,
  },
  launch_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { command: string; reason: string }) => `Can't start "${d.command}": ${d.reason}.`,
    outside: () => "The resolver's program can't be started.",
    hint: () => 'Is the program installed and in PATH?',
  },
  feature_missing: {
    kind: 'environment',
    http: 501,
    exit: 10,
    message: (d: { resolver: string; feature: string }) =>
      `The resolver "${d.resolver}" needs ${d.feature}, which this version cannot provide.`,
  },
  coordination_tampered: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { path: string; reason: string }) =>
      `The coordination file ${d.path} is not what it must be: ${d.reason}.`,
    outside: () => 'A coordination file is not what it must be.',
  },
  host_unreachable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { instance: string; reason: string }) =>
      `Can't reach the host of instance ${d.instance}: ${d.reason}.`,
    outside: (d: { instance: string }) => `Can't reach the host of instance ${d.instance}.`,
    hint: () => 'Give the command again: a host that is gone is replaced by the next one.',
  },
  git_missing: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (_: Record<string, never>) => "Can't run git.",
    hint: () => 'Install git and give the command again.',
  },
  git_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { url: string; reason: string }) => `Can't fetch ${d.url}: ${d.reason}`,
    outside: () => "Can't fetch the source.",
    hint: () => 'Check the address, the ref and that this machine may read it.',
  },
  home_unusable: {
    kind: 'environment',
    http: 507,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't use the home directory ${d.path}: ${d.reason}.`,
    outside: () => "The server can't use its home directory.",
    hint: () => 'Choose another with RESOLVE_HOME, or mend its permissions.',
  },
  disk_full: {
    kind: 'environment',
    http: 507,
    exit: 10,
    message: (d: { path: string }) => `No space is left for ${d.path}.`,
    outside: () => 'No space is left on the server.',
    hint: () => 'Free some space and give the command again; nothing was half written.',
  },
  journal_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the journal ${d.path}: ${d.reason}.`,
    outside: () => "The instance's journal can't be read.",
  },
  lock_held: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { path: string }) => `Another process has held ${d.path} for too long.`,
    outside: () => 'Another process of the server has held a file for too long.',
    hint: () => 'Give the command again; remove the file only when no other resolve is running.',
  },
  ownership_lost: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { path: string }) => `Another host writes to ${d.path}; this one lets go of the instance.`,
    outside: () => 'Another host took the instance over.',
  },
  catalog_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the catalog ${d.path}: ${d.reason}.`,
    outside: () => "The catalog can't be read.",
    hint: () => 'Mend the file, or move it away to begin with the built-in resolvers.',
  },
  resolver_not_ready: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { what: string }) => `Can't ${d.what}: the resolver has no instance yet.`,
    hint: () => 'What the SDK offers works from run() on, after resolver.initialize.',
  },
  resolver_mismatch: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { field: string; resolver: string; expected: string }) =>
      `The resolver's ${d.field} is "${d.resolver}", but its manifest says "${d.expected}".`,
    hint: () => 'Leave it out of the code and the SDK takes it from manifest.json, or make the two equal.',
  },
  request_id_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { request: string }) => `"${d.request}" can't be the id of an input request.`,
    hint: () => 'An id has up to 128 letters, digits, ".", "_" and "-", and begins with a letter or digit.',
  },
  request_repeated: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { request: string }) => `The input request "${d.request}" was made already by this run.`,
    hint: () => 'Every request of an instance has an id of its own.',
  },
  event_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { type: string; reason: string }) => `Can't emit "${d.type}": ${d.reason}.`,
  },
  sessions_missing: {
    kind: 'environment',
    http: 501,
    exit: 10,
    message: (d: { session: string }) => `Can't open the session "${d.session}": this version has no LLM sessions.`,
  },
  instance_stopped: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { reason: string }) => `The instance is being stopped: ${d.reason}.`,
  },
  run_paused: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { summary: string }) => d.summary,
  },
  connection_closed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { peer: string }) => `The connection to ${d.peer} closed.`,
  },
  token_missing: {
    kind: 'user',
    http: 401,
    exit: 4,
    message: (_: Record<string, never>) => 'A token is needed.',
    hint: () =>
      'Send it as "Authorization: Bearer TOKEN"; commands take it from RESOLVE_TOKEN. "resolve token create" on the server\'s machine makes one.',
  },
  token_refused: {
    kind: 'user',
    http: 401,
    exit: 4,
    message: (d: { malformed?: boolean }) =>
      d.malformed
        ? 'The token is not sent as it must be.'
        : 'The token is not valid here: unknown, expired or revoked.',
    hint: (d: { malformed?: boolean }) =>
      d.malformed
        ? 'One header, "Authorization: Bearer TOKEN", and nothing beside it.'
        : 'Set RESOLVE_TOKEN; "resolve token create" on the server\'s machine makes one.',
  },
  code_refused: {
    kind: 'user',
    http: 401,
    exit: 4,
    message: (_: Record<string, never>) => 'The sign-in code is not valid, or was used already.',
    hint: () => 'A code works once; "resolve serve" prints a new link when it starts.',
  },
  scope_missing: {
    kind: 'user',
    http: 403,
    exit: 4,
    message: (d: { needed: string; has: string }) => `This needs the scope "${d.needed}"; your token has "${d.has}".`,
    hint: () => 'Make a token with "resolve token create --scope" on the server\'s machine.',
  },
  token_narrow: {
    kind: 'user',
    http: 403,
    exit: 4,
    message: (_: Record<string, never>) => 'The token reaches one instance alone, and this is about more.',
    hint: () => "Make one without --instance on the server's machine.",
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
      `To let it, start it with --allowed-host ${d.host === undefined ? 'NAME' : d.host.replace(/:\d+$/, '')}.`,
  },
  route_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (_: Record<string, never>) => 'There is no such route; GET /api/openapi.json lists them all.',
  },
  media_type_refused: {
    kind: 'user',
    http: 415,
    exit: 2,
    message: (_: Record<string, never>) => 'A body must be JSON, with Content-Type: application/json.',
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
    message: (_: Record<string, never>) => 'The request did not come in time.',
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
    message: (d: { cursor: string }) => `There is no "${d.cursor}" to go on from.`,
  },
  range_unsatisfiable: {
    kind: 'user',
    http: 416,
    exit: 2,
    message: (d: { bytes: number }) => `The range lies outside the ${d.bytes} bytes of the file.`,
  },
  key_reused: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (_: Record<string, never>) => 'The Idempotency-Key was used for another request.',
    hint: () => 'Use a new key for each new request, and the same one only to repeat it.',
  },
  too_many: {
    kind: 'user',
    http: 429,
    exit: 10,
    message: (d: { what: string; limit: number }) => `Too many ${d.what} at once; the limit is ${d.limit}.`,
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
    hint: () => 'Is it running, and is the address right (--server, RESOLVE_URL)?',
  },
  server_strange: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { url: string; problem: string }) =>
      `${d.url} does not answer as a resolve server does: ${d.problem}.`,
    hint: () => 'Is the address right (--server, RESOLVE_URL), and is the server of this version?',
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
    hint: () => 'Choose another with --port, or end what holds it.',
  },
  tokens_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the tokens in ${d.path}: ${d.reason}.`,
    outside: () => "The server's tokens can't be read.",
    hint: () => 'Move the file away and make new tokens with "resolve token create".',
  },
  token_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { id: string }) => `There is no token "${d.id}".`,
    hint: () => 'See "resolve token list".',
  },
  docker_unreachable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { socket: string; reason: string }) => `Can't reach Docker at ${d.socket}: ${d.reason}.`,
    outside: () => "Can't reach the Docker engine.",
    hint: () => 'Start Docker, or add --executor local to run it as a process of this machine, without isolation.',
  },
  container_refused: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { what: string; reason: string }) => `Docker refused to ${d.what}: ${d.reason}.`,
    outside: (d: { what: string }) => `The Docker engine refused to ${d.what}.`,
  },
  image_missing: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { image: string; mend: string }) => `There is no image "${d.image}" on this machine.`,
    hint: (d: { mend: string }) => `Get it with "${d.mend}".`,
  },
  setup_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { step: number; total: number; command: string; exit_code: number | null; output: string }) =>
      `Setup step ${d.step} of ${d.total} ended with ${d.exit_code === null ? 'no exit code' : `exit code ${d.exit_code}`}: ${d.command}${d.output === '' ? '' : `\n${d.output}`}`,
    outside: (d: { step: number; total: number }) => `Setup step ${d.step} of ${d.total} failed.`,
  },
  setup_malformed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { resolver: string; field: string }) =>
      `What the resolver "${d.resolver}" answers as container_setup.${d.field} is not a list as it must be.`,
  },
  mount_refused: {
    kind: 'environment',
    http: 422,
    exit: 10,
    message: (d: { mount: string; reason: string }) => `The volume mount ${d.mount} is not allowed: ${d.reason}.`,
    outside: () => 'A volume mount of the resolver is not allowed.',
    hint: () => 'An operator allows host paths with RESOLVE_VOLUME_ALLOW=/path:/other=rw.',
  },
  environment_refused: {
    kind: 'environment',
    http: 422,
    exit: 10,
    message: (d: { resolver: string; name: string }) =>
      `The resolver "${d.resolver}" may not set ${d.name} in the environment of its container.`,
  },
  sandbox_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { reason: string }) => `Can't use a sandbox: ${d.reason}.`,
    hint: () => 'See "A place for steps you do not trust" in docs/writing-a-resolver.md.',
  },
  sandbox_lost: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { command: string }) =>
      `The host was replaced while "${d.command}" ran in a sandbox: how it ended is not known.`,
  },
  bug: {
    kind: 'bug',
    http: 500,
    exit: 70,
    message: (d: { what: string }) => `resolve has a fault: ${d.what}`,
    outside: () => 'The server has a fault; its log says which.',
    hint: () => 'The report named below holds what we need to mend it.',
  },
} as const satisfies Record<string, Entry>

export type ErrorCode = keyof typeof catalogue

export const ERROR_CODES = Object.keys(catalogue) as ErrorCode[]

type DetailsOf<C extends ErrorCode> = Parameters<(typeof catalogue)[C]['message']>[0]

interface Said {
  message: string
  /** Where that is another one. */
  outside: string | undefined
  hint: string | undefined
}

/** An error of the catalogue. `errors` holds every sentence where there are several (a form, a manifest). */
export class ResolveError extends Error {
  readonly code: ErrorCode
  readonly kind: ErrorKind
  readonly httpStatus: number
  readonly exitCode: number
  readonly hint: string | undefined
  /** The sentence for whoever is not on this machine: no path, no program, no stderr (R7). */
  readonly outside: string
  readonly errors: readonly string[]
  /** The same sentences with the form field each is about, where they are about fields. */
  readonly fields: readonly { id: string; message: string }[]
  readonly details: Readonly<Record<string, unknown>>

  /** `said` is the sentence of another process, whose details stayed there. */
  constructor(code: ErrorCode, details: Record<string, unknown>, cause?: unknown, said?: Said) {
    const entry: Entry = catalogue[code]
    super(said?.message ?? entry.message(details as never), cause === undefined ? undefined : { cause })
    this.name = 'ResolveError'
    this.code = code
    this.kind = entry.kind
    this.httpStatus = entry.http
    this.exitCode = entry.exit
    this.hint = said === undefined ? entry.hint?.(details as never) : said.hint
    this.outside =
      said === undefined ? (entry.outside?.(details as never) ?? this.message) : (said.outside ?? this.message)
    this.details = details
    this.errors = Array.isArray(details['errors']) ? (details['errors'] as string[]) : []
    this.fields = Array.isArray(details['fields']) ? (details['fields'] as { id: string; message: string }[]) : []
  }
}

/** Makes (does not throw) an error of the catalogue: `throw fail('instance_unknown', {id})`. */
export function fail<C extends ErrorCode>(code: C, details: DetailsOf<C>, options?: { cause?: unknown }): ResolveError {
  return new ResolveError(code, details as Record<string, unknown>, options?.cause)
}

/** An error as a server told it; undefined where it is none of the catalogue. */
export function received(body: unknown): ResolveError | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { detail, code, hint, outside, errors } = body as Record<string, unknown>
  if (typeof detail !== 'string') return undefined
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined)
  const said = { message: detail, hint: text(hint), outside: text(outside) }
  if (Array.isArray(errors) && code === undefined) {
    if (!errors.every((one) => typeof one === 'string')) return undefined
    return new ResolveError('form_invalid', { errors }, undefined, said)
  }
  if (typeof code !== 'string' || !Object.hasOwn(catalogue, code)) return undefined
  return new ResolveError(code as ErrorCode, {}, undefined, said)
}

/** The entry of a code without its sentence, for the docs test and the HTTP schema. */
export function describeError(code: ErrorCode): { kind: ErrorKind; http: number; exit: number } {
  const { kind, http, exit } = catalogue[code]
  return { kind, http, exit }
}

/** The `code` of a system error (`ENOENT`, `ENOSPC`), or undefined. */
export function systemCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Whether this process could not look for want of files or memory: what it looked for may be there. */
export function isScarcity(thrown: unknown): boolean {
  const code = systemCode(thrown)
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM' || code === 'EAGAIN'
}

/** Whether a write failed because the disk or a quota is full: the same write succeeds once there is space. */
export function isDiskFull(thrown: unknown): boolean {
  const code = systemCode(thrown)
  return code === 'ENOSPC' || code === 'EDQUOT' || (thrown instanceof ResolveError && thrown.code === 'disk_full')
}

/** The `disk_full` of a write that failed because the disk, a quota or the size of a file is at its limit; undefined for any other error. */
export function diskFull(thrown: unknown, path: string): ResolveError | undefined {
  const isFull = isDiskFull(thrown) || systemCode(thrown) === 'EFBIG'
  return isFull ? fail('disk_full', { path }, { cause: thrown }) : undefined
}

/** What the disk below the home refused, for the servers: code that wrote below it may say more. Undefined for any other error. */
export function diskTrouble(thrown: unknown, path: string): ResolveError | undefined {
  switch (systemCode(thrown)) {
    case 'EROFS':
      return fail('home_unusable', { path, reason: 'its file system is read-only' }, { cause: thrown })
    case 'EIO':
      return fail('home_unusable', { path, reason: 'its disk has a fault' }, { cause: thrown })
    default:
      return diskFull(thrown, path)
  }
}
