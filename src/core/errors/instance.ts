/** Instances: finding them, and what may be asked of them. */
import type { Entry } from './entry.ts'

export const instanceErrors = {
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
  change_unknown: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { what: string }) => `There is no ${d.what}.`,
    hint: () => '"resolve instance repos <id>" shows what there is.',
  },
} as const satisfies Record<string, Entry>
