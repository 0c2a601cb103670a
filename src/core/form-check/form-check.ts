/** Checks a payload against a form on the host, with the bounded matcher. Creation, answers and messages call it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, type ResolveError } from '../errors.ts'
import { failingChecks } from '../forms/validate.ts'
import type { Form, Payload } from '../protocol/form.ts'
import { boundedMatcher } from './matcher.ts'

/** A check that took this long held up others. */
const SLOW_MS = 20
/** How many times as long others get the thread afterwards. */
const PAUSE_FACTOR = 3

let pausedUntil = 0

/** `form_invalid` with every failing message in order (R35) and the field of each; undefined when all checks pass. */
export function formRefusal(form: Form | null, payload: Payload): ResolveError | undefined {
  if (form === null) return undefined
  const fields = failingChecks(form, payload, boundedMatcher()).flatMap(({ component, messages }) =>
    messages.map((message) => ({ id: component, message })),
  )
  if (fields.length === 0) return undefined
  return fail('form_invalid', { errors: fields.map(({ message }) => message), fields })
}

/**
 * As {@link formRefusal}, for callers who may ask as often as they like: after a check with slow patterns, this thread belongs to
 * others for a while before the next check (threats WEB-9).
 */
export async function pacedFormRefusal(form: Form | null, payload: Payload): Promise<ResolveError | undefined> {
  for (let wait = pausedUntil - performance.now(); wait > 0; wait = pausedUntil - performance.now()) await sleep(wait)
  const began = performance.now()
  const refusal = formRefusal(form, payload)
  const tookMs = performance.now() - began
  if (tookMs > SLOW_MS) pausedUntil = performance.now() + tookMs * PAUSE_FACTOR
  return refusal
}
