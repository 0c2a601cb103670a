/** The error answers of an operation, by status, with an example of each code: for {@link file://./document.ts}. */
import { type ErrorCode, fail } from '../../core/errors.ts'
import { type Operation, refusalsOf } from '../../core/protocol/api/operation.ts'
import { errorBody, formErrorBody } from '../../core/protocol/http.ts'
import type { Schema } from '../../core/schema/schema.ts'
import { bodyOf } from '../request/answer-errors.ts'

/** The details in each code's example. */
const EXAMPLES = {
  usage: { problem: '--limit takes a number' },
  invalid_json: { where: 'params' },
  input_too_large: { what: 'input', bytes: 2_000_000, limit: 1_048_576 },
  form_invalid: { errors: ['Name is required', 'Email must be an address'] },
  form_malformed: { where: 'form of "greeter"', errors: ['/components/0: it has no id.'] },
  resolver_unknown: { name: 'greter', nearest: 'greeter' },
  instance_unknown: { id: '0123456789ab' },
  instance_ambiguous: { id: '0123', matches: ['0123456789ab', '0123f6789abc'] },
  request_unknown: { request: 'approve', instance: '0123456789ab' },
  message_type_unknown: { type: 'hint', known: ['note'] },
  file_unknown: { path: 'report.md' },
  session_unknown: { session: 'plan' },
  path_refused: { path: '../config.json' },
  invalid_state: { action: 'resume', status: 'running' },
  already_answered: { request: 'approve', actor: 'ada', via: 'page', at: '2026-01-31T12:00:00.000Z' },
  request_cancelled: { request: 'approve' },
  resume_unsupported: { resolver: 'greeter' },
  resume_exhausted: { instance: '0123456789ab', resumes: 3 },
  docker_unreachable: { socket: '', reason: 'connection refused' },
  image_missing: { image: 'resolve-worker:latest', mend: 'resolve worker build' },
  repo_refused: {
    what: 'https://example.org/a/b',
    reason: 'the operator allows only the repositories in RESOLVE_GIT_ALLOW',
  },
  feature_missing: { resolver: 'greeter', feature: 'a git server beside its worker' },
  resolver_preparing: { resolver: 'greeter' },
  setup_failed: { step: 2, total: 3, command: 'npm ci', exit_code: 1, output: '' },
  resolver_silent: { method: 'resolver.getInstantiationSchema', limit_ms: 10_000 },
  resolver_gone: { method: 'resolver.initialize', detail: '', by_hand: '' },
  launch_failed: { command: 'greeter', reason: 'no such file' },
  host_unreachable: { instance: '0123456789ab', reason: 'connection refused' },
  host_silent: { instance: '0123456789ab', pid: 4711, kept: true },
  lock_held: { path: '' },
  disk_full: { path: '' },
  home_unusable: { path: '', reason: '' },
  journal_broken: { path: '', reason: '' },
  catalog_broken: { path: '', reason: '' },
  manifest_invalid: { path: '', errors: [] },
  source_missing: { path: '' },
  code_refused: {},
  token_missing: {},
  token_refused: {},
  scope_missing: { needed: 'run', has: 'read' },
  token_narrow: {},
  too_many: { what: 'requests of one kind', limit: 32 },
  tokens_broken: { path: '', reason: '' },
  schedule_invalid: { problem: '"0 7 31 2 *" is never due.' },
  schedule_taken: { name: 'morning' },
  schedule_secret: { field: 'api_key' },
  schedule_unchecked: { resolver: 'reports', reason: '' },
  schedule_unknown: { name: 'morning' },
  schedules_broken: { path: '', reason: '' },
  container_refused: { what: 'start the container', reason: '' },
  secret_unknown: { name: 'DEPLOY_KEY' },
  secret_unreadable: { what: '', reason: '' },
  secret_key_unusable: { path: '', reason: '' },
  secrets_broken: { path: '', reason: '' },
  notify_unknown: { name: 'team' },
  notify_exists: { name: 'team' },
  notify_broken: { path: '', reason: '' },
  origin_refused: {},
  host_refused: { host: 'example.com' },
  repo_unknown: { repo: 'ap', names: ['app'] },
  promotion_branch_refused: { branch: 'main', reason: 'it is the target' },
  promotion_invalid: { problem: 'the instance ran without a git server, so nothing was pushed' },
  promotion_target_missing: { target: 'dev', repo: 'org/app' },
  promotion_secret_found: { branch: 'resolve/app-01234567', paths: ['config.json'] },
  promotion_needs_approval: {
    branch: 'resolve/app-01234567',
    paths: ['.github/workflows/ci.yml'],
    commit: '571e909c1f0b5e0c1a2d3e4f5a6b7c8d9e0f1a2b',
  },
  promotion_commit_changed: { branch: 'fix', seen: '0123456789abcdef', commit: 'fedcba9876543210' },
  promotion_conflict: { branch: 'fix', target: 'main', paths: ['README.md'] },
  promotion_branch_moved: { branch: 'resolve/app-01234567', repo: 'org/app' },
  nothing_to_promote: { branch: 'resolve/app-01234567', target: 'main' },
  promotion_push_refused: { repo: 'org/app', words: 'protected branch.' },
  promotions_broken: { path: '', reason: 'it is no JSON' },
  forge_unknown: { host: 'git.example.org' },
  forge_auth_failed: { host: 'github.com', words: 'Bad credentials.' },
  forge_forbidden: { repo: 'org/app', words: '' },
  forge_not_found: { repo: 'org/app' },
  forge_busy: { host: 'github.com', seconds: 3_600 },
  forge_unreachable: { host: 'git.example.org', reason: 'connection refused' },
  forge_refused: { repo: 'org/app', words: 'Validation failed.' },
  git_missing: {},
  git_failed: { url: 'the repository of the instance', reason: 'git fetch took too long.' },
  work_unreadable: { reason: 'too many files changed.' },
  route_unknown: {},
  media_type_refused: {},
  request_malformed: { problem: 'its address is not well encoded' },
  request_invalid: { problem: "body must have required property 'resolver'" },
  cursor_unknown: { cursor: '9999' },
  range_unsatisfiable: { bytes: 1_024 },
  key_reused: {},
  shutting_down: {},
  bug: { what: '' },
} as const satisfies Partial<{ [C in ErrorCode]: Parameters<typeof fail<C>>[1] }>

type ExampleCode = keyof typeof EXAMPLES

/** The answers by status, for the codes that the operation refuses with. */
export function refusalAnswers(operation: Operation, reference: (schema: Schema) => unknown): Record<string, unknown> {
  const errors = refusalsOf(operation).map((code) => fail(code, (EXAMPLES[code as ExampleCode] ?? {}) as never))
  const answers: Record<string, unknown> = {}
  const byStatus = Map.groupBy(errors, (error) => error.httpStatus)
  for (const [status, some] of [...byStatus].sort(([a], [b]) => a - b)) {
    const examples = Object.fromEntries(some.map((error) => [error.code, { value: bodyOf(error, false) }]))
    const hasForm = some.some((error) => error.code === 'form_invalid')
    const schema = hasForm ? { anyOf: [reference(formErrorBody), reference(errorBody)] } : reference(errorBody)
    answers[status] = {
      description: some.map((error) => error.code).join(', '),
      content: { 'application/json': { schema, examples } },
    }
  }
  return answers
}
