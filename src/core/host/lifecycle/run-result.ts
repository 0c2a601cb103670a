/** Reads what a run left: its result in `status.json`, and how its process ended (R21). */
import { isScarcity } from '../../errors.ts'
import { CONTAINER_MEMORY_BYTES, COORDINATION_FILE_MAX_BYTES, GIB } from '../../limits.ts'
import { STATUS_FILE } from '../../protocol/coordination.ts'
import { RESULT_STATUSES, type ResolverResult } from '../../protocol/instance.ts'
import type { CoordinationDirectory, Driver, Worker } from '../../worker/worker.ts'
import { crashSummary } from '../launch/crash-summary.ts'
import type { Redactor } from '../ledger/redact.ts'

const DETAIL_BYTES = 2_000
const DETAIL_LINES = 3

/**
 * null if there is none, for a checkpoint (spec, Worker container layout), and for an invalid one. Throws where it cannot be
 * read now.
 */
export function readResult(coordination: CoordinationDirectory): ResolverResult | null {
  try {
    const bytes = coordination.read(STATUS_FILE, COORDINATION_FILE_MAX_BYTES)
    return bytes === undefined ? null : parseResult(JSON.parse(bytes.toString('utf8')))
  } catch (error) {
    if (isScarcity(error)) throw error
    return null
  }
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
