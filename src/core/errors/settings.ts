/** What an operator sets: secrets, notifications, schedules, contexts, tokens. */
import { type Entry, meantOr } from './entry.ts'

export const settingsErrors = {
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
  check_mirrors_invalid: {
    kind: 'environment',
    http: 500,
    exit: 10,
    message: (d: { reason: string }) => `Can't read RESOLVE_CHECK_MIRRORS: ${d.reason}.`,
    outside: () => "The operator's list of mirrors can't be read.",
    hint: () =>
      'Name hosts with commas between them: RESOLVE_CHECK_MIRRORS=npm.example.internal:4873,pypi.example.internal',
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
} as const satisfies Record<string, Entry>
