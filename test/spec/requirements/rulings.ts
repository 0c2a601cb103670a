/**
 * The rulings: what was decided where the specification is silent. One id each; where a part of a ruling is shown on its own, it has
 * a word behind the number, and what waits is called -LATER.
 */
import { type Later, toRequirement, waits } from './requirement.ts'

const entries: Record<string, string | Later> = {
  R1: 'The program is resolve, the package resolve-platform, the SDK resolve-platform/sdk; variables start with RESOLVE_',
  'R1-SERVER': 'RESOLVE_URL and RESOLVE_TOKEN name the server and its token',
  R2: 'Home is $RESOLVE_HOME, else $XDG_DATA_HOME/resolve, else ~/.local/share/resolve; mode 0700, umask 077',
  R3: 'instance_id is 12 random lower-case hex characters; commands take a unique prefix of 4 or more, or @last',
  R4: 'git-server has the alias gitea; platform and resolver are reserved names; a name has at most 64 characters',
  R5: 'resolver add takes a directory, https, git+https@ref, ssh, git@host:path and "name @ …"; the entry pins the commit',
  R6: 'Success codes of the HTTP routes',
  R7: 'Error bodies are {detail, code}; hostile input never gives a 5xx, a stack or a path',
  R8: 'The record carries the ruled fields',
  R9: 'Extra HTTP routes',
  R10: 'An input is validated against the schema computed with that input as params',
  'R10-HTTP': 'GET schema takes params as URL-encoded JSON',
  R11: 'Idempotency-Key on every POST',
  R12: 'The intent of a request is on disk before it is acknowledged',
  R13: 'Data of a finished instance is read from the kept files and starts nothing',
  'R13-LATER': waits.elsewhere('502 on data of a live instance whose files are on another machine (R50)'),
  R14: 'An envelope has the five fields; our timestamp is ISO-8601 UTC with milliseconds or finer',
  'R14-LINES':
    'Further fields of a line are forwarded untouched; a timestamp that is missing or cannot be read is replaced by the time of the host, and the line is kept',
  R15: 'Sequence numbers have no gap and replay starts after any of them; a finished instance replays and ends',
  'R15-SSE': 'SSE ids, heartbeats and Last-Event-ID',
  R16: 'Forged, foreign, oversized, too deep and malformed lines are not forwarded: platform.event.rejected {reason, bytes} stands instead',
  R17: 'Tier 1 of the local worker: worker.launched, ready, failed, adopted, setup.failed, status_changed, input.requested, input.answered, message.accepted, watchdog.warning, event.rejected',
  'R17-DOCKER':
    'Tier 1 of containers: container.creating, setup.starting, progress, completed and failed with its cause, egress.denied',
  'R17-LATER': waits.sessions('Tier 1 of sessions and reality checks'),
  R18: 'Tier 2 is complete as ruled; readers accept phase for name',
  R19: 'data_changed is matched by suffix',
  R20: 'Stop is legal in every non-terminal status; the first terminal transition wins; cancelled is published when every process of the worker is gone',
  R21: 'The result decides, then resolver:completed, then the exit; a worker that ends without either is failed with worker_exited',
  R22: 'paused from a resolver without supports_resume is failed, code not_resumable',
  R23: 'resolver:completed once per run() on every exit path; cancelled and paused as ruled',
  R24: 'A pause is resolver.stop {reason: pause_requested} and the result decides; 409 without supports_resume; resume starts the worker again on the same files',
  R25: 'awaiting_input holds while any request is pending; the first valid answer wins; who answered, and by which door, is recorded',
  R26: 'Stop: RPC stop, then SIGTERM to the process group, then SIGKILL; a forced end is cancelled and says so',
  R27: 'The lifetime counts while a worker is up; a warning at 80 %, then the stop protocol with reason lifetime_exceeded',
  R28: 'A request is pending, answered or cancelled',
  R29: 'or takes {conditions}; upstream argument shapes are accepted through one normaliser',
  R30: "An unknown call or malformed args is the author's error, refused when the schema arrives; the limits of a form hold",
  R31: 'A missing or null value fails regex, length, numeric and email',
  R32: 'Paths read own properties of plain objects and array indexes only',
  R33: 'The cast to bool, length in code points or items, numeric as ruled',
  R34: 'email and regex as ruled; a pattern that takes too long fails its check',
  R35: 'Errors come in component order, then check order; unknown keys and select values are no errors of the HTTP API, and refused by the doors for people',
  R36: 'Extra keys of the input are kept untouched',
  R37: 'Every /api route needs a bearer token, with Host, Origin and Sec-Fetch checks',
  R38: 'resolve token create, list and revoke; sign-in links',
  R39: 'Commands on the same machine use the home directory and a 0600 unix socket, no token',
  R40: 'resolver.shutdown, resolver.event, resolver.finished, resolver.log; a resolver with only files and the eight methods conforms',
  'R40-SESSIONS':
    'platform.session.create, run and steer: LLM sessions for resolvers in other languages, which outlive a pause, a host, a helper and a worker',
  R41: 'A line on stdout that is no frame is logged, counted, ignored; frames are capped at 4 MiB',
  R42: 'Calls into a resolver are at-least-once; request_id and message number let the SDK dedupe',
  R43: 'InstanceConfig carries project_path and resolve_path; RESOLVE_DIR is set; config.json is 0600 and scrubbed of secrets at the end',
  R44: 'initialize has {config}; getInstantiationSchema and getWorkspaceSpec may come before it; a resolver without a form answers null',
  R45: "Credentials come from the host's environment; a worker's environment is an allow-list",
  'R45-FORGE':
    'The token of the git host goes to the host of RESOLVE_GIT_BASE_URL, else to the public host of RESOLVE_GIT_PROVIDER, and to no other',
  R46: waits.realityCheck('dtu_lifecycle and the default timeout of a reality check'),
  R47: "GET state answers the snapshot with the instance's own status, the latest phase and updated_at; before any state {status, phase}; state.json stays as written",
  R48: 'An instance exists before its setup runs: starting is where setup commands run, with platform.setup.* events; a failing one ends it',
  'R48-CHECK':
    'POST to a resolver that is not prepared is accepted, and the input is checked after the setup: form_invalid with all messages',
  'R48-PREPARE':
    'Setup is prepared once for each image, commands and commit: by resolver add, by serve, else by the first use',
  'R48-SCHEMA':
    'GET schema of a resolver that is not prepared waits 20 s, then 503 resolver_preparing with Retry-After',
  'R48-SHOWN': 'The command line and the page show the setup as it runs; timeouts count it',
  R49: 'manifest.json of a directory is read at every use; one that cannot be read or is malformed refuses the use with its error',
  R50: 'Files on this machine are served without the worker; 502 is for workers whose files are elsewhere',
  R51: 'Versions may carry build metadata; options of a select are texts, numbers or booleans, compared as text; an unknown top-level key of a POST body is ignored',
  R52: 'instantiation_schema gets null where no params were given, else the object; name, version and supports_resume that a resolver tells are compared at registration',
  R53: 'Memory and swap together are 8 GiB: nothing is swapped',
  R54: 'A pattern that is legal only without the u flag is taken without it',
  R55: 'Model, base URL, token command and named secrets reach a resolver by its config alone',
  R56: 'Sessions are journaled as platform.resolver.session_dispatched and session_completed',
  'R56-TRACES':
    'Turns, calls of the model and calls of tools are OpenTelemetry spans by the GenAI conventions, without contents unless asked, each once over a kill',
  'R56-BUDGET':
    'A budget in US dollars bounds all LLM sessions of an instance, over pauses, by one step at most: then the run fails with budget_exceeded; RESOLVE_BUDGET_USD is default and ceiling',
  'R56-TOKENS':
    'A budget in tokens bounds all LLM sessions of an instance as one in US dollars does; the bound that is reached first counts; RESOLVE_BUDGET_TOKENS is default and ceiling',
  'R56-OVER':
    'An instance of which a session was refused for its budget ends failed with budget_exceeded whatever its resolver makes of it, with its output and artifacts',
  'R56-STEER':
    'What steer says is told to the model once before its next step, also where a pause, a kill or the end of a helper comes first',
  'R56-RECORDED':
    'run --record writes the answers of the models of a run, redacted, mode 600; recorded/<path> gives them again as kind replayed, and a prompt that leaves the record fails with script_ended',
  'R56-SCHEMA': 'A run of a session with a JSON Schema gives a checked object, with one repair, with every provider',
  'R56-USAGE':
    'Tokens, estimated cost and kinds of the LLM sessions stand in the record, in documents, at the end of a run and in the step summary',
  'R56-SEES':
    'A prompt of a session has images, paths in the workspace or bytes, which every protocol sends, a resume sends again as they were, and which are refused before anything is paid where they are none',
  'R56-MCP':
    'A session offers the tools of MCP servers as server__tool, within limits; a server that fails is a warning, and a stop ends it with everything that it started',
  'R56-FETCH':
    'The tool fetch reaches public addresses alone unless the author allows others, after each redirect and through the proxy of a worker, within limits of time and size',
  'R56-IMAGES':
    'An image that a tool gives reaches models that take images, and no transcript or request grows beyond its limits by it',
  'R56-PATCH': 'apply_patch makes all changes of a patch or none, of files that were read before',
  R57: "Cancelled by a person's stop keeps the reason given, with forced: true where force was needed",
  R58: 'A lost worker with supports_resume and a checkpoint makes the instance paused, reason worker_lost',
  'R58-RESUME':
    'serve --resume-lost and instance resume --lost resume instances with a lost worker, with backoff, three times at most',
  'R58-QUESTIONS': 'An open question of a lost worker stays open, is answered meanwhile, or is asked again on resume',
}

export const rulingRequirements = Object.entries(entries).map(([id, entry]) => toRequirement(id, 'rulings', entry))
