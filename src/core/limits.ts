/**
 * Every number of the platform, with its unit in its name and its source beside it.
 * Sources: `spec` is docs/spec.md; R… is a ruling (test/spec/requirements); `threats` and `reliability` are pages of docs/;
 * `own` is a choice of the project.
 */

export const KIB = 1024
export const MIB = 1024 * KIB
export const GIB = 1024 * MIB

/** Manifests, names and ids. */
export const RESOLVER_NAME_MAX_CHARS = 64 // R4
export const MANIFEST_MAX_BYTES = 1 * MIB // own: as every file read from a resolver
export const VIEWPORT_MAX_BYTES = 16 * MIB // own: a bundle, not an archive
export const CATALOG_MAX_BYTES = 16 * MIB // own: thousands of resolvers
export const INSTANCE_ID_CHARS = 12 // R3
export const INSTANCE_PREFIX_MIN_CHARS = 4 // R3

/** Input from a resolver. */
export const EVENT_LINE_MAX_BYTES = 1 * MIB // R16
export const JSON_MAX_DEPTH = 64 // R16
export const RPC_FRAME_MAX_BYTES = 4 * MIB // R41
export const STDOUT_NOISE_MAX_LINES = 1_000 // R41
export const STDOUT_NOISE_MAX_BYTES = 10 * MIB // threats RPC-1
export const COORDINATION_FILE_MAX_BYTES = 1 * MIB // own: state, status, request
export const INPUT_REQUESTS_MAX_FILES = 1_000 // threats FS-7
export const INPUT_REQUESTS_MAX_BYTES = 16 * MIB // all requests of an instance together: they stay in memory and in its projection
export const DATA_LISTING_MAX_FILES = 10_000 // threats FS-7
export const LISTING_MAX_ENTRIES = 20_000 // threats FS-7: files and directories that a listing looks at
export const READ_SLICE_MS = 10 // decisions/0020: how long a long read keeps the event loop before others get their turn
export const JOURNAL_LINE_MAX_BYTES = 16 * MIB // own: a creation record with a manifest and an input of full size has less
export const RECORDS_KEPT_MAX = 32 // decisions/0020: records that were read from long journals
export const RECORD_KEPT_MIN_BYTES = 4 * MIB // decisions/0020: a shorter part of a journal is read again
export const JOURNALS_KEPT_MAX = 32 // decisions/0020: projections of journals that a process keeps for its readers
export const JOURNALS_KEPT_MS = 60_000 // decisions/0020: since their last use
export const STDERR_KEEP_BYTES = 10 * MIB // threats FS-12
export const STDERR_END_BYTES = 1 * MIB // what stays of a local worker's stderr when it reaches STDERR_KEEP_BYTES
export const STDERR_TAIL_BYTES = 4 * KIB // reliability F5

/** The log of an instance (docs/on-disk.md, The log). */
export const LOG_FILE_BYTES = 8 * MIB // own: of `log`; as much again of `log.1`
export const LOG_TEXT_MAX_CHARS = 16 * KIB // of one line
export const LOG_LINE_MAX_BYTES = 256 * KIB // a longer line is named, not kept
export const LOG_BURST_BYTES = 4 * MIB // kept at once, and then no more than LOG_RATE_BYTES a second: a flood must not fill the disk or the host's time
export const LOG_RATE_BYTES = 1 * MIB
export const LOG_LINE_OVERHEAD_BYTES = 100 // of a line in the log beside its text: number, time, source, cursor
export const LOG_LAST_WORDS_LINES = 100 // kept of the end of what is left out
export const LOG_LAST_WORDS_BYTES = 1 * MIB
export const LOG_LINES_A_TURN = 2_000 // written before other work of the host gets its turn
export const LOG_BEHIND_MAX_BYTES = 8 * MIB // unread stderr; the host skips to its end when there is more
export const STDOUT_END_BYTES = 1 * MIB // of the unread stdout of a worker that has ended; the rest is read only where there is less than LOG_BEHIND_MAX_BYTES
export const LOG_BUSY_MS = 500 // time between two reads of a worker that writes much to stderr
export const LOG_EARLY_MAX_BYTES = 1 * MIB // stderr of a container before its host is ready to log it
export const LOG_PAGE_LINES = 1_000 // own: default of a page
export const LOG_PAGE_MAX_LINES = 10_000
export const LOG_PAGE_BYTES = 1 * MIB
export const LOG_WAIT_MAX_S = 20 // how long a request for new lines may wait
export const LOG_WAITING_MAX = 64 // requests of one process that wait at once; the next one is answered at once
export const LOG_WAITING_OF_TOKEN_MAX = 32 // of one token; the next one is refused
export const LOG_LOOK_MS = 200

/** Exports that a server sends at once: each holds files open and parts of a journal in memory. */
export const EXPORTS_MAX = 16
export const EXPORTS_OF_TOKEN_MAX = 4
export const EXPORT_RETRY_S = 5

/** Input from a consumer. */
export const INPUT_MAX_BYTES = 1 * MIB // own: HTTP body
export const MESSAGES_MAX_BYTES = 64 * MIB // all messages to one instance together

/** Secrets (R55). */
export const SECRETS_MAX = 200
export const SECRET_VALUE_MAX_BYTES = 64 * KIB
export const SECRETS_FILE_MAX_BYTES = 32 * MIB // 200 sealed values of full size, in base64
export const SECRET_COMMAND_LIMIT_MS = 10_000

/** Notifications. */
export const NOTIFY_TARGETS_MAX = 50
export const NOTIFY_SWEEP_MS = 500 // how often a hosting process looks for something to send
export const NOTIFY_SEND_LIMIT_MS = 10_000
export const NOTIFY_SEND_HARD_LIMIT_MS = 10_500 // ends a try that its own limit did not end
export const NOTIFY_TARGET_SENDS = 4 // at the same time, to one target, of different instances
export const NOTIFY_ANSWER_MAX_BYTES = 64 * KIB // read and ignored
export const NOTIFY_RETRY_MIN_MS = 1_000
export const NOTIFY_RETRY_MAX_MS = 10 * 60_000
export const NOTIFY_GIVE_UP_MS = 24 * 60 * 60_000 // since the first failed try
export const NOTIFY_CLOSE_LIMIT_MS = 3_000 // how long a command that ends waits for its last notifications

/** The HTTP API. */
export const HTTP_BODY_MAX_BYTES = 1 * MIB + 64 * KIB // an input of full size, plus the fields around it
export const COMPRESSED_MIN_BYTES = 1 * KIB // own: a shorter answer gains nothing from compression
export const HTTP_HEADERS_MAX_BYTES = 16 * KIB
export const HTTP_HEADERS_LIMIT_MS = 10_000
export const HTTP_REQUEST_LIMIT_MS = 30_000
export const HTTP_CONNECTIONS_MAX = 4_000
export const HTTP_RESERVE_MS = 1_000 // for a connection above the maximum to send its first request
export const HTTP_KEEP_ALIVE_MS = 5_000
export const HTTP_IDLE_LIMIT_MS = 120_000 // a connection without traffic in either direction
export const HTTP_LOOK_MS = 1_000 // how often connections are checked for the limits above
export const HTTP_LINGER_MS = 2_000 // how long the rest of a refused body is read and discarded, so that the client sees the answer
export const HTTP_CLOSE_LIMIT_MS = 5_000 // time for running requests when the server shuts down
export const PAGE_DEFAULT_RECORDS = 50 // R9
export const PAGE_MAX_RECORDS = 500 // R9
/** Ids of instances that one request to prune may name. */
export const PRUNE_MAX_NAMED = 200
export const PAGE_MAX_BYTES = 8 * MIB // a page has fewer records when their inputs are long
export const IDEMPOTENCY_KEEP_MS = 24 * 60 * 60_000 // R11
export const IDEMPOTENCY_KEY_MAX_CHARS = 256

/** The event stream (R15, threats WEB-11). */
export const SSE_HEARTBEAT_MS = 15_000
export const SSE_BUFFER_MAX_BYTES = 1 * MIB
export const SSE_STALL_LIMIT_MS = 30_000
export const SSE_READERS_PER_TOKEN = 32
export const INBOX_MAX_INSTANCES = 200 // own: whose questions one answer holds
export const INBOX_READS_AT_ONCE = 8 // own
export const EVENTS_PAGE_MAX = 10_000 // own: events that a client may ask for at once

/** The client of a server. */
export const REMOTE_CONNECT_LIMIT_MS = 10_000
export const REMOTE_ANSWER_LIMIT_MS = 60_000 // longer than any call into a resolver
export const REMOTE_ANSWER_MAX_BYTES = 64 * MIB // a document; files are streamed
export const REMOTE_PAGE_RECORDS = 100
export const REMOTE_RETRY_MS = [250, 500, 1_000, 2_000] as const // waits before a request with a broken connection is sent again, with the same key
export const REMOTE_SILENCE_LIMIT_MS = 45_000 // three heartbeats
export const REMOTE_RECONNECT_MIN_MS = 250
export const REMOTE_RECONNECT_MAX_MS = 5_000
export const REMOTE_PATIENCE_MS = 60_000 // how long following and watching tries to reconnect
export const REMOTE_LOST_MS = 1_000 // a shorter loss of the connection is not reported

/** Tokens (R38). */
export const SIGN_IN_CODE_LIMIT_MS = 15 * 60_000
export const SIGN_IN_TOKEN_MS = 30 * 24 * 60 * 60_000
/** The token for the requests of a viewport; the page gets a new one when it expires. */
export const FRAME_TOKEN_MS = 60 * 60_000

/** Forms (R30, R34). */
export const FORM_MAX_COMPONENTS = 200
export const FORM_MAX_DEPTH = 32
export const FORM_MAX_OPTIONS = 1_000
export const FORM_MAX_CONDITIONS = 2_000 // threats RPC-6: what one payload may cost to check
export const FORM_MAX_STRING_CHARS = 8 * KIB // threats RPC-6
export const PATTERN_MAX_CHARS = 1_000
export const PATTERN_MAX_COSTLY_ESCAPES = 16 // R34: compiling cannot be interrupted
export const FORM_MAX_COSTLY_ESCAPES = 600 // R34: over all its patterns, each counted once
export const PATTERN_LIMIT_MS = 50
export const PATTERN_FORM_LIMIT_MS = 250
export const SLOW_PATTERN_LIMIT_MS = 5 // decisions/0020: for a pattern that ran out of time before

/** Feature specs (docs/feature-spec.md). */
export const FEATURE_SPEC_MAX_BYTES = 256 * KIB // own: hundreds of times a usual one
export const FEATURE_SPEC_MAX_LINES = 5_000 // own: bounds the time of a check
export const FEATURE_SPEC_MAX_FAULTS = 200 // own: a hostile text has one in each line
export const FEATURE_SPEC_FAULTS_SHOWN = 20 // own: below a field of a form
export const FEATURE_SPEC_MAX_ENDPOINTS = 12 // own: one cohesive feature has 3 to 5
export const FEATURE_SPEC_INTENT_MAX_CHARS = 300 // own: one sentence
export const SLOW_PATTERNS_KEPT_MS = 60_000 // decisions/0020: since it last ran out of time
export const PATTERN_VALUE_MAX_CHARS = 64 * KIB // threats WEB-9

/** Calls into a resolver (spec, Limits: RPC timeouts). */
export const INITIALIZE_LIMIT_MS = 30_000
export const STOP_LIMIT_MS = 30_000
export const SCHEMA_LIMIT_MS = 10_000
export const WORKSPACE_SPEC_LIMIT_MS = 10_000
export const INPUT_RESPONSE_LIMIT_MS = 5_000
export const MESSAGE_LIMIT_MS = 5_000
export const MESSAGE_TYPES_LIMIT_MS = 5_000

/** Inquiries: asking a resolver for its form and workspace spec (threats, Who is trusted). */
export const INQUIRIES_AT_ONCE = 4 // processes of one resolver
export const INQUIRIES_WAITING = 256 // the next one is refused

/** Ending a worker (R26). */
export const TERM_LIMIT_MS = 10_000
export const SHUTDOWN_LIMIT_MS = 2_000
export const OUTCOME_GRACE_MS = 2_000

/** The lifetime of an instance (R27). */
export const INSTANCE_LIFETIME_MS = 12 * 60 * 60_000
export const LIFETIME_WARNING_FRACTION = 0.8

/** Resuming an instance whose worker was lost, without a person (R58). */
export const LOST_RESUME_MAX = 3
export const LOST_RESUME_MIN_MS = 5_000 // before the second; the first is at once
export const LOST_RESUME_MAX_MS = 60_000

/** Watching files. */
export const SWEEP_MS = 250
export const SWEEP_WATCHED_MS = 2_000
export const JOURNAL_SYNC_MS = 200 // reliability F24

/** Reaching a host. */
export const HOST_CONNECT_LIMIT_MS = 2_000
export const HOST_SILENT_MS = 5_000 // a host that answers nothing for this long is told as silent
export const HOST_KNOCK_MS = 2_500
export const HOST_TRIES = 6 // of a call while the host of its instance changes
export const HOST_RETRY_MIN_MS = 20
export const HOST_RETRY_MAX_MS = 500
export const HOST_END_LIMIT_MS = 5_000 // after SIGKILL
export const HOST_ADOPT_LIMIT_MS = 10_000
export const GIT_LIMIT_MS = 5 * 60_000
export const GIT_CHECKOUT_MAX_BYTES = 1 * GIB
export const GIT_MEMORY_MAX_BYTES = 2 * GIB // own: address space of a git process of the host

/** Workspaces (docs/git.md). */
export const REPOS_MAX = 8 // own
export const REPO_URL_MAX_CHARS = 2_048 // own
export const REPO_REF_MAX_CHARS = 200 // own
export const CLONE_LIMIT_MS = 15 * 60_000 // own: of all repositories of an instance
export const REPO_CACHE_MAX_BYTES = 2 * GIB // own: one repository in the cache
export const WORKSPACE_MAX_BYTES = 5 * GIB // own: the clones of an instance when it starts
export const CLONES_AT_ONCE = 2 // own: in one host process
export const CLONES_WAITING = 10_000 // own: instances are limited before
export const CLONE_TRIES = 3 // own: where the connection broke
export const CLONE_RETRY_MS = 1_000 // own
export const CLONE_REPORT_MS = 1_000 // own: between two events about progress
export const CACHE_AGE_MS = 30 * 24 * 60 * 60_000 // own: `git prune` removes what was not used for this long
export const CACHE_LOOK_MS = 50 // own: how often a host that waits for a cache looks again
export const REPO_REFS_READ_MAX = 5_000 // own: branches that are compared with a name that is missing
export const REPO_NOTED_MAX = 50 // own: submodules that are named

/** The supervisor of `serve`. */
export const RETENTION_INTERVAL_MS = 60 * 60_000 // own: how often `serve --keep` removes instances
export const QUEUE_LOOK_MS = 500 // own: how soon a waiting instance sees that one of another process has ended
export const QUEUE_PASS_MS = 5_000 // own: a waiting instance that does not act on its turn for so long is passed over
export const QUEUE_PASSED_MS = 60_000 // own: then it has its turn again
export const QUEUE_MEND_MS = 2_000 // own: how often a waiting host looks for instances without a host
export const MAX_RUNNING_MAX = 10_000 // own

/** The config file of commands (R73). */
export const CONFIG_MAX_BYTES = 256 * KIB // own
export const CONTEXTS_MAX = 200 // own

/** Uploads: archives of resolvers that clients send (R74). */
export const UPLOAD_MAX_BYTES = 16 * MIB // own: of all files together, unpacked
export const UPLOAD_TAR_MAX_BYTES = UPLOAD_MAX_BYTES + 8 * MIB // own: with a header, a long name and padding for each entry
export const UPLOAD_BODY_MAX_BYTES = UPLOAD_MAX_BYTES + 1 * MIB // own: as it is sent; what can't be compressed becomes little longer
export const UPLOAD_ENTRIES_MAX = 2_000 // own: files and directories
export const UPLOAD_DEPTH_MAX = 32 // own
export const UPLOAD_NAME_MAX_BYTES = 255 // own: of one part of a path
export const UPLOAD_PATH_MAX_BYTES = 1_024 // own
export const UPLOAD_ANSWER_LIMIT_MS = 6 * 60_000 // own: a viewport is fetched with git meanwhile

/** Schedules (R72). */
export const SCHEDULES_MAX = 500 // own
export const SCHEDULES_MAX_BYTES = 64 * MIB // own: inputs of a schedule are inputs of instances
export const SCHEDULE_CRON_MAX_CHARS = 100 // own
export const SCHEDULE_DUE_MAX = 1_000 // own: missed due times are counted up to this number
export const SCHEDULE_LOOK_MS = 1_000 // own: how often a server looks for due schedules
export const SCHEDULE_CREATIONS_MAX = 8 // own: how many scheduled instances a server creates at the same time
export const SCHEDULE_CREATIONS_OF_RESOLVER_MAX = 2 // own: and of one resolver
export const SCHEDULE_GRACE_MS = 60_000 // own: a due time that is later than this is missed

export const ATTEND_SWEEP_MS = 3_000
export const ATTEND_PARALLEL = 4
export const ATTEND_NEWBORN_MS = 2_000 // by then, the process that created an instance owns it
export const ATTEND_RETRY_MAX_MS = 5 * 60_000
export const TRACES_CLOSE_LIMIT_MS = 2_000
export const TRACE_SPANS_OF_TURN_MAX = 2_000 // own: then only their number is told
export const LOG_BUFFER_MAX_BYTES = 8 * MIB // for a stalled reader of the log; then lines are dropped

/** Clean-up. */
export const DRAFT_STALE_MS = 60 * 60_000 // a creation takes milliseconds: a draft this old was left by a killed process
export const PRUNE_AGE_MS = 30 * 24 * 60 * 60_000 // ended instances are kept for a month by default
export const DISK_FLOOR_BYTES = 2 * GIB // own: minimum of free disk space
export const DISK_FLOOR_FRACTION = 0.05 // own: of the whole file system
export const DOCKER_PING_LIMIT_MS = 2_000 // a running engine answers at once

/** The instance index, for lists (docs/on-disk.md). */
export const INDEX_SETTLED_MS = 2_000 // longer than a clock tick of any file system, and than a record may be behind its journal
export const INDEX_WORTH_ENTRIES = 64 // this many records are read in a few milliseconds; an index for fewer is not worth a file
export const INDEX_MAX_BYTES = 128 * MIB // half a million instances

/** Secrets (threats B9). */
export const SECRET_MIN_CHARS = 8
export const OUTPUT_REWRITE_MAX_BYTES = 64 * MIB

/** A worker's container (spec, Limits). */
export const CONTAINER_PIDS_MAX = 256
export const CONTAINER_MEMORY_BYTES = 8 * GIB
export const CONTAINER_SWAP_BYTES = 8 * GIB // memory and swap together, so nothing is swapped (threats D14)
export const CONTAINER_CPUS = 2
export const CONTAINER_LOG_SIZE = '10m' // own
export const CONTAINER_LOG_FILES = 3

/** The Docker engine (threats D15; reliability F4, F16). */
export const ENGINE_CALL_LIMIT_MS = 10_000
export const ENGINE_START_LIMIT_MS = 60_000
export const ENGINE_RETRY_MIN_MS = 200
export const ENGINE_RETRY_MAX_MS = 5_000
export const ENGINE_LOOK_MS = 5_000
export const ENGINE_PATIENCE_MS = 10 * 60_000 // how long the end of an instance waits for an unreachable engine
export const SETUP_LIMIT_MS = 10 * 60_000 // threats MAN-2
export const SETUP_OUTPUT_KEEP_BYTES = 4 * KIB
export const SETUP_LINE_MAX_CHARS = 200
export const SETUP_TELL_MS = 2_000 // how often the last line of a running setup command is told
export const PREPARATIONS_AT_ONCE = 2 // setups that a server does in the background
export const PREPARATIONS_WAITING = 1_000
export const PREPARING_WAIT_MS = 20_000 // R48: how long a request for a form waits for the setup of its resolver
export const PREPARING_RETRY_S = 5 // R48: when to ask again
export const IMAGE_BUILD_LIMIT_MS = 10 * 60_000
export const INQUIRY_PINNED_IDLE_MS = 60_000 // a container that answered questions waits this long for the next one, if its source is pinned to a commit
export const INQUIRY_LOCAL_IDLE_MS = 5_000 // the same where a directory may change; a process of this machine is asked no longer than this after its start
export const STARTS_PER_CORE = 2 // local workers of one host that start up at the same time
export const START_TURN_MS = 2_000 // a worker that has said nothing for so long keeps no other one waiting
export const SOURCE_STAMP_MAX_FILES = 500 // a resolver with more files is started again for each inquiry
export const REAP_INTERVAL_MS = 60_000
export const ORPHAN_MIN_AGE_MS = 10 * 60_000 // reliability F16

/** The network of a worker (threats B8). */
export const EGRESS_RULES_MAX = 256
export const EGRESS_CONNECTIONS_MAX = 128 // at once, for one worker
export const EGRESS_HEAD_MAX_BYTES = 16 * KIB
export const EGRESS_HEAD_LIMIT_MS = 10_000
export const EGRESS_RESOLVE_LIMIT_MS = 10_000
export const EGRESS_NAME_KEPT_MS = 5_000 // own: the addresses of a name serve further connections
export const EGRESS_NAME_FAILURE_KEPT_MS = 2_000 // own: the same, of a name without addresses
export const EGRESS_NAMES_KEPT_MAX = 1_000 // own
export const EGRESS_REFUSALS_ANSWERED = 3 // own: of one client for one target, in the time below; further ones are only closed
export const EGRESS_REFUSALS_MS = 10_000 // own
export const EGRESS_REFUSALS_KEPT_MAX = 1_000 // own: clients and targets that are known
export const EGRESS_CONNECT_LIMIT_MS = 10_000
export const EGRESS_IDLE_LIMIT_MS = 10 * 60_000 // no traffic in either direction; a model may think for minutes
export const EGRESS_ADDRESSES_TRIED = 4
export const EGRESS_REPORT_MS = 60_000
export const EGRESS_REPORT_KINDS_MAX = 50 // different refusals within that time that are reported one by one
export const EGRESS_PROXY_PORT = 20_128 // on the gateway of the worker's own network; fixed, because the worker gets it only once
export const EGRESS_TAKEOVER_LIMIT_MS = 5_000 // until an earlier host has released that port

/** The watchdog (spec, Limits; threats FS-12). */
export const WATCHDOG_MS = 10_000
export const WATCHDOG_TABLE_MS = 5_000 // watchdogs share one scan of all processes within this time
export const WATCHDOG_REARM_FRACTION = 0.9 // it warns again after the value has fallen by this fraction
export const PIDS_WARNING = 200
export const MEMORY_WARNING_FRACTION = 0.8
export const INSTANCE_DISK_BYTES = 5 * GIB
export const DISK_WARNING_FRACTION = 0.8
export const DISK_SAMPLE_MS = 30_000
export const DISK_SAMPLE_MAX_ENTRIES = 200_000

/** Reality checks (spec, Reality check; docs/reality-check.md, Limits). */
export const CHECK_LIMIT_MS = 1_200_000 // of a whole check, where the request names none (R46)
export const CHECK_LONGEST_MS = 24 * 60 * 60_000
export const CHECK_STEP_LONGEST_MS = 5 * 60_000
export const CHECK_TESTS_MAX = 100
export const CHECK_STEPS_MAX = 50 // of a test
export const CHECK_TEST_LIMIT_MS = 60_000
export const CHECK_START_LIMIT_MS = 60_000
export const CHECK_START_LONGEST_MS = 15 * 60_000
export const CHECK_BUILD_LIMIT_MS = 15 * 60_000
export const CHECK_SPEC_MAX_CHARS = 256 * KIB
export const CHECK_BODY_MAX_BYTES = 1 * MIB // of an answer that is observed
export const CHECK_EVIDENCE_MAX_CHARS = 2 * KIB
export const CHECK_LOG_MAX_BYTES = 1 * MIB // of a phase
export const CHECK_LOG_TAIL_CHARS = 8 * KIB
export const CHECK_SOURCES_MAX_BYTES = 1 * GIB
export const CHECK_CLONE_LIMIT_MS = 300_000
export const CHECK_BUILD_MEMORY_BYTES = 4 * GIB
export const CHECK_BUILD_CPUS = 2
export const CHECK_BUILD_PIDS_MAX = 512
export const CHECK_RUN_MEMORY_BYTES = 2 * GIB
export const CHECK_RUN_CPUS = 1
export const CHECK_RUN_PIDS_MAX = 256
export const CHECK_HOLDER_MEMORY_BYTES = 16 * MIB
export const CHECKS_PER_INSTANCE_MAX = 1 // at once
export const CHECK_WAIT_MS = 20_000 // how long a call for a result or for events may wait
export const CHECK_LOOK_MS = 200
export const CHECK_DENIALS_TOLD = 5 // hosts that a sentence names

/** Sandboxes (threats B11). */
export const SANDBOXES_MAX = 4
export const SANDBOX_MEMORY_BYTES = 2 * GIB
export const SANDBOX_SPACE_BYTES = 1 * GIB // of its /tmp, the only writable path; counts as memory
export const SANDBOX_CPUS = 1
export const SANDBOX_PIDS_MAX = 256
export const SANDBOX_COMMANDS_MAX = 8 // at once, of one instance
export const SANDBOX_COMMAND_LIMIT_MS = 10 * 60_000
export const SANDBOX_COMMAND_LONGEST_MS = 2 * 60 * 60_000
export const SANDBOX_OUTPUT_MAX_BYTES = 256 * KIB // of stdout and of stderr each; the end is kept
export const SANDBOX_STDIN_MAX_BYTES = 2 * MIB
export const SANDBOX_KILL_LIMIT_MS = 5_000

/** The git server of an instance (decisions/0030). */
export const GIT_PUSH_MAX_BYTES = 512 * MIB // of one push
export const GIT_SERVER_MAX_BYTES = 2 * GIB // the repositories of an instance together
export const GIT_SERVER_LOG_MAX_BYTES = 64 * MIB // pull requests, comments, labels and statuses
export const GIT_SERVER_MEMORY_KIB = 2 * 1024 * 1024 // address space of one git process
export const GIT_SERVER_TRANSFERS = 12 // clones, fetches and pushes at once; the others wait
export const GIT_SERVER_CONNECTIONS_MAX = 256
export const GIT_TRANSFER_LIMIT_MS = 15 * 60_000
export const GIT_COMMAND_LIMIT_MS = 60_000 // one git command of a REST answer
export const GIT_ANSWER_MAX_BYTES = 16 * MIB // what one git command may print for a REST answer
export const GIT_BLOB_MAX_BYTES = 10 * MIB // a file in a REST answer
export const GIT_REST_BODY_MAX_BYTES = 1 * MIB
export const GIT_REFS_A_PUSH_MAX = 1_000
export const GIT_REPLAY_MAX_COMMITS = 500 // commits that a rebase makes again
export const GIT_PAGE_ROWS = 30
export const GIT_PAGE_MAX_ROWS = 50
export const PULL_TITLE_MAX_CHARS = 255
export const PULL_BODY_MAX_BYTES = 64 * KIB
export const PULLS_OPEN_MAX = 100 // in one repository
export const PUSH_OPTIONS_MAX = 16
export const PROMOTION_WAIT_MS = 2 * 60_000 // how long a request for a promotion is held open for the host's answer
export const GIT_FEED_BEAT_MS = 15_000
export const GIT_SERVER_PORT = 3_000 // in its container
export const GIT_SERVER_MEMORY_BYTES = 1 * GIB
export const GIT_SERVER_SPACE_BYTES = 64 * MIB // of its /tmp
export const GIT_SERVER_CPUS = 1
export const GIT_SERVER_PIDS_MAX = 256
export const GIT_SERVER_START_LIMIT_MS = 30_000
export const GIT_SERVER_STOP_LIMIT_MS = 10_000
export const GIT_SERVER_RESTARTS_MAX = 3 // in the time below; then a warning, and a wait of that time
export const GIT_SERVER_RESTARTS_MS = 5 * 60_000
export const GIT_SERVER_RETRY_MS = 250 // between two tries to reach it
export const GIT_SERVER_LOOK_MS = 2_000 // how often it looks whether its directory is still there
export const GIT_LOCK_STALE_MS = 10_000 // git holds a lock of a ref for milliseconds
export const GIT_REF_NAME_MAX_CHARS = 300
export const GIT_REFS_TOLD_MAX = 500 // branches and tags of an instance whose pushes are journaled
export const GIT_PULLS_TOLD_MAX = 200 // pull requests that the story of an instance holds; the latest stay
export const GIT_REFS_READ_MAX_CHARS = 8 * MIB // what git may print of the refs of a repository

/** Forges. */
export const FORGE_CONNECT_LIMIT_MS = 10_000 // own
export const FORGE_ANSWER_LIMIT_MS = 30_000 // own: of a whole answer
export const FORGE_ANSWER_MAX_BYTES = 8 * MIB // own: a page of 50 pull requests whose texts are as long as forges allow
export const FORGE_RETRY_MS = [500, 2_000] as const // own: waits before the second and third try
export const FORGE_WAIT_LIMIT_MS = 60_000 // own: all waits of a call for a busy forge
export const FORGE_FIND_PAGES_MAX = 20 // own: of 50 pull requests
export const TOKEN_COMMAND_KEPT_MS = 5 * 60_000 // own: tokens of apps live an hour
export const CREDENTIAL_LIMIT_MS = 10_000 // own: `git credential fill`

/** Promotion. */
export const PROMOTION_TITLE_MAX_CHARS = 255 // own: the least that a forge takes
export const PROMOTION_BODY_MAX_BYTES = 64 * KIB // own
export const PROMOTION_ANSWER_LIMIT_MS = 12 * 60_000 // own: what a client waits for a promotion
export const PROMOTION_GIT_LIMIT_MS = 10 * 60_000 // own: all git commands of a promotion
export const UNPROMOTED_LIMIT_MS = 10_000 // own: to list the branches of one repository
export const PROMOTION_DIFF_MAX_CHARS = 64 * MIB // own: all changes of all commits, read for known secrets
export const PROMOTION_REBASE_MAX_COMMITS = 500 // own: commits that a rebase makes again
export const UPSTREAM_REFRESH_LIMIT_MS = 2 * 60_000 // own: a look at one upstream when an instance is resumed
export const PROMOTION_PATHS_MAX = 200 // own: paths that are told
export const PROMOTIONS_MAX = 500 // own: branches of an instance
export const SNAPSHOT_LIMIT_MS = 60_000 // own: one snapshot of one repository; after one that takes longer only the end gets another
export const SNAPSHOTS_MAX = 200 // own: of a repository; the last one is always taken
export const SNAPSHOT_UNTRACKED_MAX_BYTES = 10 * MIB // a new file that is larger is left out and named
export const SNAPSHOT_TRACKED_MAX_BYTES = 100 * MIB // own: a file of the upstream that grew beyond it
export const SNAPSHOT_TOTAL_MAX_BYTES = 1 * GIB // own: all files that one snapshot adds
export const SNAPSHOT_PATHS_MAX = 50_000 // own: changed paths of one snapshot
export const SNAPSHOT_LIST_MAX_CHARS = 32 * MIB // own: the list of changed paths that git prints
export const SNAPSHOT_SKIPPED_MAX = 50 // own: paths left out that are named
export const LIVE_SNAPSHOT_MS = 2_000 // own: how long one taken for a reader serves the next reader
export const DIFF_FILES_MAX = 3_000 // own: files of a diff that are listed
export const DIFF_PATCH_MAX_CHARS = 4 * MIB // own: the patch in an answer
export const EXPORT_PATCH_MAX_CHARS = 64 * MIB // own: the patch in an export
export const REPO_COMMITS_MAX = 500 // own: commits that are listed
export const REPO_BRANCHES_MAX = 200 // own: pushed branches that are listed
export const BUNDLE_MAX_BYTES = 2 * GIB // own
export const CHANGES_GIT_LIMIT_MS = 30_000 // own: the git commands of one answer
export const PROMOTIONS_FILE_MAX_BYTES = 8 * MIB // own: twice what PROMOTIONS_MAX of them can have

/** LLM sessions (decisions/0033). */
export const SESSIONS_AT_ONCE = 8 // own: runs of sessions of one instance; the others wait
export const SESSIONS_MAX = 1_000 // own: of one instance
export const SESSIONS_TOLD_MAX = 500 // own: sessions that the story of an instance holds; the latest stay
export const SESSIONS_KNOWN_MAX = 100_000 // own: sessions of an instance, agents too, whose turns the host knows; events of others are rejected
export const SESSION_NUMBER_MAX = 1e12 // own: tokens, seconds, dollars that an event tells
export const BUDGET_TOKENS_MAX = 1e12 // own
export const BUDGET_USD_MIN = 0.000_001 // own: the budget of an instance
export const BUDGET_USD_MAX = 1_000_000
export const SESSION_SCHEMA_MAX_BYTES = 64 * KIB // of an answer
export const SESSION_NAME_MAX_CHARS = 64 // own
export const SESSION_STEPS_MAX = 200 // own: model calls in one run, unless the resolver says another number
export const SESSION_PROMPT_MAX_BYTES = 1 * MIB
export const SESSION_STEERING_MAX_BYTES = 4 * MIB // own: what was said to a session and waits for its next step
export const SESSION_INSTRUCTIONS_MAX_BYTES = 256 * KIB
export const SESSION_AGENTS_FILE_MAX_BYTES = 32 * KIB // one file with advice for agents
export const SESSION_AGENTS_MAX_BYTES = 64 * KIB // all of them
export const SESSION_TOOL_INPUT_MAX_BYTES = 1 * MIB
export const SESSION_RESULT_MAX_BYTES = 50 * KIB // one result of a tool
export const SESSION_STEP_RESULTS_MAX_BYTES = 400 * KIB // the results of one step together
export const SESSION_RESULT_LEAST_BYTES = 4 * KIB // however many calls a step has
export const SESSION_OUTPUT_MAX_TOKENS = 32_000 // of one answer of a model
export const SESSION_OUTPUT_LEAST_TOKENS = 256 // less is not asked for
export const SESSION_CUT_ANSWERS_MAX = 3 // in a row
export const SESSION_FIRST_CHUNK_MS = 120_000
export const SESSION_CHUNK_MS = 120_000 // between two parts of an answer
export const SESSION_RETRIES_MAX = 4 // of one step
export const SESSION_RETRY_MIN_MS = 1_000
export const SESSION_RETRY_MAX_MS = 60_000
export const SESSION_RETRY_SPREAD = 0.25 // a wait is up to this fraction shorter or longer
export const SESSION_RETRY_AFTER_MAX_MS = 5 * 60_000 // a longer Retry-After is an error
export const SESSION_SAME_NOTED = 3 // the same call with the same result in a row: the model is told
export const SESSION_SAME_MAX = 6 // then the run ends
export const SESSION_WINDOW_TOKENS = 200_000 // where the size of a model's context is not known
export const SESSION_WINDOW_LEAST_TOKENS = 1_000 // a provider that tells less is not believed
export const SESSION_WINDOW_RESERVE_TOKENS = 20_000 // compaction begins this far below the window
export const SESSION_KEPT_OUTPUT_TOKENS = 40_000 // results of tools within the last tokens stay whole
export const SESSION_KEPT_TOKENS = 20_000 // of the end of a history that is summarized
export const SESSION_CHARS_A_TOKEN = 4
export const SESSION_OUTPUT_FILE_MAX_BYTES = 8 * MIB // one output of a command that is kept whole
export const SESSION_OUTPUTS_MAX_BYTES = 64 * MIB // of one session
export const TRANSCRIPT_READ_MAX_BYTES = 16 * MIB // in an answer
export const TRAJECTORY_PIECE_BYTES = 1 * MIB // own: of a transcript, read at once for a trajectory
export const TRAJECTORY_MAX_BYTES = 1024 * MIB // own: of a transcript, in a trajectory
export const TRAJECTORY_STEP_MAX_CHARS = 16 * MIB // own: calls and results of a step in a trajectory
export const TRANSCRIPT_RESUME_MAX_BYTES = 256 * MIB
export const TRANSCRIPT_FIELD_MAX_CHARS = 64 * KIB // a text in an answer
export const SCRIPT_MAX_BYTES = 4 * MIB // a file of a scripted model

export const SESSION_REQUESTS_MAX = 64 // own: requests of a worker that wait for its session helper at once
export const SESSION_OPTIONS_MAX_BYTES = 1 * MIB // own: of one platform.session.create, as JSON
export const SESSION_OPTIONS_KEPT_BYTES = 16 * MIB // own: of all of them, which the host keeps to open the sessions in another helper
export const SESSION_ANSWER_MAX_BYTES = 3 * MIB // own: less than a frame
export const SESSION_HELPER_START_MS = 60_000
export const SESSION_HELPER_END_MS = 5_000
export const SESSION_HELPER_LOSSES_MAX = 3 // own: helpers that end in a row before a run is answered
export const SESSION_HELPER_RETRY_MIN_MS = 250
export const SESSION_HELPER_RETRY_MAX_MS = 2_000
export const SESSION_HELPER_NOISE_MAX = 100 // own: lines of a helper that are no frames

export const SESSION_READS_AT_ONCE = 8 // own: calls of one session that only read
export const SESSION_AGENTS_AT_ONCE = 4 // own: tasks of one session that it gave to agents

export const SKILLS_MAX = 64 // own: of one session
export const SKILL_FILE_MAX_BYTES = 256 * KIB // own
export const SKILL_DESCRIPTION_MAX_CHARS = 1_000 // own
export const SESSION_BUNDLE_REPOS_MAX = 64 // own: that the bundles of one instance fetch, with all that they include
export const SESSION_BUNDLE_DEPTH_MAX = 8 // own: includes of includes
export const SESSION_BUNDLE_UNITS_MAX = 256 // own: files of bundles that are read, and addresses in them
export const SESSION_BUNDLE_FETCHES_AT_ONCE = 4 // own
export const SESSION_BUNDLES_LIMIT_MS = 10 * 60_000 // own: all fetches of one launch
export const SESSION_BUNDLE_REPO_MAX_BYTES = 128 * MIB // own: one of them, with its objects
export const SESSION_BUNDLE_FILE_MAX_BYTES = 256 * KIB // own: one file of a bundle
export const SESSION_BUNDLE_FRONT_MAX_BYTES = 16 * KIB // own: YAML of one file
export const SESSION_BUNDLE_YAML_MAX_BYTES = 512 * KIB // own: of all files
export const BUNDLE_SURVEY_LIMIT_MS = 30_000 // own: for the thread that reads them
export const BUNDLE_SURVEY_MEMORY_MB = 256 // own
export const SESSION_BUNDLE_NAMES_MAX = 1_000 // own: names of one folder that are looked at
export const SESSION_BUNDLE_INSTRUCTIONS_MAX_BYTES = 128 * KIB // own: what all bundles together tell the model first
export const SESSION_BUNDLE_AGENTS_MAX = 32 // own: of all bundles
export const SESSION_BUNDLE_AGENT_CHARS = 400 // own: of the description of an agent, in the prompt
export const SESSION_BUNDLE_NOTES_MAX = 20 // own: what one warning names

/** MCP servers of sessions. */
export const MCP_SERVERS_MAX = 8
export const MCP_TOOLS_MAX = 128 // of all servers of a session
export const MCP_TOOLS_MAX_BYTES = 256 * KIB // own: names, descriptions and schemas together; each request holds them
export const MCP_TOOL_NAME_MAX_CHARS = 64 // as providers allow
export const MCP_DESCRIPTION_MAX_CHARS = 2_000 // own: of a tool
export const MCP_SCHEMA_MAX_BYTES = 32 * KIB // own: of a tool
export const MCP_SCHEMA_MAX_DEPTH = 16 // own
export const MCP_SCHEMA_MAX_NODES = 1_000 // own: with references put in place
export const MCP_START_LIMIT_MS = 30_000
export const MCP_CALL_LIMIT_MS = 60_000
export const MCP_STARTS_MAX = 4 // own: of one server by one session
export const MCP_PAGES_MAX = 50 // own: of a list of tools
export const MCP_MESSAGE_MAX_BYTES = 8 * MIB // own
export const MCP_UNASKED_MAX_BYTES = 64 * MIB // own: what a server sends between two answers
export const MCP_NOISE_LINES_MAX = 1_000 // own: lines that are no messages
export const MCP_STDERR_TAIL_BYTES = 2 * KIB // own: told where a server does not start
export const MCP_CLOSE_MS = 2_000 // own: from the end of its input to SIGTERM

/** Images that tools give, and those of prompts. */
export const IMAGE_MAX_BYTES = 5 * MIB
export const IMAGE_CHARS = 6_400 // own: what one counts as in a model's window, about 1,600 tokens
export const SESSION_IMAGES_MAX_BYTES = 64 * MIB // own: kept for one session
export const REQUEST_IMAGES_MAX = 10 // own: the latest ones
export const REQUEST_IMAGES_MAX_BYTES = 15 * MIB // own: a third more as text; those of one prompt too
export const PROMPT_IMAGE_PATH_MAX_CHARS = 4_096

/** The tool fetch. */
export const FETCH_LIMIT_MS = 30_000
export const FETCH_MAX_BYTES = 1 * MIB
export const FETCH_REDIRECTS_MAX = 5
export const MARKDOWN_LIMIT_MS = 5_000 // own: then tags are only taken off
export const MARKDOWN_START_LIMIT_MS = 30_000 // own: for the thread to load
export const MARKDOWN_MEMORY_MB = 256 // own

/** Tools of sessions. */
export const TOOL_READ_LINES = 2_000
export const TOOL_READ_FILE_MAX_BYTES = 64 * MIB
export const TOOL_LINE_MAX_CHARS = 2_000
export const TOOL_WRITE_MAX_BYTES = 1 * MIB
export const TOOL_EDITS_MAX = 50
export const TOOL_EDIT_PLACES_MAX = 100_000 // own: that one call changes
export const TOOL_PATCH_FILES_MAX = 100 // own: of one patch
export const TOOL_SEARCH_HITS = 100
export const TOOL_SEARCH_LINE_MAX_CHARS = 500
export const TOOL_SEARCH_MAX_BYTES = 20 * KIB
export const TOOL_SEARCH_LIMIT_MS = 30_000
export const TOOL_SEARCH_HELD_BYTES = 64 * KIB // own: of one line that git prints
export const TOOL_SEARCH_MEMORY_BYTES = 1_024 * MIB // own: of one git
export const TOOL_PATTERN_ALTERNATIVES = 64 // own: what the braces of a pattern stand for
export const TOOL_GLOB_PATHS = 1_000
export const TOOL_SHELL_LIMIT_MS = 120_000
export const TOOL_SHELL_LONGEST_MS = 10 * 60_000
export const TOOL_JOB_LIMIT_MS = 10 * 60_000 // a command in the background
export const TOOL_JOB_LONGEST_MS = 2 * 60 * 60_000
export const TOOL_JOBS_MAX = 16
export const TOOL_SHELL_HEAD_BYTES = 8 * KIB
export const TOOL_SHELL_TAIL_BYTES = 22 * KIB
export const TOOL_SHELL_DRAIN_MS = 100 // what a command printed last, after its exit
export const TOOL_SHELL_KILL_MS = 2_000 // from SIGTERM to SIGKILL

/** The guardian (spec, Limits, layer 2). */
export const GUARDIAN_TASKS_MAX = 128
export const GUARDIAN_TASKS_WARNING = 64 // own
export const GUARDIAN_REPEATS_MAX = 5
export const GUARDIAN_REPEATS_MS = 60_000

/** Pipelines (docs/pipelines.md). */
export const PIPELINE_SOURCE_MAX_BYTES = 1 * MIB // own: the source of one graph, and each file that it names
export const PIPELINE_FILES_MAX = 200 // own: that a graph and its children name
export const PIPELINE_FILES_MAX_BYTES = 8 * MIB // own: of all of them together

/** How the plan of a reality check reads the software (docs/reality-check.md). */
export const CHECK_MANIFEST_MAX_BYTES = 1 * MIB // own: package.json and the like
export const CHECK_LOCK_MAX_BYTES = 8 * MIB // own: of a lock that is read
export const CHECK_MANIFEST_DEPTH = 32 // own: arrays and objects in each other
export const CHECK_LIST_MAX = 10_000 // own: names of one directory
export const CHECK_CODE_FILES_MAX = 60 // own: that are looked through for what they do
export const CHECK_CODE_FILE_MAX_BYTES = 128 * KIB // own: larger ones are left out
export const CHECK_WORKSPACES_MAX = 200 // own: packages of one repository
export const CHECK_CONSTRAINTS_MAX = 1_000 // own: versions of a lock, in one command

/** The validator of a reality check. Each of its answers fits into a frame of RPC_FRAME_MAX_BYTES. */
export const VALIDATOR_BODY_MAX_BYTES = 1 * MIB // of an answer over HTTP
export const VALIDATOR_BODY_JSON_MAX_BYTES = 3 * MIB // the same as JSON, where one byte can take six
export const VALIDATOR_HEADERS_MAX_BYTES = 64 * KIB // own
export const VALIDATOR_REDIRECTS_MAX = 5 // own
export const VALIDATOR_PROBE_MS = 2_000 // own: one address
export const VALIDATOR_BROWSER_START_MS = 20_000 // own
export const VALIDATOR_LOOK_MS = 1_000 // own: for title and snapshot, after a step
export const VALIDATOR_TRACE_SAVE_MS = 600 // own: of a page that hangs
export const VALIDATOR_CLOSE_MS = 5_000 // own: for each of screenshot, trace and context
export const VALIDATOR_LOAD_MS = 2_000 // own: for what a page loads after its document
export const VALIDATOR_POLL_MS = 50 // own: between two looks at what is expected
export const VALIDATOR_PAGES_MAX = 8 // own: windows that a page opens
export const VALIDATOR_SNAPSHOT_MAX_BYTES = 64 * KIB // own
export const VALIDATOR_CONSOLE_LINES = 100 // own
export const VALIDATOR_CONSOLE_LINE_MAX_BYTES = 500 // own
export const VALIDATOR_TEXT_MAX_BYTES = 2 * KIB // own: an error, a title, a URL
export const VALIDATOR_PICTURE_MAX_BYTES = 2_900 * KIB // own: as base64 it fits into a frame
export const VALIDATOR_TRACE_MAX_BYTES = 32 * MIB // own: kept in memory
export const VALIDATOR_TRACE_PIECE_BYTES = 512 * KIB // own
export const VALIDATOR_PAGE_WIDTH = 1_280 // own
export const VALIDATOR_PAGE_HEIGHT = 720 // own

/** The reports of a reality check. */
export const CHECK_REPORT_ENTRY_MAX_BYTES = 2 * KIB // own: one entry of evidence, one reason, one description
export const CHECK_REPORT_ENTRIES_MAX = 50 // own: of evidence that a report shows of one test
export const CHECK_REPORT_LOG_MAX_BYTES = 64 * KIB // own: the end of a log
export const CHECK_REPORT_HTML_MAX_BYTES = 8 * MIB // own
export const CHECK_REPORT_HTML_TEXT_MAX_BYTES = 4 * MIB // own: of the tests; the rest is for pictures
export const CHECK_REPORT_MARKDOWN_MAX_BYTES = 1 * MIB // GitHub's limit of a step summary
export const CHECK_REPORT_LIST_MAX = 200 // own: durations, assumptions, reasons of a plan, variables
