/**
 * Every number of the platform, with its unit in its name and its source beside it.
 * Sources: `spec` is docs/spec.md; R… is a ruling (test/spec/requirements); `threats` and `reliability` are pages of docs/; `own` is a choice of the project.
 */

export const KIB = 1024
export const MIB = 1024 * KIB
export const GIB = 1024 * MIB

/** What a manifest, a name or an id may be. */
export const RESOLVER_NAME_MAX_CHARS = 64 // R4
export const MANIFEST_MAX_BYTES = 1 * MIB // own: as every file read from a resolver
export const VIEWPORT_MAX_BYTES = 16 * MIB // own: a bundle, not an archive
export const CATALOG_MAX_BYTES = 16 * MIB // own: thousands of resolvers
export const INSTANCE_ID_CHARS = 12 // R3
export const INSTANCE_PREFIX_MIN_CHARS = 4 // R3

/** What is read from a resolver. */
export const EVENT_LINE_MAX_BYTES = 1 * MIB // R16
export const JSON_MAX_DEPTH = 64 // R16
export const RPC_FRAME_MAX_BYTES = 4 * MIB // R41
export const STDOUT_NOISE_MAX_LINES = 1_000 // R41
export const STDOUT_NOISE_MAX_BYTES = 10 * MIB // threats RPC-1
export const COORDINATION_FILE_MAX_BYTES = 1 * MIB // own: state, status, request
export const INPUT_REQUESTS_MAX_FILES = 1_000 // threats FS-7
export const INPUT_REQUESTS_MAX_BYTES = 16 * MIB // all questions of an instance: they stay in memory and in its story
export const DATA_LISTING_MAX_FILES = 10_000 // threats FS-7
export const STDERR_KEEP_BYTES = 10 * MIB // threats FS-12
export const STDERR_TAIL_BYTES = 4 * KIB // reliability F5

/** What is read from a consumer. */
export const INPUT_MAX_BYTES = 1 * MIB // own: HTTP body
export const MESSAGES_MAX_BYTES = 64 * MIB // all that one instance is ever told

/** The HTTP API. */
export const HTTP_BODY_MAX_BYTES = 1 * MIB + 64 * KIB // an input of the full size, with what stands around it
export const HTTP_HEADERS_MAX_BYTES = 16 * KIB
export const HTTP_HEADERS_LIMIT_MS = 10_000
export const HTTP_REQUEST_LIMIT_MS = 30_000
export const HTTP_CONNECTIONS_MAX = 4_000
export const HTTP_KEEP_ALIVE_MS = 5_000
export const HTTP_IDLE_LIMIT_MS = 120_000 // a connection on which nothing moves, either way
export const HTTP_LOOK_MS = 1_000 // how often a connection is looked at for the limits above
export const HTTP_CLOSE_LIMIT_MS = 5_000 // what a request under way gets when the server shuts down
export const PAGE_DEFAULT_RECORDS = 50 // R9
export const PAGE_MAX_RECORDS = 500 // R9
export const PAGE_MAX_BYTES = 8 * MIB // a page has fewer records where their inputs are long
export const IDEMPOTENCY_KEEP_MS = 24 * 60 * 60_000 // R11
export const IDEMPOTENCY_KEY_MAX_CHARS = 256

/** The event stream (R15, threats WEB-11). */
export const SSE_HEARTBEAT_MS = 15_000
export const SSE_BUFFER_MAX_BYTES = 1 * MIB
export const SSE_STALL_LIMIT_MS = 30_000
export const SSE_READERS_PER_TOKEN = 32

/** Talking to a server. */
export const REMOTE_CONNECT_LIMIT_MS = 10_000
export const REMOTE_ANSWER_LIMIT_MS = 60_000 // longer than any call into a resolver
export const REMOTE_ANSWER_MAX_BYTES = 64 * MIB // a document; files are streamed
export const REMOTE_PAGE_RECORDS = 100
export const REMOTE_RETRY_MS = [250, 500, 1_000, 2_000] as const // a request whose connection broke, with the same key
export const REMOTE_SILENCE_LIMIT_MS = 45_000 // three heartbeats
export const REMOTE_RECONNECT_MIN_MS = 250
export const REMOTE_RECONNECT_MAX_MS = 5_000
export const REMOTE_PATIENCE_MS = 60_000 // what is followed or watched, and can't be had again
export const REMOTE_LOST_MS = 1_000 // a shorter loss is told to nobody

/** Tokens (R38). */
export const SIGN_IN_CODE_LIMIT_MS = 15 * 60_000
export const SIGN_IN_TOKEN_MS = 30 * 24 * 60 * 60_000

/** Forms (R30, R34). */
export const FORM_MAX_COMPONENTS = 200
export const FORM_MAX_DEPTH = 32
export const FORM_MAX_OPTIONS = 1_000
export const FORM_MAX_CONDITIONS = 2_000 // threats RPC-6: what one payload may cost to check
export const FORM_MAX_STRING_CHARS = 8 * KIB // threats RPC-6
export const PATTERN_MAX_CHARS = 1_000
export const PATTERN_MAX_COSTLY_ESCAPES = 16 // R34: compiling can't be interrupted
export const FORM_MAX_COSTLY_ESCAPES = 600 // R34: in all its patterns, each counted once
export const PATTERN_LIMIT_MS = 50
export const PATTERN_FORM_LIMIT_MS = 250
export const PATTERN_VALUE_MAX_CHARS = 64 * KIB // threats WEB-9

/** Calls into a resolver (spec, Limits: RPC timeouts). */
export const INITIALIZE_LIMIT_MS = 30_000
export const STOP_LIMIT_MS = 30_000
export const SCHEMA_LIMIT_MS = 10_000
export const WORKSPACE_SPEC_LIMIT_MS = 10_000
export const INPUT_RESPONSE_LIMIT_MS = 5_000
export const MESSAGE_LIMIT_MS = 5_000
export const MESSAGE_TYPES_LIMIT_MS = 5_000

/** Asking a resolver for its form: processes at once (threats, Who is trusted). */
export const INQUIRIES_AT_ONCE = 4 // of one resolver
export const INQUIRIES_WAITING = 256 // then the next is refused

/** Ending a worker (R26). */
export const TERM_LIMIT_MS = 10_000
export const SHUTDOWN_LIMIT_MS = 2_000
export const OUTCOME_GRACE_MS = 2_000

/** Life of an instance (R27). */
export const INSTANCE_LIFETIME_MS = 12 * 60 * 60_000
export const LIFETIME_WARNING_FRACTION = 0.8

/** Watching files. */
export const SWEEP_MS = 250
export const SWEEP_WATCHED_MS = 2_000
export const JOURNAL_SYNC_MS = 200 // reliability F24

/** Reaching a host. */
export const HOST_CONNECT_LIMIT_MS = 2_000
export const HOST_ADOPT_LIMIT_MS = 10_000
export const GIT_LIMIT_MS = 5 * 60_000
export const GIT_CHECKOUT_MAX_BYTES = 1 * GIB

/** What `serve` looks after. */
export const ATTEND_SWEEP_MS = 3_000
export const ATTEND_PARALLEL = 4
export const ATTEND_NEWBORN_MS = 2_000 // whoever created an instance owns it by then
export const ATTEND_RETRY_MAX_MS = 5 * 60_000
export const TRACES_CLOSE_LIMIT_MS = 2_000
export const LOG_BUFFER_MAX_BYTES = 8 * MIB // of a reader that stalls; then lines are dropped

/** Keeping house. */
export const DRAFT_STALE_MS = 60 * 60_000 // a creation takes milliseconds: a draft this old has no writer
export const PRUNE_AGE_MS = 30 * 24 * 60 * 60_000 // what has ended is kept for a month by default
export const DISK_FLOOR_BYTES = 2 * GIB // own: disk floor
export const DISK_FLOOR_FRACTION = 0.05 // own: of the whole file system
export const DOCKER_PING_LIMIT_MS = 2_000 // an engine that is there answers at once

/** Where the instances of a home stand, for lists (docs/on-disk.md). */
export const ROSTER_SETTLED_MS = 2_000 // well over a tick of any file system's clock, and over how long a record may be behind
export const INDEX_WORTH_PLACES = 64 // so many records are read in a few milliseconds: less is not worth a file
export const INDEX_MAX_BYTES = 64 * MIB // half a million instances

/** Secrets (threats B9). */
export const SECRET_MIN_CHARS = 8
export const OUTPUT_REWRITE_MAX_BYTES = 64 * MIB

/** A worker's container (spec, Limits). */
export const CONTAINER_PIDS_MAX = 256
export const CONTAINER_MEMORY_BYTES = 8 * GIB
export const CONTAINER_SWAP_BYTES = 8 * GIB // memory and swap together, so nothing is swapped out (threats D14)
export const CONTAINER_CPUS = 2
export const CONTAINER_LOG_SIZE = '10m' // own
export const CONTAINER_LOG_FILES = 3

/** The Docker engine (threats D15; reliability F4, F16). */
export const ENGINE_CALL_LIMIT_MS = 10_000
export const ENGINE_START_LIMIT_MS = 60_000
export const ENGINE_RETRY_MIN_MS = 200
export const ENGINE_RETRY_MAX_MS = 5_000
export const ENGINE_LOOK_MS = 5_000
export const ENGINE_PATIENCE_MS = 10 * 60_000 // how long an end waits for an engine that is away
export const SETUP_LIMIT_MS = 10 * 60_000 // threats MAN-2
export const SETUP_OUTPUT_KEEP_BYTES = 4 * KIB
export const IMAGE_BUILD_LIMIT_MS = 10 * 60_000
export const INQUIRY_PINNED_IDLE_MS = 60_000 // a container that answered questions waits this long for the next one, if its source is pinned to a commit
export const INQUIRY_LOCAL_IDLE_MS = 5_000 // the same where a directory may change; a process of this machine is asked no longer than this after its start
export const FIFO_AHEAD_MS = 10_000 // a FIFO that was made ahead waits this long for its worker
export const SOURCE_STAMP_MAX_FILES = 500 // a resolver of more files is started for each question
export const REAP_INTERVAL_MS = 60_000
export const ORPHAN_MIN_AGE_MS = 10 * 60_000 // reliability F16

/** The network of a worker (threats B8). */
export const EGRESS_RULES_MAX = 256
export const EGRESS_CONNECTIONS_MAX = 128 // at once, for one worker
export const EGRESS_HEAD_MAX_BYTES = 16 * KIB
export const EGRESS_HEAD_LIMIT_MS = 10_000
export const EGRESS_RESOLVE_LIMIT_MS = 10_000
export const EGRESS_CONNECT_LIMIT_MS = 10_000
export const EGRESS_IDLE_LIMIT_MS = 10 * 60_000 // nothing moves, either way; a model may think for minutes
export const EGRESS_ADDRESSES_TRIED = 4
export const EGRESS_REPORT_MS = 60_000
export const EGRESS_REPORT_KINDS_MAX = 50 // different refusals in that time that are told one by one
export const EGRESS_PROXY_PORT = 20_128 // on the gateway of the worker's own network; fixed, for the worker is told it once
export const EGRESS_TAKEOVER_LIMIT_MS = 5_000 // until an earlier host has let go of that port

/** The watchdog (spec, Limits; threats FS-12). */
export const WATCHDOG_MS = 10_000
export const WATCHDOG_TABLE_MS = 5_000 // a look at all processes serves the watchdogs of this time
export const WATCHDOG_REARM_FRACTION = 0.9 // it warns again after a value was this far back
export const PIDS_WARNING = 200
export const MEMORY_WARNING_FRACTION = 0.8
export const INSTANCE_DISK_BYTES = 5 * GIB
export const DISK_WARNING_FRACTION = 0.8
export const DISK_SAMPLE_MS = 30_000
export const DISK_SAMPLE_MAX_ENTRIES = 200_000

/** Sandboxes for sandboxed steps (threats B11). */
export const SANDBOXES_MAX = 4
export const SANDBOX_MEMORY_BYTES = 2 * GIB
export const SANDBOX_SPACE_BYTES = 1 * GIB // of its /tmp, the only place that can be written; counts as memory
export const SANDBOX_CPUS = 1
export const SANDBOX_PIDS_MAX = 256
export const SANDBOX_COMMANDS_MAX = 8 // at once, of one instance
export const SANDBOX_COMMAND_LIMIT_MS = 10 * 60_000
export const SANDBOX_COMMAND_LONGEST_MS = 2 * 60 * 60_000
export const SANDBOX_OUTPUT_MAX_BYTES = 256 * KIB // of stdout and of stderr; the last of it is kept
export const SANDBOX_STDIN_MAX_BYTES = 2 * MIB
export const SANDBOX_KILL_LIMIT_MS = 5_000
