/**
 * Converts a form into fields for a view: all text is cleaned, and every component becomes a field. A component type that this
 * version does not know (from a newer host) becomes a field of kind `unknown`, which is shown and prevents the submission.
 */
import { isObject } from '../primitives/is-object.ts'
import { type Payload, TEXT_FORMATS, type TextFormat } from '../protocol/form.ts'
import { cleanLine, cleanText } from './clean.ts'

/** A form that may come from a newer host: components of any type, optional properties of any value. */
export interface FormLike {
  components: readonly unknown[]
}

export interface FieldOption {
  /** The text of its value, by which options are compared (R51). */
  value: string
  /** The value that is submitted: a text, a number, true or false. */
  given: unknown
  /** The cleaned text that is shown. */
  label: string
}

export interface Field {
  id: string
  kind: 'text' | 'textarea' | 'select' | 'checkbox' | 'unknown'
  /** The type as the component names it. */
  type: string
  label: string
  description: string
  placeholder: string
  /** Whether a `required` check applies; the view marks such fields. */
  required: boolean
  options: readonly FieldOption[]
  default: unknown
  /** The value is never shown (R55). */
  secret: boolean
  /** The format of a textarea; null where it has none that this version knows. */
  format: TextFormat | null
}

const KINDS = ['text', 'textarea', 'select', 'checkbox'] as const

export function fieldsOf(form: FormLike): Field[] {
  return form.components.map((component, at) => toField(isObject(component) ? component : {}, at))
}

function toField(component: Record<string, unknown>, at: number): Field {
  const id = toText(component['id']) || `component ${at + 1}`
  const type = cleanLine(toText(component['type']))
  const checks = Array.isArray(component['checks']) ? component['checks'] : []
  return {
    id,
    kind: KINDS.find((kind) => kind === type) ?? 'unknown',
    type,
    label: cleanLine(toText(component['label'])) || cleanLine(id),
    description: cleanText(toText(component['description'])).trim(),
    placeholder: cleanLine(toText(component['placeholder'])),
    required: checks.some((check) => isObject(check) && requires(check['condition'], id)),
    options: toOptions(component['options']),
    default: component['default'],
    secret: type === 'text' && component['secret'] === true,
    format: (type === 'textarea' && TEXT_FORMATS.find((one) => one === component['format'])) || null,
  }
}

/** Whether the condition requires the field: `required` alone or inside `and`. Inside `or` and `not` it does not count. */
function requires(condition: unknown, id: string): boolean {
  if (!isObject(condition)) return false
  const { call, args } = condition
  if (call === 'required') {
    const [binding] = Array.isArray(args) ? args : []
    return isObject(binding) && toText(binding['path']).replace(/^\//, '') === id
  }
  if (call !== 'and' || !isObject(args) || !Array.isArray(args['conditions'])) return false
  return args['conditions'].some((inner) => requires(inner, id))
}

function toOptions(given: unknown): FieldOption[] {
  if (!Array.isArray(given)) return []
  return given.filter(isObject).map((option) => {
    const given = option['value']
    const value = typeof given === 'number' || typeof given === 'boolean' ? String(given) : toText(given)
    return { value, given, label: cleanLine(toText(option['label'])) || cleanLine(value) }
  })
}

/** The value that the field submits now; undefined if it submits none. A chosen option submits the value that it declares. */
export function submittedIn(field: Field, values: Payload): unknown {
  const value = valueIn(field, values)
  return field.kind === 'select' ? declaredValue(field, value) : value
}

/** The value of the option that this one equals as text (R51); the value itself where it equals none. */
export function declaredValue({ options }: Pick<Field, 'options'>, value: unknown): unknown {
  if (typeof value === 'object') return value
  return options.find((option) => option.value === String(value))?.given ?? value
}

/**
 * The value that stands in the field now; undefined if there is none. Of a select it is the text of an option. An empty text
 * field has "". A value outside the options of a select counts as none: it may be left from options that the form no longer has
 * (R35).
 */
export function valueIn(field: Field, values: Payload): unknown {
  const given = Object.hasOwn(values, field.id) ? values[field.id] : undefined
  const isStale = field.kind === 'select' && !field.options.some(({ value }) => value === String(given))
  const standing = (isStale ? undefined : given) ?? field.default
  if (standing !== undefined && standing !== null) return field.kind === 'select' ? String(standing) : standing
  if (field.kind === 'text' || field.kind === 'textarea') return ''
  return field.kind === 'checkbox' ? false : undefined
}

/** The same value as editable text. */
export function textIn(field: Field, values: Payload): string {
  const value = valueIn(field, values)
  if (typeof value === 'string') return value
  return value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Whether the select has so many options that it is shown as a filterable list. */
const INLINE_OPTIONS_MAX = 6

export function isList(field: Field): boolean {
  return field.kind === 'select' && field.options.length > INLINE_OPTIONS_MAX
}

/** The options whose label or value contains the filter, ignoring case; options that begin with it come first. */
export function matchingOptions(field: Field, filter: string): readonly FieldOption[] {
  const wanted = filter.trim().toLowerCase()
  if (wanted === '') return field.options
  const matching = field.options.filter(({ label, value }) => `${label}\n${value}`.toLowerCase().includes(wanted))
  const begins = ({ label }: FieldOption) => label.toLowerCase().startsWith(wanted)
  return [...matching.filter(begins), ...matching.filter((option) => !begins(option))]
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
