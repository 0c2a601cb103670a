/** The Web Worker that runs the checks of a form. The page terminates it if a pattern takes too long; see check-in-page.ts. */
import { patternRegExp } from '../../core/forms/pattern.ts'
import { type FailingComponent, failingChecks } from '../../core/forms/validate.ts'
import { PATTERN_VALUE_MAX_CHARS } from '../../core/limits.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'

export interface CheckRequest {
  form: Form
  payload: Payload
}

export type CheckAnswer = readonly FailingComponent[]

self.onmessage = ({ data: { form, payload } }: MessageEvent<CheckRequest>) => {
  const match = (pattern: string, value: string) =>
    value.length <= PATTERN_VALUE_MAX_CHARS && patternRegExp(pattern)?.test(value) === true
  self.postMessage(failingChecks(form, payload, match) satisfies CheckAnswer)
}
