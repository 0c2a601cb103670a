/** Labels of an instance: short pairs of key and value that people and scripts give it, to find it again. Bounded in count and length. */
import { anyObject, nullable, type Schema, text } from './schema.ts'

export type Labels = Record<string, string>

/** What is changed: a value sets the label, null removes it. */
export type LabelChanges = Record<string, string | null>

export const LABELS_MAX = 32
export const LABEL_KEY_PATTERN = '^[A-Za-z0-9][A-Za-z0-9_./-]{0,62}$'
/** No control characters: labels are printed in tables. */
export const LABEL_VALUE_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]{0,200}$'

const value = text({ maxLength: 200, pattern: LABEL_VALUE_PATTERN })

const KEYS = { maxProperties: LABELS_MAX, propertyNames: { pattern: LABEL_KEY_PATTERN } }

export const labels: Schema<Labels> = anyObject<string>({ ...KEYS, additionalProperties: value })

export const labelChanges: Schema<LabelChanges> = anyObject<string | null>({
  ...KEYS,
  additionalProperties: nullable(value),
  description: 'null removes a label',
})

/** The labels after the changes. */
export function withLabels(before: Readonly<Labels>, changes: Readonly<LabelChanges>): Labels {
  const after = { ...before, ...changes }
  return Object.fromEntries(Object.entries(after).filter((entry): entry is [string, string] => entry[1] !== null))
}
