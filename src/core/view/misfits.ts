/**
 * What the doors for people refuse in a payload even where the form's checks hold (R35): a field that the form does not have, a
 * value outside the options of a select, a checkbox that is neither true nor false. Every message names the nearest that exists.
 */
import { nearest } from '../primitives/nearest.ts'
import type { Payload } from '../protocol/form.ts'
import { cleanLine } from './clean.ts'
import { type Field, type FieldOption, type FormLike, fieldsOf } from './fields.ts'

export interface Misfit {
  id: string
  message: string
}

const OPTIONS_NAMED = 20

/** Everything that does not fit, of an answer or a message: each key is a field. */
export function misfitsOf(form: FormLike, payload: Payload): Misfit[] {
  return [
    ...unknownFields(form, Object.keys(payload)),
    ...outsideOptions(form, payload),
    ...unclearCheckboxes(form, payload),
  ]
}

/** What an input may hold and a person probably did not mean: it goes to the resolver as it is (R36). */
export function oddities(form: FormLike, payload: Payload): Misfit[] {
  return [...unknownFields(form, Object.keys(payload)), ...unclearCheckboxes(form, payload)]
}

export function unknownFields(form: FormLike, keys: readonly string[]): Misfit[] {
  const known = fieldsOf(form).map(({ id }) => id)
  return keys
    .filter((key) => !known.includes(key))
    .map((id) => {
      const near = nearestWord(id, known)
      return { id, message: `There is no field "${id}"${near === undefined ? '.' : `; did you mean "${near}"?`}` }
    })
}

/** Keys that are no fields but nearly one that is not given: misspelt, and not an extra key that is meant (R36). */
export function misspeltFields(form: FormLike, payload: Payload): Misfit[] {
  const missing = fieldsOf(form).filter(({ id }) => !Object.hasOwn(payload, id))
  const ids = missing.map(({ id }) => id)
  return unknownFields(
    form,
    Object.keys(payload).filter((key) => nearestWord(key, ids) !== undefined),
  )
}

/** An empty value of a select means that nothing is chosen; the form's own checks decide about it. */
export function outsideOptions(form: FormLike, payload: Payload): Misfit[] {
  return fieldsOf(form).flatMap((field) => {
    const value = Object.hasOwn(payload, field.id) ? payload[field.id] : undefined
    if (field.kind !== 'select' || value === undefined || value === null || value === '') return []
    return isOption(field, value) ? [] : [{ id: field.id, message: outsideText(field, value) }]
  })
}

function unclearCheckboxes(form: FormLike, payload: Payload): Misfit[] {
  return fieldsOf(form).flatMap(({ id, kind }) => {
    const value = Object.hasOwn(payload, id) ? payload[id] : undefined
    if (kind !== 'checkbox' || value === undefined || value === null || typeof value === 'boolean') return []
    return [{ id, message: `"${id}" is a checkbox: use true or false, not ${shown(value)}.` }]
  })
}

/** Options are compared as text. */
function isOption({ options }: Pick<Field, 'options'>, value: unknown): boolean {
  return !Array.isArray(value) && options.some((option) => option.value === String(value))
}

/** The candidate that was probably meant, also in other letters' case. */
export function nearestWord(word: string, candidates: readonly string[]): string | undefined {
  const wanted = word.toLowerCase()
  const sameLetters = candidates.find((candidate) => candidate.toLowerCase() === wanted)
  if (sameLetters !== undefined) return sameLetters
  const near = nearest(
    wanted,
    candidates.map((candidate) => candidate.toLowerCase()),
  )
  return candidates.find((candidate) => candidate.toLowerCase() === near)
}

function outsideText({ id, options }: Field, value: unknown): string {
  const near = typeof value === 'string' ? nearestOption(value, options) : undefined
  const meant = near === undefined ? '.' : `; did you mean "${cleanLine(near)}"?`
  const named = options.slice(0, OPTIONS_NAMED).map((option) => cleanLine(option.value))
  const more = options.length > named.length ? `, and ${options.length - named.length} more` : ''
  const list = named.length === 0 ? 'It has no options.' : `The options are: ${named.join(', ')}${more}.`
  return `${shown(value)} is not an option of "${id}"${meant} ${list}`
}

/** A person may have typed the text that a form shows for the value. */
function nearestOption(word: string, options: readonly FieldOption[]): string | undefined {
  const values = options.map(({ value }) => value)
  const byValue = nearestWord(word, values)
  if (byValue !== undefined) return byValue
  const label = nearestWord(
    word,
    options.map((option) => option.label),
  )
  return options.find((option) => option.label === label)?.value
}

const SHOWN_MAX_CHARS = 60

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return `"${cleanLine(text.length > SHOWN_MAX_CHARS ? `${text.slice(0, SHOWN_MAX_CHARS)}…` : text)}"`
}
