/** The eight statuses of an instance and the transitions between them (spec, States and transitions; R20, R27). */

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

/** The spec's table, plus R20's stops in `created` and `starting` and R21's failure when a worker ends without a result. */
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

/** Whether a worker runs or is being started: this time counts towards the lifetime (R27). */
export function hasWorker(status: Status): boolean {
  return status === 'starting' || status === 'running' || status === 'awaiting_input'
}
