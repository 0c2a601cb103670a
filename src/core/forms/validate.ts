/** Checks a payload against a well-formed form: every failing message at once (spec, Errors; R35). Host, terminal and page call it. */
import type { Form, Payload } from '../protocol/form.ts'
import { type Condition, compileCondition, type Matcher } from './compile-condition.ts'

export type { Matcher }

/** The messages of one component's failing checks, in their order. */
export interface FailingComponent {
  component: string
  messages: string[]
}

interface CompiledComponent {
  id: string
  checks: readonly { holds: Condition; message: string }[]
}

/** A form is read-only once it is parsed, so its checks are compiled once. */
const compiled = new WeakMap<Form, readonly CompiledComponent[]>()

/**
 * Every failing message, in component order, then check order; [] when the payload is valid. The payload is only read:
 * keys no component declares, and select values outside the options, are no errors (R35, R36).
 */
export function validate(form: Form, payload: Payload, match: Matcher): string[] {
  const messages: string[] = []
  for (const { checks } of compile(form)) {
    for (const { holds, message } of checks) {
      if (!holds(payload, match)) messages.push(message)
    }
  }
  return messages
}

/** The same, by component: for a form that shows each message beside its field. Components that hold are left out. */
export function failingChecks(form: Form, payload: Payload, match: Matcher): FailingComponent[] {
  return compile(form).flatMap(({ id, checks }) => {
    const failing = checks.filter(({ holds }) => !holds(payload, match))
    return failing.length === 0 ? [] : [{ component: id, messages: failing.map(({ message }) => message) }]
  })
}

function compile(form: Form): readonly CompiledComponent[] {
  const known = compiled.get(form)
  if (known !== undefined) return known
  const components = form.components.map(({ id, checks = [] }) => ({
    id,
    checks: checks.map(({ condition, message }) => ({ holds: compileCondition(condition), message })),
  }))
  compiled.set(form, components)
  return components
}
