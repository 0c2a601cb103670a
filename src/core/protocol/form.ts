/** The form dialect (spec, A2UI v0.9 schema; R29–R36): what a resolver declares and a consumer fills in. */

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
}

export interface SelectOption {
  value: string
  label: string
}

export interface SelectComponent extends ComponentBase {
  type: 'select'
  options: SelectOption[]
  default?: string
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

/** What a consumer submits, keyed by component id. */
export type Payload = Record<string, unknown>

/** A form together with the check of an input: every failing message in order, and which field each belongs to. */
export interface FormCheck {
  form: Form | null
  errors: string[]
  fields: { id: string; message: string }[]
}
