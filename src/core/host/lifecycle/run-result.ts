/** Reads what a run left: its result in `status.json`, and how its process ended (R21). */
import { isScarcity } from '../../errors.ts'
import { CONTAINER_MEMORY_BYTES, COORDINATION_FILE_MAX_BYTES, GIB } from '../../limits.ts'
import { isObject } from '../../primitives/is-object.ts'
import { CHECKPOINT_FILE, STATUS_FILE } from '../../protocol/coordination.ts'
import { RESULT_STATUSES, type ResolverResult } from '../../protocol/instance.ts'
import type { Redactor } from '../../redaction/redact.ts'
import type { CoordinationDirectory, Driver, Worker } from '../../worker/worker.ts'
import { readState } from '../ingest/state-snapshot.ts'
import { crashSummary } from '../launch/crash-summary.ts'

const DETAIL_BYTES = 2_000
const DETAIL_LINES = 3

/**
 * null if there is none, for a checkpoint (spec, Worker container layout), and for an invalid one. Throws where it cannot be
 * read now.
 */
export function readResult(coordination: CoordinationDirectory): ResolverResult | null {
  return unlessTampered(() => parseResult(readStatus(coordination)), null)
}

function readStatus(coordination: CoordinationDirectory): unknown {
  const bytes = coordination.read(STATUS_FILE, COORDINATION_FILE_MAX_BYTES)
  return bytes === undefined ? undefined : JSON.parse(bytes.toString('utf8'))
}

function unlessTampered<T>(read: () => T, otherwise: T): T {
  try {
    return read()
  } catch (error) {
    if (isScarcity(error)) throw error
    return otherwise
  }
}

/** What every snapshot has; any other key is a resolver's own (spec, State snapshot). */
const SNAPSHOT_KEYS = ['status', 'phase', 'updated_at']

/**
 * Whether a resumed run finds where the last one was (spec, Rules 2; R58): `checkpoint.json`, a checkpoint in `status.json`, or keys of
 * the resolver's own in `state.json`. Throws where this cannot be read now.
 */
export function hasCheckpoint(coordination: CoordinationDirectory): boolean {
  const found = [
    () => coordination.read(CHECKPOINT_FILE, COORDINATION_FILE_MAX_BYTES) !== undefined,
    () => hasStatusCheckpoint(coordination),
    () => Object.keys(readState(coordination) ?? {}).some((key) => !SNAPSHOT_KEYS.includes(key)),
  ]
  return found.some((isThere) => unlessTampered(isThere, false))
}

/** Whether `status.json` holds a checkpoint: an object that is no result. */
export function hasStatusCheckpoint(coordination: CoordinationDirectory): boolean {
  return unlessTampered(() => {
    const value = readStatus(coordination)
    return isObject(value) && parseResult(value) === null
  }, false)
}

/** "The worker ended with exit code 1 before it was ready.", and the last lines of its stderr. */
export function describeExit(worker: Worker, driver: Driver, redactor: Redactor, when: string): string {
  const { engine, exitCode, signal, outOfMemory } = worker.condition
  if (engine === 'lost') return `The container of the worker was removed by another program ${when}.`
  const how = signal !== null ? `on ${signal}` : exitCode !== null ? `with exit code ${exitCode}` : ''
  const stderr = redactor.tail((bytes) => driver.stderrTail(bytes), DETAIL_BYTES).trim()
  const tail = crashSummary(stderr) ?? stderr.split('\n').slice(-DETAIL_LINES).join('\n')
  const why = outOfMemory === true ? `for want of memory (the limit is ${CONTAINER_MEMORY_BYTES / GIB} GiB)` : ''
  return [`The worker ended ${[how, when, why].filter(Boolean).join(' ')}.`, tail].filter(Boolean).join('\n')
}

function parseResult(value: unknown): ResolverResult | null {
  if (typeof value !== 'object' || value === null || !('status' in value)) return null
  const { status, output, error, sessions_used: sessions } = value as Record<string, unknown>
  if (!(RESULT_STATUSES as readonly unknown[]).includes(status)) return null
  return {
    status: status as ResolverResult['status'],
    output: typeof output === 'string' ? output : null,
    error: typeof error === 'string' ? error : null,
    ...(Number.isSafeInteger(sessions) && Number(sessions) >= 0 ? { sessions_used: Number(sessions) } : {}),
  }
}
