/** What was typed or sent that cannot be taken as it is. */
import type { Entry } from './entry.ts'

export const usageErrors = {
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
  spec_missing: {
    kind: 'user',
    http: 404,
    exit: 6,
    message: (d: { path: string }) => `There is no file "${d.path}".`,
    hint: () => 'Write one with "resolve spec init", or give "-" for stdin.',
  },
  spec_unreadable: {
    kind: 'user',
    http: 422,
    exit: 5,
    message: (d: { path: string; reason: string }) => `Can't read ${d.path}: ${d.reason}.`,
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
  config_invalid: {
    kind: 'user',
    http: 400,
    exit: 2,
    message: (d: { path: string; line?: number; problem: string }) =>
      `The config file ${d.path}${d.line === undefined ? '' : `, line ${d.line}`}: ${d.problem}.`,
    hint: () => 'Mend the file, or move it away; docs/cli.md describes it.',
  },
} as const satisfies Record<string, Entry>
