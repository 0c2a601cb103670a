/**
 * A form as its view needs it: every text cleaned, every component shown in some way. A type this program does not know, which a
 * newer host may let through, is a field of kind `unknown`: it is shown, and it blocks the submission.
 */
import { isObject } from '../primitives/is-object.ts'
import type { Payload } from '../protocol/form.ts'
import { cleanLine, cleanText } from './clean.ts'

/** What a form may be here: components of any type, and anything in place of what is optional. */
export interface FormLike {
  components: readonly unknown[]
}

export interface FieldOption {
  /** As it is submitted. */
  value: string
  /** As it is shown. */
  label: string
}

export interface Field {
  id: string
  kind: 'text' | 'textarea' | 'select' | 'checkbox' | 'unknown'
  /** The component's own word for its type. */
  type: string
  label: string
  description: string
  placeholder: string
  /** Whether a `required` check must hold: its marker is shown. */
  required: boolean
  options: readonly FieldOption[]
  default: unknown
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
  }
}

/** `required` on the field itself, alone or as one of an `and`; inside `or` and `not` it demands nothing by itself. */
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
    const value = toText(option['value'])
    return { value, label: cleanLine(toText(option['label'])) || cleanLine(value) }
  })
}

/** What the field submits as it stands; undefined where it submits nothing. A text nobody wrote is "". */
export function valueIn(field: Field, values: Payload): unknown {
  const given = Object.hasOwn(values, field.id) ? values[field.id] : undefined
  const standing = given ?? field.default
  if (standing !== undefined && standing !== null) return standing
  if (field.kind === 'text' || field.kind === 'textarea') return ''
  return field.kind === 'checkbox' ? false : undefined
}

/** The same as a text to be edited. */
export function textIn(field: Field, values: Payload): string {
  const value = valueIn(field, values)
  if (typeof value === 'string') return value
  return value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** A select with more options than these is a list that typing filters. */
const INLINE_OPTIONS_MAX = 6

export function isList(field: Field): boolean {
  return field.kind === 'select' && field.options.length > INLINE_OPTIONS_MAX
}

/** The options whose label or value holds what was typed, whatever its case; those that begin with it come first. */
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
