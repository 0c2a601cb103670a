/**
 * Compiles a condition into a closure once, so that checking a payload does not walk the schema (spec, DynamicBoolean;
 * R31–R34). validate.ts calls it.
 */
import type { DynamicBoolean, FunctionCall } from '../protocol/form.ts'
import type { Slots } from './slots.ts'
import { isEmail, lengthOf, toBool, toNumber, toText } from './values.ts'

/**
 * Searches a value for a pattern (as the form has it: see patternSource). Must return in bounded time, never throw, and return
 * false where the pattern cannot run or takes too long (R34).
 */
export type Matcher = (pattern: string, value: string) => boolean

/** `values` are the values of the form's {@link Slots}. */
export type Condition = (values: readonly unknown[], match: Matcher) => boolean

export function compileCondition(condition: DynamicBoolean, slots: Slots): Condition {
  if (typeof condition === 'boolean') return () => condition
  if ('call' in condition) return compileCall(condition, slots)
  const slot = slots.of(condition.path)
  return (values) => toBool(values[slot])
}

function compileCall(condition: FunctionCall, slots: Slots): Condition {
  switch (condition.call) {
    case 'required': {
      const slot = slots.of(condition.args[0].path)
      return (values) => {
        const value = values[slot]
        return value !== null && value !== ''
      }
    }
    case 'email': {
      const slot = slots.of(condition.args[0].path)
      return (values) => isEmail(values[slot])
    }
    case 'regex': {
      const { value, pattern } = condition.args
      const slot = slots.of(value.path)
      return (values, match) => {
        const text = toText(values[slot])
        return text !== undefined && match(pattern, text)
      }
    }
    case 'length':
      return within(condition.args, lengthOf, slots)
    case 'numeric':
      return within(condition.args, toNumber, slots)
    case 'and': {
      const all = condition.args.conditions.map((part) => compileCondition(part, slots))
      return (values, match) => {
        for (const holds of all) if (!holds(values, match)) return false
        return true
      }
    }
    case 'or': {
      const any = condition.args.conditions.map((part) => compileCondition(part, slots))
      return (values, match) => {
        for (const holds of any) if (holds(values, match)) return true
        return false
      }
    }
    case 'not': {
      const holds = compileCondition(condition.args.condition, slots)
      return (values, match) => !holds(values, match)
    }
  }
}

type Bounded = Extract<FunctionCall, { call: 'length' | 'numeric' }>['args']

function within(args: Bounded, measure: (value: unknown) => number | undefined, slots: Slots): Condition {
  const slot = slots.of(args.value.path)
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = args
  return (values) => {
    const measured = measure(values[slot])
    return measured !== undefined && measured >= min && measured <= max
  }
}
