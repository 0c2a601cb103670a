/** The form dialect (spec, A2UI v0.9 schema; R29–R36): what a resolver declares and a consumer fills in. */
import { FORM_MAX_COMPONENTS } from '../limits.ts'
import {
  anyObject,
  constant,
  listOf,
  named,
  nullable,
  object,
  type Schema,
  type Static,
  text,
} from '../schema/schema.ts'

export interface Binding {
  path: string
}

export type FunctionCall =
  | { call: 'required' | 'email'; args: [Binding] }
  | { call: 'regex'; args: { value: Binding; pattern: string } }
  | { call: 'length' | 'numeric'; args: { value: Binding; min?: number; max?: number } }
  | { call: 'and' | 'or'; args: { conditions: DynamicBoolean[] } }
  | { call: 'not'; args: { condition: DynamicBoolean } }

export type DynamicBoolean = boolean | Binding | FunctionCall

export interface Check {
  condition: DynamicBoolean
  message: string
}

interface ComponentBase {
  id: string
  label?: string
  description?: string
  checks?: Check[]
}

export interface TextComponent extends ComponentBase {
  type: 'text' | 'textarea'
  placeholder?: string
  /** R55, `text` only: the value is never shown, stored in clear or journaled. */
  secret?: boolean
  /** `textarea` only: the host checks that a text that is filled in has this format (docs/forms.md, Formats). */
  format?: TextFormat
}

export const TEXT_FORMATS = ['feature-spec'] as const

export type TextFormat = (typeof TEXT_FORMATS)[number]

/** Options are compared as text: two of them differ where their texts do (R51). */
export type OptionValue = string | number | boolean

export interface SelectOption {
  value: OptionValue
  label: string
}

export interface SelectComponent extends ComponentBase {
  type: 'select'
  options: SelectOption[]
  default?: OptionValue
}

export interface CheckboxComponent extends ComponentBase {
  type: 'checkbox'
  default?: boolean
}

export type Component = TextComponent | SelectComponent | CheckboxComponent

export interface Form {
  type: 'form'
  components: Component[]
}

/** The unvalidated form on the wire: `core/forms` decides on the host what is well formed. */
export const form = named(
  'Form',
  object({
    type: constant('form'),
    components: listOf(object({ id: text(), type: text() }), { maxItems: FORM_MAX_COMPONENTS }),
  }),
  'A form in the dialect of docs/forms.md',
) as Schema<Form>

/** What a consumer submits, keyed by component id. */
export type Payload = Static<typeof payload>

export const payload = named('Payload', anyObject(), 'What a person filled in, by the id of the component')

/** A form together with the check of an input: every failing message in order, and which field each belongs to. */
export type FormCheck = Static<typeof formCheck>

export const formCheck = named(
  'FormCheck',
  object({
    form: nullable(form),
    errors: listOf(text()),
    fields: listOf(object({ id: text(), message: text() })),
  }),
  'The form for an input, and what it says of it',
)
