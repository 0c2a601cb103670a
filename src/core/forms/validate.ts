/**
 * Checks a payload against a well-formed form and returns all failing messages at once (spec, Errors; R35). Host, terminal and
 * page call it.
 */
import type { Form, Payload } from '../protocol/form.ts'
import { type Condition, compileCondition, type Matcher } from './compile-condition.ts'
import { Slots } from './slots.ts'

export type { Matcher }

/** The messages of one component's failing checks, in order. */
export interface FailingComponent {
  component: string
  messages: string[]
}

interface CompiledCheck {
  component: string
  holds: Condition
  message: string
}

interface CompiledForm {
  slots: Slots
  /** In component order, then check order (R35). */
  checks: readonly CompiledCheck[]
}

/** A parsed form never changes, so its checks are compiled once. */
const compiled = new WeakMap<Form, CompiledForm>()

/**
 * Every failing message, in component order, then check order; [] when the payload is valid. The payload is only read. Keys
 * that no component declares, and select values outside the options, are accepted (R35, R36).
 */
export function validate(form: Form, payload: Payload, match: Matcher): string[] {
  const { slots, checks } = compile(form)
  const values = slots.read(payload)
  const messages: string[] = []
  for (const { holds, message } of checks) if (!holds(values, match)) messages.push(message)
  return messages
}

/** The same, grouped by component, for forms that show each message beside its field. Valid components are left out. */
export function failingChecks(form: Form, payload: Payload, match: Matcher): FailingComponent[] {
  const { slots, checks } = compile(form)
  const values = slots.read(payload)
  const failing: FailingComponent[] = []
  for (const { component, holds, message } of checks) {
    if (holds(values, match)) continue
    const last = failing.at(-1)
    if (last?.component === component) last.messages.push(message)
    else failing.push({ component, messages: [message] })
  }
  return failing
}

function compile(form: Form): CompiledForm {
  const known = compiled.get(form)
  if (known !== undefined) return known
  const slots = new Slots()
  const checks = form.components.flatMap(({ id, checks = [] }) =>
    checks.map(({ condition, message }) => ({ component: id, holds: compileCondition(condition, slots), message })),
  )
  const fresh = { slots, checks }
  compiled.set(form, fresh)
  return fresh
}
