/**
 * Parses the form that a resolver returns or writes: the only place where a form is checked (spec, A2UI v0.9 schema; R29, R30).
 * The host calls it.
 */
import { FORM_MAX_COMPONENTS, FORM_MAX_OPTIONS, FORM_MAX_STRING_CHARS } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import {
  type Check,
  type Component,
  type Form,
  type OptionValue,
  type SelectOption,
  TEXT_FORMATS,
  type TextFormat,
} from '../protocol/form.ts'
import { describe, Faults, type JsonObject, quote, read } from './faults.ts'
import { ConditionParser } from './parse-condition.ts'

/** A well-formed form in the spec's shapes, or all its faults, each as a sentence that names component and check. */
export type ParsedForm = { form: Form; errors: [] } | { form: null; errors: string[] }

const TYPES = ['text', 'textarea', 'select', 'checkbox'] as const
const FORBIDDEN_IDS = ['__proto__', 'constructor', 'prototype']

/** Never throws, for any value; the result shares no object with it. Keys outside the dialect are left out. */
export function parseForm(value: unknown): ParsedForm {
  if (!isObject(value)) return malformed(`The form is ${describe(value)}, not an object.`)
  const faults = new Faults()
  const type = read(value, 'type')
  if (type !== 'form') faults.add('The form', `its type is ${describe(type)}, not the text "form"`)
  const given = read(value, 'components')
  if (!Array.isArray(given)) faults.add('The form', `its components are ${describe(given)}, not a list`)
  const components = Array.isArray(given) ? new FormParser(faults).parse(given) : []
  return faults.count === 0 ? { form: { type: 'form', components }, errors: [] } : malformed(...faults.sentences)
}

function malformed(...errors: string[]): ParsedForm {
  return { form: null, errors }
}

class FormParser {
  readonly #faults: Faults
  readonly #conditions: ConditionParser
  readonly #ids = new Set<string>()

  constructor(faults: Faults) {
    this.#faults = faults
    this.#conditions = new ConditionParser(faults)
  }

  parse(given: readonly unknown[]): Component[] {
    if (given.length > FORM_MAX_COMPONENTS) {
      this.#faults.add('The form', `it has ${given.length} components; the limit is ${FORM_MAX_COMPONENTS}`)
    }
    const parsed = given.slice(0, FORM_MAX_COMPONENTS).map((value, at) => this.#component(value, at + 1))
    return parsed.filter((component) => component !== undefined)
  }

  #component(value: unknown, position: number): Component | undefined {
    const place = `Component ${position}`
    if (!isObject(value)) return this.#fault(place, `it is ${describe(value)}, not an object`)
    const id = this.#id(value, place)
    const where = id === undefined ? place : `Component ${quote(id)}`
    const base = { id: id ?? '', ...this.#texts(value, ['label', 'description'], where), ...this.#checks(value, where) }
    const type = read(value, 'type')
    if (type !== 'textarea') this.#refuseFormat(value, where)
    switch (type) {
      case 'text':
        return { type, ...base, ...this.#texts(value, ['placeholder'], where), ...this.#secret(value, where) }
      case 'textarea':
        this.#refuseSecret(value, where)
        return { type, ...base, ...this.#texts(value, ['placeholder'], where), ...this.#format(value, where) }
      case 'select':
        this.#refuseSecret(value, where)
        return { type, ...base, options: this.#options(value, where), ...this.#selectDefault(value, where) }
      case 'checkbox':
        this.#refuseSecret(value, where)
        return { type, ...base, ...this.#checkboxDefault(value, where) }
      default:
        return this.#fault(where, `its type is ${describe(type)}; the types are ${TYPES.join(', ')}`)
    }
  }

  #id(component: JsonObject, place: string): string | undefined {
    const id = read(component, 'id')
    if (typeof id !== 'string' || id === '') return this.#fault(place, `its id is ${describe(id)}, not a name`)
    if (id.length > FORM_MAX_STRING_CHARS) {
      return this.#fault(place, `its id is longer than ${FORM_MAX_STRING_CHARS} characters`)
    }
    if (FORBIDDEN_IDS.includes(id)) this.#fault(place, `${quote(id)} can't be an id`)
    if (id.includes('/')) this.#fault(place, `its id ${quote(id)} has a "/", which no path could name`)
    if (this.#ids.has(id)) this.#fault(place, `its id ${quote(id)} is taken by an earlier component`)
    this.#ids.add(id)
    return id
  }

  #texts<K extends string>(holder: JsonObject, keys: readonly K[], where: string): { [P in K]?: string } {
    const texts: { [P in K]?: string } = {}
    for (const key of keys) {
      const text = this.#text(read(holder, key), where, `its ${key}`)
      if (text !== undefined) texts[key] = text
    }
    return texts
  }

  /** undefined where it is absent or malformed. */
  #text(value: unknown, where: string, what: string): string | undefined {
    if (value === undefined) return undefined
    if (typeof value !== 'string') return this.#fault(where, `${what} is ${describe(value)}, not a text`)
    if (value.length <= FORM_MAX_STRING_CHARS) return value
    return this.#fault(where, `${what} is longer than ${FORM_MAX_STRING_CHARS} characters`)
  }

  #options(component: JsonObject, where: string): SelectOption[] {
    const given = read(component, 'options')
    if (!Array.isArray(given)) {
      this.#fault(where, `its options are ${describe(given)}, not a list`)
      return []
    }
    if (given.length > FORM_MAX_OPTIONS) {
      this.#fault(where, `it has ${given.length} options; the limit is ${FORM_MAX_OPTIONS}`)
    }
    const options = given.slice(0, FORM_MAX_OPTIONS).map((option, at) => {
      const place = `${where}, option ${at + 1}`
      if (!isObject(option)) return this.#fault(place, `it is ${describe(option)}, not {value, label}`)
      const [value, label] = [read(option, 'value'), read(option, 'label')]
      if (value === undefined) this.#fault(place, 'its value is missing')
      if (label === undefined) this.#fault(place, 'its label is missing')
      const parsed = this.#optionValue(value, place, 'its value')
      const shown = this.#text(label, place, 'its label')
      return parsed === undefined || shown === undefined ? undefined : { value: parsed, label: shown }
    })
    return options.filter((option) => option !== undefined)
  }

  /** undefined where it is absent or malformed. */
  #optionValue(value: unknown, where: string, what: string): OptionValue | undefined {
    if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return value
    if (value === undefined || typeof value === 'string') return this.#text(value, where, what)
    return this.#fault(where, `${what} is ${describe(value)}, not a text, a number, true or false`)
  }

  #selectDefault(component: JsonObject, where: string): { default?: OptionValue } {
    const value = this.#optionValue(read(component, 'default'), where, 'its default')
    return value === undefined ? {} : { default: value }
  }

  #checkboxDefault(component: JsonObject, where: string): { default?: boolean } {
    const value = read(component, 'default')
    if (value === undefined) return {}
    if (typeof value === 'boolean') return { default: value }
    this.#fault(where, `its default is ${describe(value)}, not true or false`)
    return {}
  }

  #secret(component: JsonObject, where: string): { secret?: boolean } {
    const value = read(component, 'secret')
    if (value === undefined || value === false) return {}
    if (value === true) return { secret: true }
    this.#fault(where, `its secret is ${describe(value)}, not true or false`)
    return {}
  }

  /** A field that its author takes for secret must not be shown and stored without a word. */
  #refuseSecret(component: JsonObject, where: string): void {
    const value = read(component, 'secret')
    if (value !== undefined && value !== false) this.#fault(where, 'only a field of type text can be secret')
  }

  /** An unknown format is a fault: a misspelt one would otherwise check nothing. */
  #format(component: JsonObject, where: string): { format?: TextFormat } {
    const value = read(component, 'format')
    if (value === undefined) return {}
    const format = TEXT_FORMATS.find((one) => one === value)
    if (format !== undefined) return { format }
    this.#fault(where, `its format is ${describe(value)}; the formats are ${TEXT_FORMATS.join(', ')}`)
    return {}
  }

  /** Other keys of other components are left out as all that the dialect does not know. */
  #refuseFormat(component: JsonObject, where: string): void {
    const value = read(component, 'format')
    if (TEXT_FORMATS.some((one) => one === value))
      this.#fault(where, `only a field of type textarea can have the format ${quote(String(value))}`)
  }

  #checks(component: JsonObject, where: string): { checks?: Check[] } {
    const given = read(component, 'checks')
    if (given === undefined) return {}
    if (!Array.isArray(given)) {
      this.#fault(where, `its checks are ${describe(given)}, not a list`)
      return {}
    }
    const checks = given.map((check, at) => this.#check(check, `${where}, check ${at + 1}`))
    return { checks: checks.filter((check) => check !== undefined) }
  }

  #check(value: unknown, where: string): Check | undefined {
    if (!isObject(value)) return this.#fault(where, `it is ${describe(value)}, not {condition, message}`)
    const condition = this.#conditions.parse(read(value, 'condition'), where)
    const message = read(value, 'message')
    if (message === undefined || message === '') return this.#fault(where, 'its message is missing')
    const text = this.#text(message, where, 'its message')
    return condition === undefined || text === undefined ? undefined : { condition, message: text }
  }

  #fault(where: string, problem: string): undefined {
    this.#faults.add(where, problem)
  }
}
