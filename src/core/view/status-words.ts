/** How statuses are shown: a shape, a word and a colour. The shape makes a status readable without colour. */
import type { QueuePlace } from '../protocol/instance.ts'
import type { Status } from '../protocol/status.ts'

export interface StatusWord {
  shape: string
  word: string
  color: 'gray' | 'cyan' | 'yellow' | 'magenta' | 'green' | 'red'
}

export const STATUS_WORDS: Readonly<Record<Status, StatusWord>> = {
  created: { shape: '○', word: 'created', color: 'gray' },
  starting: { shape: '◌', word: 'starting', color: 'cyan' },
  running: { shape: '●', word: 'running', color: 'cyan' },
  awaiting_input: { shape: '◆', word: 'waiting for you', color: 'yellow' },
  paused: { shape: '‖', word: 'paused', color: 'magenta' },
  completed: { shape: '✓', word: 'completed', color: 'green' },
  failed: { shape: '✗', word: 'failed', color: 'red' },
  cancelled: { shape: '⊘', word: 'cancelled', color: 'gray' },
}

/** Reasons of the platform as words; a reason that a person gave stays as it is. */
const REASONS: Readonly<Record<string, string>> = {
  pause_requested: 'requested',
  stop_requested: 'requested',
  cancel_requested: 'requested',
  requests_withdrawn: 'its questions were withdrawn',
  lifetime_exceeded: 'its lifetime is over',
  worker_lost: 'its worker was lost',
  resumed_lost: 'resumed without a person',
}

export function reasonText(reason: string): string {
  return Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? reason) : reason
}

/** How an instance is shown: one that waits for a worker shows its place (R70). */
export function standingWord({ status, queue }: { status: Status; queue?: QueuePlace | null | undefined }): StatusWord {
  if (queue == null) return STATUS_WORDS[status]
  return { ...STATUS_WORDS.created, word: `queued, place ${queue.position}` }
}

/** Why an instance waits, as a sentence. */
export function queueSentence({ position, bound, limit }: Pick<QueuePlace, 'position' | 'bound' | 'limit'>): string {
  const many = limit === 1 ? '1 instance' : `${limit} instances`
  const run = limit === 1 ? 'runs' : 'run'
  const where = bound === 'home' ? `${run} at the same time here` : `of this resolver ${run} at the same time`
  return `It waits in the queue, place ${position}: at most ${many} ${where}.`
}

export function statusText(status: Status, queue?: QueuePlace | null): string {
  const { shape, word } = standingWord({ status, queue })
  return `${shape} ${word}`
}
