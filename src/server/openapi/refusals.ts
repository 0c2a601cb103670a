/** How a route says what it may refuse: the answers by status, with an example of each code, for the OpenAPI document. */
import { type ErrorCode, fail } from '../../core/errors.ts'
import { bodyOf } from '../request/answer-errors.ts'
import { shape } from './shapes.ts'

/** An example of each code that a route names; what is asked of every route comes with them. */
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
  path_refused: { path: '../config.json' },
  invalid_state: { action: 'resume', status: 'running' },
  already_answered: { request: 'approve', actor: 'ada', via: 'page', at: '2026-01-31T12:00:00.000Z' },
  request_cancelled: { request: 'approve' },
  resume_unsupported: { resolver: 'greeter' },
  docker_unreachable: { socket: '', reason: 'nothing listens there' },
  image_missing: { image: 'resolve-worker:latest', mend: 'resolve worker build' },
  feature_missing: { resolver: 'greeter', feature: 'a git server beside its worker' },
  resolver_silent: { method: 'resolver.getInstantiationSchema', limit_ms: 10_000 },
  resolver_gone: { method: 'resolver.initialize', detail: '', by_hand: '' },
  launch_failed: { command: 'greeter', reason: 'it is not there' },
  host_unreachable: { instance: '0123456789ab', reason: 'its socket refuses' },
  lock_held: { path: '' },
  disk_full: { path: '' },
  home_unusable: { path: '', reason: '' },
  journal_broken: { path: '', reason: '' },
  catalog_broken: { path: '', reason: '' },
  token_missing: {},
  token_refused: {},
  scope_missing: { needed: 'run', has: 'read' },
  token_narrow: {},
  too_many: { what: 'event streams of one token', limit: 32 },
  tokens_broken: { path: '', reason: '' },
  origin_refused: {},
  host_refused: { host: 'example.com' },
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

export type ToldCode = keyof typeof EXAMPLES

const EVERYWHERE = ['request_malformed', 'origin_refused', 'host_refused', 'bug', 'shutting_down'] as const
const WITH_TOKEN = ['token_missing', 'token_refused', 'scope_missing', 'token_narrow', 'tokens_broken'] as const
const WITH_BODY = ['media_type_refused', 'input_too_large', 'invalid_json', 'request_invalid'] as const
const WITH_KEY = ['key_reused', 'disk_full', 'home_unusable'] as const

/** What asking the resolver itself may come to. */
export const RESOLVER_TROUBLE = [
  ...['resolver_silent', 'resolver_gone', 'launch_failed', 'form_malformed', 'catalog_broken', 'too_many'],
] as ToldCode[]
/** What asking the host of an instance may come to. */
export const HOST_TROUBLE = ['host_unreachable', 'lock_held', 'disk_full', 'journal_broken'] as ToldCode[]

/** Answers by status, for a route that may refuse with these codes beside those that every route of its kind may. */
export function refusals(codes: readonly ToldCode[], route: { method: string; isOpen: boolean }) {
  const { method, isOpen } = route
  const all = new Set<ToldCode>([...codes, ...EVERYWHERE])
  if (!isOpen) for (const code of WITH_TOKEN) all.add(code)
  if (method === 'POST' || method === 'PATCH' || method === 'PUT') for (const code of WITH_BODY) all.add(code)
  if (method === 'POST' && !isOpen) for (const code of WITH_KEY) all.add(code)
  const answers: Record<string, unknown> = {}
  const byStatus = Map.groupBy([...all].map(exampleOf), (error) => error.httpStatus)
  for (const [status, errors] of [...byStatus].sort(([a], [b]) => a - b)) {
    const examples = Object.fromEntries(errors.map((error) => [error.code, { value: bodyOf(error, false) }]))
    const hasForm = errors.some((error) => error.code === 'form_invalid')
    const schema = hasForm ? { anyOf: [shape('FormError'), shape('Error')] } : shape('Error')
    answers[status] = {
      description: errors.map((error) => error.code).join(', '),
      content: { 'application/json': { schema, examples } },
    }
  }
  return answers
}

function exampleOf(code: ToldCode) {
  return fail(code, EXAMPLES[code] as never)
}
