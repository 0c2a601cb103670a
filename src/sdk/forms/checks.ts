/** Writes the conditions of a form's checks, in the spec's shapes (spec, Built-in functions; R29, R31). */
import type { Binding, Check, DynamicBoolean } from '../../core/protocol/form.ts'

/** A condition, or one that is told the path of the field it stands on. */
export type Rule = DynamicBoolean | ((ownPath: string) => DynamicBoolean)

/** A check as an author writes it: the condition may leave out the field's own path. */
export interface FieldCheck {
  condition: Rule
  /** Shown when the condition is false. */
  message: string
}

export interface Bounds {
  min?: number
  max?: number
}

/** Present, not null, not "". Every helper below looks at its own field unless it is given another one's id or path. */
export function required(path?: string): Rule {
  return (own) => ({ call: 'required', args: [bind(path, own)] })
}

/** The pattern is found in the value: JavaScript `u` syntax (R34). A missing value fails: see {@link optional}. */
export function regex(pattern: string, path?: string): Rule {
  return (own) => ({ call: 'regex', args: { value: bind(path, own), pattern } })
}

/** min ≤ characters ≤ max. */
export function length(bounds: Bounds, path?: string): Rule {
  return (own) => ({ call: 'length', args: { value: bind(path, own), ...bounds } })
}

/** A finite number, min ≤ number ≤ max. */
export function numeric(bounds: Bounds = {}, path?: string): Rule {
  return (own) => ({ call: 'numeric', args: { value: bind(path, own), ...bounds } })
}

export function email(path?: string): Rule {
  return (own) => ({ call: 'email', args: [bind(path, own)] })
}

export function and(...rules: Rule[]): Rule {
  return (own) => ({ call: 'and', args: { conditions: rules.map((rule) => toCondition(rule, own)) } })
}

export function or(...rules: Rule[]): Rule {
  return (own) => ({ call: 'or', args: { conditions: rules.map((rule) => toCondition(rule, own)) } })
}

export function not(rule: Rule): Rule {
  return (own) => ({ call: 'not', args: { condition: toCondition(rule, own) } })
}

/** The rule counts only where the field is filled in: `or(not(required()), rule)` (R31). */
export function optional(rule: Rule, path?: string): Rule {
  return or(not(required(path)), rule)
}

export function toCheck(check: FieldCheck, ownPath: string): Check {
  return { condition: toCondition(check.condition, ownPath), message: check.message }
}

function toCondition(rule: Rule, own: string): DynamicBoolean {
  return typeof rule === 'function' ? rule(own) : rule
}

function bind(path: string | undefined, own: string): Binding {
  if (path === undefined) return { path: own }
  return { path: path.startsWith('/') ? path : `/${path}` }
}
