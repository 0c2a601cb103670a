/** Turns a condition into a closure once, so that checking a payload walks no schema (spec, DynamicBoolean; R31–R34). */
import type { DynamicBoolean, FunctionCall } from '../protocol/form.ts'
import { isEmail, lengthOf, ownValue, pathKeys, resolveKeys, toBool, toNumber, toText } from './values.ts'

/**
 * Searches a pattern (as the form has it: see patternSource) in a value. It must come back in bounded time, never
 * throw, and answer false where the pattern can't be run or takes too long (R34).
 */
export type Matcher = (pattern: string, value: string) => boolean

export type Condition = (payload: unknown, match: Matcher) => boolean

type Getter = (payload: unknown) => unknown

export function compileCondition(condition: DynamicBoolean): Condition {
  if (typeof condition === 'boolean') return () => condition
  if ('call' in condition) return compileCall(condition)
  const get = getter(condition.path)
  return (payload) => toBool(get(payload))
}

function compileCall(condition: FunctionCall): Condition {
  switch (condition.call) {
    case 'required': {
      const get = getter(condition.args[0].path)
      return (payload) => {
        const value = get(payload)
        return value !== null && value !== ''
      }
    }
    case 'email': {
      const get = getter(condition.args[0].path)
      return (payload) => isEmail(get(payload))
    }
    case 'regex': {
      const { value, pattern } = condition.args
      const get = getter(value.path)
      return (payload, match) => {
        const text = toText(get(payload))
        return text !== undefined && match(pattern, text)
      }
    }
    case 'length':
      return within(condition.args, lengthOf)
    case 'numeric':
      return within(condition.args, toNumber)
    case 'and': {
      const all = condition.args.conditions.map(compileCondition)
      return (payload, match) => all.every((holds) => holds(payload, match))
    }
    case 'or': {
      const any = condition.args.conditions.map(compileCondition)
      return (payload, match) => any.some((holds) => holds(payload, match))
    }
    case 'not': {
      const holds = compileCondition(condition.args.condition)
      return (payload, match) => !holds(payload, match)
    }
  }
}

type Bounded = Extract<FunctionCall, { call: 'length' | 'numeric' }>['args']

function within(args: Bounded, measure: (value: unknown) => number | undefined): Condition {
  const get = getter(args.value.path)
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = args
  return (payload) => {
    const measured = measure(get(payload))
    return measured !== undefined && measured >= min && measured <= max
  }
}

function getter(path: string): Getter {
  const keys = pathKeys(path)
  const [key] = keys
  return key !== undefined && keys.length === 1
    ? (payload) => ownValue(payload, key)
    : (payload) => resolveKeys(payload, keys)
}
