/** The table of exit codes, which scripts rely on. A test compares it with docs/exit-codes.md. */
import type { Status } from '../../core/protocol/status.ts'

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  cancelled: 3,
  token: 4,
  formInvalid: 5,
  notFound: 6,
  wrongState: 7,
  inputRequired: 8,
  paused: 9,
  unavailable: 10,
  partly: 11,
  bug: 70,
  timeout: 124,
  commandNotFound: 127,
  hangup: 129,
  interrupted: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** The meaning of each code, worded as in docs/exit-codes.md. */
export const EXIT_MEANING: Readonly<Record<ExitCode, string>> = {
  0: 'completed, or done',
  1: 'the instance failed',
  2: 'wrong usage: an unknown flag, a missing argument, a bad value',
  3: 'the instance was cancelled',
  4: 'a token is missing or was refused',
  5: 'invalid input: a form, a manifest, a pipeline or a feature spec has errors',
  6: 'not found',
  7: 'not possible in the current state',
  8: 'a question is open and the command may not ask it',
  9: 'the instance is paused',
  10: 'unavailable: the server, Docker, git or the disk',
  11: 'a reality check met some of its criteria',
  70: 'a bug in resolve; the path of a report is printed',
  124: '--timeout has passed',
  127: 'no such command',
  129: 'the terminal closed (SIGHUP)',
  130: 'interrupted (SIGINT)',
  143: 'terminated (SIGTERM)',
}

/** The exit code for the status that the instance has when the command ends. */
export function exitCodeOf(status: Status): ExitCode {
  switch (status) {
    case 'failed':
      return EXIT.failed
    case 'cancelled':
      return EXIT.cancelled
    case 'paused':
      return EXIT.paused
    case 'awaiting_input':
      return EXIT.inputRequired
    default:
      return EXIT.ok
  }
}

/** One code for several instances, in order of precedence: failed, cancelled, paused, question open. */
export function worstExitCode(codes: readonly ExitCode[]): ExitCode {
  const order: readonly ExitCode[] = [EXIT.failed, EXIT.cancelled, EXIT.paused, EXIT.inputRequired]
  return order.find((code) => codes.includes(code)) ?? EXIT.ok
}
