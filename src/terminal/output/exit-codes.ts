/** The one table of exit codes (docs/cli.md): what a script can rely on. docs/exit-codes.md lists the same rows and a test compares them. */
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
  bug: 70,
  timeout: 124,
  commandNotFound: 127,
  hangup: 129,
  interrupted: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** What each code says, in the words of docs/exit-codes.md. */
export const EXIT_MEANING: Readonly<Record<ExitCode, string>> = {
  0: 'completed, or done',
  1: 'the instance failed',
  2: 'the command was given wrongly',
  3: 'the instance was cancelled',
  4: 'a token is missing or was refused',
  5: 'a form is not valid',
  6: 'not found',
  7: 'not possible in this state',
  8: 'a question is open and nobody may be asked',
  9: 'the instance is paused',
  10: 'unavailable: the server, Docker, git or the disk',
  70: 'a fault in resolve itself; the path of a report is printed',
  124: 'the --timeout passed',
  127: 'no such command',
  129: 'hung up (SIGHUP)',
  130: 'interrupted (SIGINT)',
  143: 'terminated (SIGTERM)',
}

/** The code for an instance that stands at this status when a command lets go of it. */
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

/** One code for several instances: a failure outweighs a cancellation, that a pause, that an open question. */
export function worstExitCode(codes: readonly ExitCode[]): ExitCode {
  const order: readonly ExitCode[] = [EXIT.failed, EXIT.cancelled, EXIT.paused, EXIT.inputRequired]
  return order.find((code) => codes.includes(code)) ?? EXIT.ok
}
