/**
 * Parses the condition of a check and normalises its arguments to the spec's shapes (spec, Built-in functions; R29, R30).
 * parse-form.ts calls it.
 */
import { FORM_MAX_CONDITIONS, FORM_MAX_COSTLY_ESCAPES, FORM_MAX_DEPTH, FORM_MAX_STRING_CHARS } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import type { Binding, DynamicBoolean, FunctionCall } from '../protocol/form.ts'
import { describe, type Faults, type JsonObject, quote, read } from './faults.ts'
import { costlyEscapes, patternFault } from './pattern.ts'

const CALLS = ['required', 'regex', 'length', 'numeric', 'email', 'and', 'or', 'not'] as const

/** Parses all conditions of one form, because their number is limited per form. */
export class ConditionParser {
  readonly #faults: Faults
  readonly #patterns = new Map<string, string | undefined>()
  #count = 0
  #costlyEscapes = 0

  constructor(faults: Faults) {
    this.#faults = faults
  }

  /** undefined for a malformed condition; the fault is recorded under `where`. */
  parse(value: unknown, where: string, depth = 1): DynamicBoolean | undefined {
    this.#count += 1
    if (this.#count > FORM_MAX_CONDITIONS) {
      if (this.#count === FORM_MAX_CONDITIONS + 1) {
        this.#faults.add(where, `the form has more than ${FORM_MAX_CONDITIONS} conditions`)
      }
      return undefined
    }
    if (depth > FORM_MAX_DEPTH) return this.#fault(where, `conditions nest deeper than ${FORM_MAX_DEPTH}`)
    if (typeof value === 'boolean') return value
    if (!isObject(value)) {
      return this.#fault(where, `the condition is ${describe(value)}, not true, false, {path} or {call, args}`)
    }
    const call = read(value, 'call')
    const path = read(value, 'path')
    if (call !== undefined && path !== undefined) return this.#fault(where, 'the condition has both a path and a call')
    if (path !== undefined) return this.#binding(value, where, 'the condition')
    if (call === undefined) return this.#fault(where, 'the condition has neither a path nor a call')
    return this.#call(call, read(value, 'args'), where, depth)
  }

  #call(call: unknown, args: unknown, where: string, depth: number): FunctionCall | undefined {
    switch (call) {
      case 'required':
      case 'email': {
        const value = this.#binding(soleArgument(args), where, `the argument of "${call}"`)
        return value && { call, args: [value] }
      }
      case 'regex':
        return this.#regex(args, where)
      case 'length':
      case 'numeric':
        return this.#bounded(call, args, where)
      case 'and':
      case 'or':
        return this.#combined(call, args, where, depth)
      case 'not': {
        const condition = this.parse(negated(args), `${where}, condition of "not"`, depth + 1)
        return condition === undefined ? undefined : { call, args: { condition } }
      }
      default:
        return this.#fault(where, `the call is ${describe(call)}; the calls are ${CALLS.join(', ')}`)
    }
  }

  #regex(args: unknown, where: string): FunctionCall | undefined {
    if (!this.#named(args, ['value', 'pattern'], 'regex', where)) return undefined
    const value = this.#binding(read(args, 'value'), where, 'the value of "regex"')
    const pattern = read(args, 'pattern')
    if (typeof pattern !== 'string') return this.#fault(where, `the pattern is ${describe(pattern)}, not a text`)
    const fault = this.#patternFault(pattern)
    if (fault !== undefined) return this.#fault(where, fault)
    return value && { call: 'regex', args: { value, pattern } }
  }

  /** Each pattern is parsed once. After too many slow ones, the rest is not parsed. */
  #patternFault(pattern: string): string | undefined {
    if (this.#patterns.has(pattern)) return this.#patterns.get(pattern)
    this.#costlyEscapes += costlyEscapes(pattern)
    const fault =
      this.#costlyEscapes > FORM_MAX_COSTLY_ESCAPES
        ? `the patterns of the form have more than ${FORM_MAX_COSTLY_ESCAPES} of \\p, \\P, \\b and \\B`
        : patternFault(pattern)
    this.#patterns.set(pattern, fault)
    return fault
  }

  #bounded(call: 'length' | 'numeric', args: unknown, where: string): FunctionCall | undefined {
    if (!this.#named(args, ['value', 'min', 'max'], call, where)) return undefined
    const before = this.#faults.count
    const value = this.#binding(read(args, 'value'), where, `the value of "${call}"`)
    const min = this.#bound(call, 'min', read(args, 'min'), where)
    const max = this.#bound(call, 'max', read(args, 'max'), where)
    if (min !== undefined && max !== undefined && min > max) {
      return this.#fault(where, `the min of "${call}" (${min}) is above its max (${max})`)
    }
    if (value === undefined || this.#faults.count > before) return undefined
    return { call, args: { value, ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) } }
  }

  #bound(call: 'length' | 'numeric', name: string, value: unknown, where: string): number | undefined {
    if (value === undefined) return undefined
    const fits = call === 'length' ? Number.isSafeInteger(value) && Number(value) >= 0 : Number.isFinite(value)
    if (fits) return value as number
    const wanted = call === 'length' ? 'a whole number from 0' : 'a number'
    return this.#fault(where, `the ${name} of "${call}" is ${describe(value)}, not ${wanted}`)
  }

  #combined(call: 'and' | 'or', args: unknown, where: string, depth: number): FunctionCall | undefined {
    const list = listed(args)
    if (!Array.isArray(list)) return this.#fault(where, `the args of "${call}" are not {conditions: [...]}`)
    if (list.length === 0) return this.#fault(where, `"${call}" has no conditions`)
    const parsed = list.map((item, at) => this.parse(item, `${where}, condition ${at + 1} of "${call}"`, depth + 1))
    const conditions = parsed.filter((condition) => condition !== undefined)
    return conditions.length < list.length ? undefined : { call, args: { conditions } }
  }

  #binding(value: unknown, where: string, what: string): Binding | undefined {
    const path = isObject(value) ? read(value, 'path') : undefined
    if (typeof path !== 'string') return this.#fault(where, `${what} is not {path: "/field"}`)
    if (path === '' || path === '/') return this.#fault(where, `the path of ${what} names no field`)
    if (path.length > FORM_MAX_STRING_CHARS) {
      return this.#fault(where, `the path of ${what} is longer than ${FORM_MAX_STRING_CHARS} characters`)
    }
    return { path }
  }

  /** Named arguments. An unknown name is a fault: a misspelt bound would otherwise accept everything. */
  #named(args: unknown, names: readonly string[], call: string, where: string): args is JsonObject {
    if (!isObject(args)) {
      this.#fault(where, `the args of "${call}" are not {${names.join(', ')}}`)
      return false
    }
    const unknown = Object.keys(args).filter((key) => !names.includes(key) && read(args, key) !== undefined)
    for (const key of unknown) {
      this.#fault(where, `"${call}" has no argument ${quote(key)}; its arguments are ${names.join(', ')}`)
    }
    return unknown.length === 0
  }

  #fault(where: string, problem: string): undefined {
    this.#faults.add(where, problem)
  }
}

/** `[{path}]`, or the alternative spelling `{value: {path}}` (R29). */
function soleArgument(args: unknown): unknown {
  if (Array.isArray(args)) return args.length === 1 ? args[0] : undefined
  return isObject(args) ? onlyOne(args, ['value']) : undefined
}

/** `{conditions}`, the alternative spelling `{values}`, or the bare list (R29). */
function listed(args: unknown): unknown {
  return isObject(args) ? onlyOne(args, ['conditions', 'values']) : args
}

/** `{condition}`, the alternative spelling `{value}`, a list of one, or the condition itself (R29). */
function negated(args: unknown): unknown {
  if (Array.isArray(args)) return args.length === 1 ? args[0] : undefined
  if (!isObject(args)) return args
  return read(args, 'call') === undefined && read(args, 'path') === undefined
    ? onlyOne(args, ['condition', 'value'])
    : args
}

/** The value of the object's only key, where that key is one of these names. */
function onlyOne(args: JsonObject, names: readonly string[]): unknown {
  const keys = Object.keys(args).filter((key) => read(args, key) !== undefined)
  const [key = ''] = keys
  return keys.length === 1 && names.includes(key) ? read(args, key) : undefined
}
