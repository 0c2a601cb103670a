/** How statuses are shown: a shape, a word and a colour. The shape makes a status readable without colour. */
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
}

export function reasonText(reason: string): string {
  return Object.hasOwn(REASONS, reason) ? (REASONS[reason] ?? reason) : reason
}

export function statusText(status: Status): string {
  const { shape, word } = STATUS_WORDS[status]
  return `${shape} ${word}`
}
