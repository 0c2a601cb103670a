/** Builds the conditions of a form's checks in the spec's shapes (spec, Built-in functions; R29, R31). For authors. */
import type { Binding, Check, DynamicBoolean } from '../../core/protocol/form.ts'

/** A condition, or a function that builds one from the path of its field. */
export type Rule = DynamicBoolean | ((ownPath: string) => DynamicBoolean)

/** A check as an author writes it: the condition may leave out the path of its own field. */
export interface FieldCheck {
  condition: Rule
  /** Shown when the condition is false. */
  message: string
}

export interface Bounds {
  min?: number
  max?: number
}

/** Present, not null, not "". Every helper below checks its own field unless it gets another id or path. */
export function required(path?: string): Rule {
  return (own) => ({ call: 'required', args: [bind(path, own)] })
}

/** The pattern occurs in the value: JavaScript syntax with the `u` flag (R34). A missing value fails: see {@link optional}. */
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

/** Applies the rule only to a filled-in field: `or(not(required()), rule)` (R31). */
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
