/**
 * The catalogue of errors: code → kind, HTTP status, exit code, message and hint. All deliberate errors are made by {@link fail}.
 * A test compares the catalogue with docs/errors.md.
 */

/** user: the caller can fix it. environment: a problem of the machine. bug: a defect in resolve. */
export type ErrorKind = 'user' | 'environment' | 'bug'

interface Entry {
  kind: ErrorKind
  /** The HTTP status of the error response (R7). */
  http: number
  /** The exit code of the command line. */
  exit: number
  message: (details: never) => string
  /** The message over HTTP, if the normal one names a path or a program of the server's machine (R7). */
  outside?: (details: never) => string
  /** The hint for callers on other machines, where `hint` has a path or a program. */
  outsideHint?: (details: never) => string
  hint?: (details: never) => string
}

function meantOr(nearest: string | undefined, hint: string): string {
  return nearest === undefined ? hint : `Did you mean "${nearest}"?`
}

const catalogue = {
  usage: { kind: 'user', http: 400, exit: 2, message: (d: { problem: string }) => d.problem },
  command_unknown: {
    kind: 'user',
    http: 404,
    exit: 127,
    message: (d: { words: string; nearest?: string }) => `There is no command "resolve ${d.words}".`,
    hint: (d: { nearest?: string }) =>
      d.nearest === undefined ? '"resolve --help" lists the commands.' : `Did you mean "resolve ${d.nearest}"?`,
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
    hint: () => 'The author of the form must fix it; docs/forms.md describes all fields and checks.',
  },
  manifest_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { path: string; errors: readonly string[] }) =>
      `${d.path} is not a valid manifest (${d.errors.length} ${d.errors.length === 1 ? 'error' : 'errors'}).`,
    outside: () => 'The manifest is not valid.',
    hint: () => 'Fix the listed errors and add the resolver again; docs/manifest.md describes every field.',
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
    message: (d: { name: string; source: string }) =>
      `A resolver named "${d.name}" was already added from ${d.source}.`,
    outside: (d: { name: string }) =>
      `A resolver named "${d.name}" was already added from another source; --force replaces it.`,
    hint: () => 'Replace it with --force, or change the name in the manifest.',
  },
  resolver_builtin: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { name: string }) =>
      `"${d.name}" is a built-in resolver: it is part of resolve and has no source to fetch.`,
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
    message: (d: { path: string; found?: 'nothing' | 'no directory' }) => {
      if (d.found === 'nothing') return `There is no directory ${d.path}.`
      return d.found === 'no directory' ? `${d.path} is not a directory.` : `There is no manifest.json in ${d.path}.`
    },
    outside: () => 'There is no manifest.json there.',
    hint: () => 'A resolver is a directory with a manifest.json at its top.',
  },
  archive_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { problem: string }) => `The archive is refused: ${d.problem}.`,
    hint: () => 'docs/http.md, Uploads, says what an archive may have.',
  },
  uploads_off: {
    kind: 'user',
    http: 403,
    exit: 4,
    message: (_: Record<string, never>) => 'This server takes no uploads.',
    hint: () => 'Its operator allows them with "resolve serve --uploads", or adds the resolver on its machine.',
  },
  upload_needs_container: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { name: string }) => `An uploaded resolver such as "${d.name}" runs in a container only.`,
    hint: () => 'Add "container" to its manifest and omit --executor local, or add it on the machine of the server.',
  },
  instance_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { id: string; needed?: number; whole?: boolean }) => {
      if (d.whole) return `"${d.id}" is not a full instance id.`
      return d.id === '@last' ? 'There is no instance yet.' : `No instance matches "${d.id}".`
    },
    hint: (d: { id: string; needed?: number; whole?: boolean }) => {
      if (d.whole) return 'GET /api/instances?reference=… resolves a prefix of an id, or @last.'
      if (d.id === '@last') return 'Start one with "resolve run hello".'
      if (!/^[0-9a-f]*$/i.test(d.id)) return 'An id has the characters 0-9 and a-f; see "resolve instance list".'
      if (d.needed !== undefined) return `Give at least ${d.needed} characters of the id; see "resolve instance list".`
      return 'See "resolve instance list".'
    },
  },
  instance_ambiguous: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (d: { id: string; matches: readonly string[] }) =>
      `"${d.id}" matches ${d.matches.length} instances: ${d.matches.slice(0, 5).join(', ')}${d.matches.length > 5 ? ', …' : ''}.`,
    hint: () => 'Give the id, or more characters of it.',
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
        ? `The resolver accepts no messages now, so the message of type "${d.type}" was refused.`
        : `The resolver accepts no messages of type "${d.type}" now. It accepts: ${d.known.join(', ')}.`,
    hint: () => 'The accepted types can change with the phase: see "resolve instance message <id> --list".',
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
    message: (_: { path: string }) => 'The path is not a valid path below the data directory.',
    hint: () => 'A path must not contain empty, "." or ".." parts, "\\", or an encoded "/".',
  },
  state_missing: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { path: string }) => `The state snapshot has no value at ${d.path}.`,
  },
  invalid_state: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { action: string; status: string }) => `Can't ${d.action} an instance that is ${d.status}.`,
    hint: (d: { action: string; status: string }) =>
      d.status === 'paused'
        ? '"resolve instance resume <id>" continues it.'
        : '"resolve instance show <id>" shows its status.',
  },
  already_answered: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { request: string; actor: string; via: string; at: string }) =>
      `"${d.request}" was already answered by ${d.actor} (${d.via}) at ${d.at}.`,
  },
  request_cancelled: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { request: string }) => `"${d.request}" was withdrawn and cannot be answered.`,
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
    message: (d: { method: string; limit_ms: number; detail?: string; by_hand?: string }) =>
      `The resolver did not answer ${d.method} within ${d.limit_ms / 1000} s.${d.detail ? ` It printed: ${d.detail}` : ''}`,
    outside: (d: { method: string; limit_ms: number }) =>
      `The resolver did not answer ${d.method} within ${d.limit_ms / 1000} s.`,
    // Only a question without an instance has a command to run: the stderr of an instance is kept.
    hint: (d: { by_hand?: string }) =>
      d.by_hand === undefined
        ? 'Its stderr may show why: see "resolve instance explain".'
        : `Run it manually to see where it hangs: ${d.by_hand}`,
    outsideHint: () => 'Its output, on the machine of the server, may show why.',
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
      `The resolver ended before it answered ${d.method}: ${d.detail || 'it printed nothing (does its program call serve()?)'}`,
    outside: (d: { method: string }) => `The resolver ended before it answered ${d.method}.`,
    hint: (d: { by_hand: string }) => `Run it manually to see its output: ${d.by_hand}`,
  },
  launch_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { command: string; reason: string }) => `Can't start "${d.command}": ${d.reason}.`,
    outside: () => "The resolver's program can't be started.",
    hint: () => 'Check that the program is installed and in PATH.',
  },
  feature_missing: {
    kind: 'environment',
    http: 501,
    exit: 10,
    message: (d: { resolver: string; feature: string }) =>
      `The resolver "${d.resolver}" needs ${d.feature}, which this version does not provide.`,
  },
  coordination_tampered: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { path: string; reason: string }) => `The coordination file ${d.path} is not valid: ${d.reason}.`,
    outside: () => 'A coordination file is not valid.',
  },
  host_unreachable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { instance: string; reason: string }) =>
      `Can't reach the host of instance ${d.instance}: ${d.reason}.`,
    outside: (d: { instance: string }) => `Can't reach the host of instance ${d.instance}.`,
    hint: () => 'Run the command again: it starts a new host if the old one has ended.',
  },
  host_silent: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { instance: string; pid: number; kept: boolean }) =>
      `The host of instance ${d.instance} (process ${d.pid}) does not answer.${d.kept ? ' The stop is kept: the host carries it out when it goes on, or the next host does.' : ''}`,
    outside: (d: { instance: string; kept: boolean }) =>
      `The host of instance ${d.instance} does not answer.${d.kept ? ' The stop is kept.' : ''}`,
    hint: (d: { instance: string }) =>
      `"resolve instance stop ${d.instance} --force" ends that process and the worker. "kill -CONT" continues a process that was suspended.`,
  },
  resume_exhausted: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { instance: string; resumes: number }) =>
      `Instance ${d.instance} lost its worker again after ${d.resumes} resumes: it is not resumed by itself any more.`,
    hint: (d: { instance: string }) =>
      `"resolve instance explain ${d.instance}" tells how; "resolve instance resume ${d.instance}" tries again.`,
  },
  git_missing: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (_: Record<string, never>) => "Can't run git.",
    hint: () => 'Install git and run the command again.',
  },
  git_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { url: string; reason: string }) => `Can't fetch ${d.url}: ${d.reason}`,
    outside: () => "Can't fetch the source.",
    hint: () => 'Check the address, the ref, and that this machine has access.',
  },
  work_unreadable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { reason: string }) => `Can't read the work in the repository: ${d.reason}`,
    outside: () => "Can't read the work in the repository.",
    hint: () => 'See what was kept before: resolve instance diff ID --snapshot last',
  },
  repo_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { what: string; reason: string }) =>
      `The resolver wants a workspace that can't be made. ${d.what}: ${d.reason}.`,
    hint: (d: { reason: string }) =>
      d.reason.includes('RESOLVE_GIT_LOCAL')
        ? 'export RESOLVE_GIT_LOCAL=DIRECTORY, for example ~/src'
        : 'The rules are in docs/git.md, section "What is refused".',
  },
  repo_clone_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; url: string; reason: string }) => `Can't clone ${d.url}: ${d.reason}`,
  },
  repo_auth_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; url: string; has_token: boolean }) =>
      d.has_token
        ? `${d.url} can't be read: it does not exist, or the token of the git host may not read it.`
        : `${d.url} can't be read without a token: it is private, or it does not exist.`,
    hint: () =>
      'Set RESOLVE_GIT_HOST_TOKEN, and RESOLVE_GIT_BASE_URL for a host of your own: the token is sent to no other host.',
  },
  repo_ref_missing: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { repo: string; url: string; ref: string; nearest: readonly string[] }) =>
      `${d.url} has no branch, tag or commit "${d.ref}".${d.nearest.length === 0 ? '' : ` The nearest names: ${d.nearest.join(', ')}.`}`,
  },
  repo_too_large: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; url: string; limit: number }) => `${d.url} is larger than ${d.limit} bytes.`,
  },
  change_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { what: string }) => `There is no ${d.what}.`,
    hint: () => '"resolve instance repos <id>" shows what there is.',
  },
  git_server_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { reason: string }) => `The git server of the instance failed: ${d.reason}.`,
    outside: () => 'The git server of the instance failed.',
    hint: () => 'Its own words are in git/server/server.log of the instance.',
  },
  home_unusable: {
    kind: 'environment',
    http: 507,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't use the home directory ${d.path}: ${d.reason}.`,
    outside: () => "The server can't use its home directory.",
    hint: () => 'Fix its permissions, or set RESOLVE_HOME to another directory.',
  },
  disk_full: {
    kind: 'environment',
    http: 507,
    exit: 10,
    message: (d: { path: string }) => `No space left on the disk of ${d.path}.`,
    outside: () => 'No space left on the server.',
    hint: () => 'Free some space and run the command again. No file was left incomplete.',
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
    message: (d: { path: string }) => `Cannot get the lock ${d.path}: another process has held it for too long.`,
    outside: () => 'Another process of the server has held a lock for too long.',
    hint: () => 'Run the command again. Remove the file only if no other resolve process is running.',
  },
  ownership_lost: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { path: string }) => `Another host owns ${d.path}; this host gives up the instance.`,
    outside: () => 'Another host has taken over the instance.',
  },
  catalog_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the catalog ${d.path}: ${d.reason}.`,
    outside: () => "The catalog can't be read.",
    hint: () => 'Fix the file, or move it away to start with the built-in resolvers only.',
  },
  resolver_not_ready: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { what: string }) => `Can't ${d.what}: the resolver has no instance yet.`,
    hint: () => 'These functions of the SDK work only inside run(), after resolver.initialize.',
  },
  resolver_mismatch: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { field: string; resolver: string; expected: string }) =>
      `The resolver's ${d.field} is "${d.resolver}", but its manifest says "${d.expected}".`,
    hint: () => 'Make the two equal, or remove it from the code: the SDK then reads it from manifest.json.',
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
    message: (d: { request: string }) => `This run has already made an input request "${d.request}".`,
    hint: () => 'Each input request of an instance needs its own id.',
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
    message: (d: { session: string }) => `Can't open the session "${d.session}": there is no key of an LLM provider.`,
    hint: () => 'Set RESOLVE_LLM_PROVIDER_API_KEY, and RESOLVE_LLM_MODEL=provider/model, where the host runs.',
  },
  session_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { session: string }) => `There is no session "${d.session}" with a transcript.`,
    hint: () => '"resolve instance transcript <id>" lists the sessions of an instance.',
  },
  session_model_unknown: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; problem: string }) => `Can't open the session "${d.session}": ${d.problem}.`,
    hint: () =>
      'Set RESOLVE_LLM_MODEL=provider/model, or pass "model". Providers: anthropic, openai, openai-compatible, google, scripted.',
  },
  session_options_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; problem: string }) => `Can't open the session "${d.session}": ${d.problem}.`,
  },
  session_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { session: string; detail: string; status?: number }) =>
      `The session "${d.session}" failed: the LLM provider answered ${d.status === undefined ? '' : `${d.status}: `}${d.detail}`,
  },
  session_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string }) => `The model refused the request of the session "${d.session}".`,
  },
  session_limit: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; what: string; limit: number; value: number }) =>
      `The session "${d.session}" reached its limit of ${d.limit} ${d.what} (${d.value}).`,
    hint: () => 'Pass a higher limit to ctx.sessions.create, or divide the work.',
  },
  session_stuck: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; tool: string; times: number }) =>
      `The session "${d.session}" made the same call of "${d.tool}" ${d.times} times in a row, with the same result.`,
  },
  script_ended: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { session: string; step: number }) =>
      `The script of the session "${d.session}" has no turn for step ${d.step}.`,
    hint: () => 'A scripted model gives only the answers of its file. Add the turn, or use a live model.',
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
  secret_missing: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { resolver: string; name: string; variable?: string }) =>
      d.variable === undefined
        ? `The resolver "${d.resolver}" needs the secret ${d.name}, which is not set.`
        : `The resolver "${d.resolver}" needs the secret ${d.name}, but the variable ${d.variable} is not set here.`,
    hint: (d: { name: string }) => `Set it with "resolve secret set ${d.name}".`,
  },
  secret_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { name: string; nearest?: string }) => `There is no secret "${d.name}".`,
    hint: (d: { nearest?: string }) => meantOr(d.nearest, 'See "resolve secret list".'),
  },
  secret_unavailable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { name: string; reason: string }) => `Can't get the secret ${d.name}: ${d.reason}.`,
    hint: () => 'Run the command by hand, or set the secret again with "resolve secret set".',
  },
  secret_unreadable: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { what: string; reason: string }) => `Can't open the sealed ${d.what}: ${d.reason}.`,
    outside: () => "A sealed value can't be opened.",
    hint: () =>
      'Put the key file back, or name the one that sealed the value in RESOLVE_SECRET_KEY_FILE. If it is lost, cancel the instance, or set the secret again.',
  },
  secret_key_unusable: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't use the key file ${d.path}: ${d.reason}.`,
    outside: () => "The server's key file can't be used.",
    hint: () =>
      'Put the key file back, or name another one in RESOLVE_SECRET_KEY_FILE. If it is lost, cancel the instances that have secret values, remove the secrets and targets, and set them again.',
  },
  secrets_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the secrets in ${d.path}: ${d.reason}.`,
    outside: () => "The server's secrets can't be read.",
    hint: () => 'Move the file away and set the secrets again with "resolve secret set".',
  },
  notify_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { name: string; nearest?: string }) => `There is no target "${d.name}".`,
    hint: (d: { nearest?: string }) => meantOr(d.nearest, 'See "resolve notify list".'),
  },
  notify_exists: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { name: string }) => `There is a target "${d.name}" already.`,
    hint: (d: { name: string }) => `Remove it with "resolve notify remove ${d.name}", or use another name.`,
  },
  notify_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the targets in ${d.path}: ${d.reason}.`,
    outside: () => "The server's targets of notifications can't be read.",
    hint: () => 'Move the file away and add the targets again with "resolve notify add".',
  },
  tokens_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the tokens in ${d.path}: ${d.reason}.`,
    outside: () => "The server's tokens can't be read.",
    hint: () => 'Move the file away and create new tokens with "resolve token create".',
  },
  schedule_invalid: {
    kind: 'user',
    http: 422,
    exit: 2,
    message: (d: { problem: string }) => d.problem,
  },
  schedule_taken: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { name: string }) => `There is a schedule "${d.name}" already.`,
    hint: () => 'Choose another name with --name, or remove the other one.',
  },
  schedule_secret: {
    kind: 'user',
    http: 422,
    exit: 2,
    message: (d: { field: string; secret_fields?: readonly string[] }) =>
      `"${d.field}" is a secret field: a schedule would have to store it.`,
    hint: () => 'Use a secret of the operator, which the manifest of the resolver names.',
  },
  schedule_unchecked: {
    kind: 'environment',
    http: 503,
    exit: 10,
    message: (d: { resolver: string; reason: string }) =>
      `The schedule is not added, because ${d.resolver} can't be asked for its form now: ${d.reason}`,
    outside: (d: { resolver: string }) =>
      `The schedule is not added, because ${d.resolver} can't be asked for its form now.`,
    hint: () =>
      'The form tells which fields are secret; a schedule must not store those. Add the schedule when the resolver answers.',
  },
  schedule_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { name: string; nearest?: string }) => `There is no schedule "${d.name}".`,
    hint: (d: { nearest?: string }) => meantOr(d.nearest, 'See "resolve schedule list".'),
  },
  schedules_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the schedules in ${d.path}: ${d.reason}.`,
    hint: () => 'Mend the file, or move it away and add the schedules again.',
  },
  config_invalid: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (d: { path: string; line?: number; problem: string }) =>
      `The config file ${d.path}${d.line === undefined ? '' : `, line ${d.line}`}: ${d.problem}.`,
    hint: () => 'Mend the file, or move it away; docs/cli.md describes it.',
  },
  context_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { name: string; nearest?: string }) => `There is no context "${d.name}".`,
    hint: (d: { nearest?: string }) => meantOr(d.nearest, 'See "resolve context list".'),
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
    outside: (d: { image: string }) => `There is no image "${d.image}" on the server's machine.`,
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
  resolver_preparing: {
    kind: 'environment',
    http: 503,
    exit: 10,
    message: (d: { resolver: string; step?: number | undefined; total?: number | undefined }) =>
      `The resolver "${d.resolver}" is being prepared${d.step === undefined ? '' : `: setup step ${d.step} of ${d.total}`}.`,
    hint: () => 'Try again in a moment; an instance of it can be created at once.',
  },
  setup_malformed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { resolver: string; field: string }) =>
      `The resolver "${d.resolver}" returned container_setup.${d.field}, which is not a valid list.`,
  },
  mount_refused: {
    kind: 'environment',
    http: 422,
    exit: 10,
    message: (d: { mount: string; reason: string }) => `The volume mount ${d.mount} is not allowed: ${d.reason}.`,
    outside: () => 'A volume mount of the resolver is not allowed.',
    hint: () => 'The operator of this machine allows host paths with RESOLVE_VOLUME_ALLOW=/path:/other=rw.',
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
    hint: () => 'docs/writing-a-resolver.md describes sandboxes.',
  },
  sandbox_lost: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { command: string }) =>
      `The host was replaced while "${d.command}" ran in a sandbox: its result is unknown.`,
  },
  repo_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { repo: string; names: readonly string[] }) =>
      `The instance has no repository "${d.repo.slice(0, 100)}".${d.names.length === 0 ? '' : ` It has: ${d.names.join(', ')}.`}`,
  },
  promotion_not_requested: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (_: Record<never, never>) => 'Promotion was not requested.',
    hint: () =>
      'A worker may promote where the input has "delivery_mode": "promote"; a person can promote any instance.',
  },
  promotion_branch_refused: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { branch: string; reason: string }) => `The branch "${d.branch}" can't be promoted: ${d.reason}.`,
  },
  promotion_invalid: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { problem: string }) => `The promotion is refused: ${d.problem}.`,
  },
  promotion_target_missing: {
    kind: 'user',
    http: 422,
    exit: 6,
    message: (d: { target: string; repo: string }) => `${d.repo} has no branch "${d.target}".`,
  },
  promotion_secret_found: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; paths: readonly string[] }) =>
      `The branch "${d.branch}" adds a known secret, in ${d.paths.join(', ')}.`,
    hint: () => 'Remove the secret from every commit of the branch, and replace the secret where it was in use.',
  },
  promotion_needs_approval: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; paths: readonly string[] }) =>
      `The branch "${d.branch}" changes what runs with the rights of the forge: ${d.paths.join(', ')}.`,
    hint: () => 'A person must look at these files and promote with --allow workflows.',
  },
  promotion_commit_changed: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; seen: string; commit: string }) =>
      `The branch "${d.branch}" would be promoted as ${d.commit.slice(0, 10)} now, not as ${d.seen.slice(0, 10)} that was looked at.`,
    hint: () => 'Look again with --dry-run, then promote.',
  },
  promotion_conflict: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; target: string; paths: readonly string[] }) =>
      `The branch "${d.branch}" can't be rebased on "${d.target}": in conflict are ${d.paths.join(', ')}.`,
    hint: () =>
      'Let the resolver bring the target in and push again, or promote without --rebase and resolve it there.',
  },
  promotion_branch_moved: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; repo: string }) =>
      `The branch "${d.branch}" of ${d.repo} has commits that this instance did not push; nothing was overwritten.`,
    hint: () => 'Promote under another name, or remove that branch.',
  },
  nothing_to_promote: {
    kind: 'user',
    http: 409,
    exit: 7,
    message: (d: { branch: string; target: string }) =>
      `The branch "${d.branch}" has no commits that "${d.target}" does not have.`,
  },
  promotion_push_refused: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; words: string }) => `${d.repo} refused the push: ${d.words}`,
  },
  promotions_broken: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { path: string; reason: string }) => `Can't read the promotions in ${d.path}: ${d.reason}.`,
    outside: () => "Can't read the promotions of the instance.",
  },
  forge_unknown: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { host: string }) => `Can't tell which forge this is: ${d.host}.`,
    hint: () =>
      'Set RESOLVE_GIT_PROVIDER to github, gitlab, gitea, bitbucket, bitbucket_server or azure, and RESOLVE_GIT_BASE_URL to its address.',
  },
  forge_auth_failed: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { host: string; words: string }) =>
      `${d.host} does not take the token.${d.words === '' ? '' : ` ${d.words}`}`,
    hint: () =>
      'Set RESOLVE_GIT_HOST_TOKEN or RESOLVE_GIT_TOKEN_COMMAND, and RESOLVE_GIT_BASE_URL for a host of your own.',
  },
  forge_forbidden: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; words: string }) =>
      `The token may not do this in ${d.repo}.${d.words === '' ? '' : ` ${d.words}`}`,
  },
  forge_not_found: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string }) => `${d.repo} was not found: it does not exist, or the token has no rights to it.`,
  },
  forge_busy: {
    kind: 'environment',
    http: 503,
    exit: 10,
    message: (d: { host: string; seconds: number }) => `${d.host} asks to wait ${d.seconds} s.`,
    hint: () => 'Promote again later; a repeated promotion ends at the same pull request.',
  },
  forge_unreachable: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { host: string; reason: string }) => `Can't reach ${d.host}: ${d.reason}.`,
    hint: () => 'Promote again later; a repeated promotion ends at the same pull request.',
  },
  forge_refused: {
    kind: 'environment',
    http: 502,
    exit: 10,
    message: (d: { repo: string; words: string }) => `${d.repo} refused the pull request: ${d.words}`,
  },
  bug: {
    kind: 'bug',
    http: 500,
    exit: 70,
    message: (d: { what: string }) => `Internal error in resolve: ${d.what}`,
    outside: () => 'Internal error of the server; see its log.',
    hint: () => 'The report below has the details.',
  },
} as const satisfies Record<string, Entry>

export type ErrorCode = keyof typeof catalogue

export const ERROR_CODES = Object.keys(catalogue) as ErrorCode[]

type DetailsOf<C extends ErrorCode> = Parameters<(typeof catalogue)[C]['message']>[0]

interface Said {
  message: string
  /** The message over HTTP, if it differs. */
  outside: string | undefined
  hint: string | undefined
}

/** An error of the catalogue. `errors` has all messages if there are several (a form, a manifest). */
export class ResolveError extends Error {
  readonly code: ErrorCode
  readonly kind: ErrorKind
  readonly httpStatus: number
  readonly exitCode: number
  readonly hint: string | undefined
  /** The hint for callers on other machines. */
  readonly outsideHint: string | undefined
  /** The message for callers on other machines: without paths, programs or stderr (R7). */
  readonly outside: string
  readonly errors: readonly string[]
  /** The same messages with the form field each belongs to. */
  readonly fields: readonly { id: string; message: string }[]
  readonly details: Readonly<Record<string, unknown>>

  /** `said` is the message that another process sent; its details are not available here. */
  constructor(code: ErrorCode, details: Record<string, unknown>, cause?: unknown, said?: Said) {
    const entry: Entry = catalogue[code]
    super(said?.message ?? entry.message(details as never), cause === undefined ? undefined : { cause })
    this.name = 'ResolveError'
    this.code = code
    this.kind = entry.kind
    this.httpStatus = entry.http
    this.exitCode = entry.exit
    this.hint = said === undefined ? entry.hint?.(details as never) : said.hint
    this.outsideHint = (said === undefined ? entry.outsideHint?.(details as never) : undefined) ?? this.hint
    this.outside =
      said === undefined ? (entry.outside?.(details as never) ?? this.message) : (said.outside ?? this.message)
    this.details = details
    this.errors = Array.isArray(details['errors']) ? (details['errors'] as string[]) : []
    this.fields = Array.isArray(details['fields']) ? (details['fields'] as { id: string; message: string }[]) : []
  }
}

/** Creates (does not throw) an error of the catalogue: `throw fail('instance_unknown', {id})`. */
export function fail<C extends ErrorCode>(code: C, details: DetailsOf<C>, options?: { cause?: unknown }): ResolveError {
  return new ResolveError(code, details as Record<string, unknown>, options?.cause)
}

/** Converts the error response of a server; undefined if its code is not in the catalogue. */
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

/** Kind, HTTP status and exit code of an error code: for the docs test and the HTTP schema. */
export function describeError(code: ErrorCode): { kind: ErrorKind; http: number; exit: number } {
  const { kind, http, exit } = catalogue[code]
  return { kind, http, exit }
}

/** The `code` of a system error (`ENOENT`, `ENOSPC`); undefined for any other, also for one of the catalogue, whose code is ours. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof ResolveError) return undefined
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Whether the operation failed because this process has too few file descriptors or too little memory. */
export function isScarcity(thrown: unknown): boolean {
  const code = systemCode(thrown)
  return code === 'EMFILE' || code === 'ENFILE' || code === 'ENOMEM' || code === 'EAGAIN'
}

/** Whether a write failed because the disk or a quota is full: the same write succeeds once there is space. */
export function isDiskFull(thrown: unknown): boolean {
  const code = systemCode(thrown)
  return code === 'ENOSPC' || code === 'EDQUOT' || (thrown instanceof ResolveError && thrown.code === 'disk_full')
}

/** Whether the same call may succeed a moment later: the disk is full now, or this process has too few file descriptors or too little memory. */
export function passesWithTime(thrown: unknown): boolean {
  return isScarcity(thrown) || isDiskFull(thrown)
}

/** The `disk_full` of a write that failed because the disk, a quota or the size of a file is at its limit; undefined for any other error. */
export function diskFull(thrown: unknown, path: string): ResolveError | undefined {
  const isFull = isDiskFull(thrown) || systemCode(thrown) === 'EFBIG'
  return isFull ? fail('disk_full', { path }, { cause: thrown }) : undefined
}

/** Converts an error of the file system (full, read-only, broken) to an error of the catalogue; undefined for other errors. */
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
