/**
 * Checks a payload against a well-formed form and returns all failing messages at once (spec, Errors; R35). Host, terminal and
 * page call it.
 */
import { featureSpecMessages } from '../feature-spec/fault-text.ts'
import type { Check, Component, Form, Payload } from '../protocol/form.ts'
import { type Condition, compileCondition, type Matcher } from './compile-condition.ts'
import { Slots } from './slots.ts'

export type { Matcher }

/** The messages of one component's failing checks, in order. */
export interface FailingComponent {
  component: string
  messages: string[]
}

/** A check, or the format of a text, which may have several messages. */
interface CompiledCheck {
  component: string
  messages: (values: readonly unknown[], match: Matcher) => readonly string[]
}

interface CompiledForm {
  slots: Slots
  /** In component order, then check order (R35); the format of a component comes after its checks. */
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
  for (const check of checks) messages.push(...check.messages(values, match))
  return messages
}

/** The same, grouped by component, for forms that show each message beside its field. Valid components are left out. */
export function failingChecks(form: Form, payload: Payload, match: Matcher): FailingComponent[] {
  const { slots, checks } = compile(form)
  const values = slots.read(payload)
  const failing: FailingComponent[] = []
  for (const { component, messages: check } of checks) {
    const messages = check(values, match)
    if (messages.length === 0) continue
    const last = failing.at(-1)
    if (last?.component === component) last.messages.push(...messages)
    else failing.push({ component, messages: [...messages] })
  }
  return failing
}

function compile(form: Form): CompiledForm {
  const known = compiled.get(form)
  if (known !== undefined) return known
  const slots = new Slots()
  const checks = form.components.flatMap((component) => [
    ...(component.checks ?? []).map((check) => compileCheck(component.id, check, slots)),
    ...compileFormat(component, slots),
  ])
  const fresh = { slots, checks }
  compiled.set(form, fresh)
  return fresh
}

function compileCheck(component: string, { condition, message }: Check, slots: Slots): CompiledCheck {
  const holds: Condition = compileCondition(condition, slots)
  const failing = [message]
  return { component, messages: (values, match) => (holds(values, match) ? NONE : failing) }
}

/** A missing or empty text has no format: `required` is the check for it. */
function compileFormat(component: Component, slots: Slots): CompiledCheck[] {
  if (!('format' in component) || component.format !== 'feature-spec') return []
  const slot = slots.of(`/${component.id}`)
  return [
    {
      component: component.id,
      messages(values) {
        const value = values[slot]
        return value === null || value === '' ? NONE : featureSpecMessages(value)
      },
    },
  ]
}

const NONE: readonly string[] = []
