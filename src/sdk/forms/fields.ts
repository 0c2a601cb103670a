/** Declares a form's fields with the types of their values, and turns them into the spec's form. For authors. */
import type { Check, Component, Form, Payload, SelectOption, TextFormat } from '../../core/protocol/form.ts'
import { type FieldCheck, required, toCheck } from './checks.ts'

/** One field. `T` is the type of its value in a submitted form. */
export interface Field<T> {
  toComponent(id: string): Component
  /** The value used where none was submitted. */
  readonly whenMissing: T
}

/** Fields by id. An undefined field is left out: `inscription: filled.plaque ? text({…}) : undefined`. */
export type Fields = Readonly<Record<string, Field<unknown> | undefined>>

/** The type of a submitted form with these fields. A field that is not always present (progressive disclosure) may be undefined. */
export type ValuesOf<F> = F extends unknown
  ? {
      -readonly [K in keyof F]: Exclude<F[K], undefined> extends Field<infer T>
        ? undefined extends F[K]
          ? T | undefined
          : T
        : undefined
    }
  : never

interface Common {
  label?: string
  description?: string
  checks?: readonly FieldCheck[]
}

export interface TextSpec extends Common {
  placeholder?: string
  /** Adds a check that the field is filled in, and makes its type `string` instead of `string | undefined`. */
  required?: boolean
}

export interface LongTextSpec extends TextSpec {
  /** The host checks a text that is filled in: `feature-spec` is a spec in six sections (docs/feature-spec.md). */
  format?: TextFormat
}

export interface SecretTextSpec extends TextSpec {
  /** The value is asked without echo, and is never shown, stored in clear or journaled: only the resolver gets it. */
  secret?: boolean
}

export type Option = string | number | boolean | SelectOption

export interface SelectSpec<O extends readonly Option[]> extends Common {
  /** Values, or `{value, label}` where the label differs. */
  options: O
  default?: OptionValue<O>
  required?: boolean
}

export type OptionValue<O extends readonly Option[]> = O[number] extends infer One
  ? One extends { value: infer V }
    ? V
    : One
  : never

export interface CheckboxSpec extends Common {
  default?: boolean
}

type Given<S, T> = S extends { required: true } | { default: string | number | boolean } ? T : T | undefined

export function text<const S extends SecretTextSpec>(spec: S): Field<Given<S, string>> {
  return textual('text', spec) as Field<Given<S, string>>
}

export function textarea<const S extends LongTextSpec>(spec: S): Field<Given<S, string>> {
  return textual('textarea', spec) as Field<Given<S, string>>
}

/** One of the options; its type is the union of their values. */
export function select<const O extends readonly Option[], const S extends SelectSpec<O>>(
  spec: S & { options: O },
): Field<Given<S, OptionValue<O>>> {
  const options = spec.options.map((option) =>
    typeof option === 'object' ? option : { value: option, label: String(option) },
  )
  const field: Field<unknown> = {
    whenMissing: spec.default,
    toComponent: (id) => ({
      type: 'select',
      ...common(id, spec, spec.required),
      options,
      ...(spec.default === undefined ? {} : { default: spec.default as SelectOption['value'] }),
    }),
  }
  return field as Field<Given<S, OptionValue<O>>>
}

export function checkbox(spec: CheckboxSpec): Field<boolean> {
  return {
    whenMissing: spec.default ?? false,
    toComponent: (id) => ({
      type: 'checkbox',
      ...common(id, spec, false),
      ...(spec.default === undefined ? {} : { default: spec.default }),
    }),
  }
}

/** The spec's form of these fields, in their order. */
export function form(fields: Fields): Form {
  return { type: 'form', components: Object.entries(fields).flatMap(([id, field]) => field?.toComponent(id) ?? []) }
}

/** A payload with the defaults of missing values; keys that no field declares are kept (R36). */
export function valuesOf<F extends Fields>(fields: F, payload: Payload): ValuesOf<F> {
  const values: Payload = { ...payload }
  for (const [id, field] of Object.entries(fields)) {
    if (!Object.hasOwn(payload, id) || payload[id] === null) values[id] = field?.whenMissing
  }
  return values as ValuesOf<F>
}

function textual(type: 'text' | 'textarea', spec: SecretTextSpec & LongTextSpec): Field<string | undefined> {
  return {
    whenMissing: undefined,
    toComponent: (id) => ({
      type,
      ...common(id, spec, spec.required),
      ...(spec.placeholder === undefined ? {} : { placeholder: spec.placeholder }),
      ...(spec.secret === true ? { secret: true } : {}),
      ...(spec.format === undefined ? {} : { format: spec.format }),
    }),
  }
}

function common(id: string, spec: Common, isRequired: boolean | undefined) {
  const own: FieldCheck[] = isRequired ? [{ condition: required(), message: `${spec.label ?? id} is required` }] : []
  const checks: Check[] = [...own, ...(spec.checks ?? [])].map((check) => toCheck(check, `/${id}`))
  return {
    id,
    ...(spec.label === undefined ? {} : { label: spec.label }),
    ...(spec.description === undefined ? {} : { description: spec.description }),
    ...(checks.length === 0 ? {} : { checks }),
  }
}
