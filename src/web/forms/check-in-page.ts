/**
 * Runs the same checks as the server, before the form is sent. A pattern of a form can run for hours (R34), so a form with patterns
 * is checked in a Web Worker, which is terminated after a limit. The page then shows no messages, and the server's check decides.
 */
import { type FailingComponent, failingChecks } from '../../core/forms/validate.ts'
import { PATTERN_FORM_LIMIT_MS } from '../../core/limits.ts'
import type { DynamicBoolean, Form, Payload } from '../../core/protocol/form.ts'
import type { CheckAnswer, CheckRequest } from './check-worker.ts'

/** The time limit for the first check, which includes starting the worker. */
const START_LIMIT_MS = 2_000

let worker: Worker | undefined
let isWarm = false
let turn: Promise<unknown> = Promise.resolve()

/** The components with failing checks; null if the check did not finish in time. */
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
