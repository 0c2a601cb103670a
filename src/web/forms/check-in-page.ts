/**
 * The same checks as the server's, before anything is sent. A pattern can be made to run for hours (R34): a form that has any is
 * checked in a worker, which is ended when it takes too long. Then the page says nothing, and the server's check decides.
 */
import { type FailingComponent, failingChecks } from '../../core/forms/validate.ts'
import { PATTERN_FORM_LIMIT_MS } from '../../core/limits.ts'
import type { DynamicBoolean, Form, Payload } from '../../core/protocol/form.ts'
import type { CheckAnswer, CheckRequest } from './check-worker.ts'

/** Starting a worker takes a moment, which is not the pattern's fault. */
const START_LIMIT_MS = 2_000

let worker: Worker | undefined
let isWarm = false
let turn: Promise<unknown> = Promise.resolve()

/** The components whose checks fail; null where it could not be told in time. */
export function checkInPage(form: Form, payload: Payload): Promise<readonly FailingComponent[] | null> {
  if (!hasPattern(form)) return Promise.resolve(failingChecks(form, payload, () => false))
  const mine = turn.then(() => askWorker({ form, payload }))
  turn = mine.catch(() => {})
  return mine
}

function askWorker(request: CheckRequest): Promise<readonly FailingComponent[] | null> {
  worker ??= new Worker(new URL('./check-worker.ts', import.meta.url), { type: 'module' })
  const asked = worker
  return new Promise((resolve) => {
    const end = (answer: readonly FailingComponent[] | null) => {
      clearTimeout(limit)
      asked.onmessage = null
      asked.onerror = null
      if (answer === null) {
        asked.terminate()
        worker = undefined
      }
      isWarm = answer !== null
      resolve(answer)
    }
    const limit = setTimeout(() => end(null), isWarm ? PATTERN_FORM_LIMIT_MS : START_LIMIT_MS)
    asked.onmessage = ({ data }: MessageEvent<CheckAnswer>) => end(data)
    asked.onerror = () => end(null)
    asked.postMessage(request)
  })
}

function hasPattern(form: Form): boolean {
  return form.components.some(({ checks = [] }) => checks.some(({ condition }) => isPattern(condition)))
}

function isPattern(condition: DynamicBoolean): boolean {
  if (typeof condition !== 'object' || !('call' in condition)) return false
  if (condition.call === 'regex') return true
  if (condition.call === 'not') return isPattern(condition.args.condition)
  if (condition.call === 'and' || condition.call === 'or') return condition.args.conditions.some(isPattern)
  return false
}
