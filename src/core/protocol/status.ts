/** The eight statuses of an instance and the moves between them (spec, States and transitions; R20, R27). */

export const STATUSES = [
  'created',
  'starting',
  'running',
  'awaiting_input',
  'paused',
  'completed',
  'failed',
  'cancelled',
] as const

export type Status = (typeof STATUSES)[number]

/** The spec's table, with R20's stops in `created` and `starting` and R21's failure of a worker that dies. */
export const MOVES: Readonly<Record<Status, readonly Status[]>> = {
  created: ['starting', 'cancelled'],
  starting: ['running', 'failed', 'cancelled'],
  running: ['awaiting_input', 'paused', 'completed', 'failed', 'cancelled'],
  awaiting_input: ['running', 'cancelled'],
  paused: ['running', 'cancelled'],
  completed: [],
  failed: [],
  cancelled: [],
}

export function isStatus(value: unknown): value is Status {
  return typeof value === 'string' && (STATUSES as readonly string[]).includes(value)
}

export function isTerminal(status: Status): boolean {
  return MOVES[status].length === 0
}

export function canMove(from: Status, to: Status): boolean {
  return MOVES[from].includes(to)
}

/** Whether a worker is up, or about to be: these count towards the lifetime (R27). */
export function hasWorker(status: Status): boolean {
  return status === 'starting' || status === 'running' || status === 'awaiting_input'
}
