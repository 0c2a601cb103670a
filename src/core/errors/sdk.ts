/** What the SDK refuses, and tells its resolver of. */
import type { Entry } from './entry.ts'

export const sdkErrors = {
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
} as const satisfies Record<string, Entry>
