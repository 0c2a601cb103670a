/**
 * The pure reducer of an open form: values, focus, messages, fields that appear and disappear, stale replies.
 * {@link file://./form-session.ts} asks the resolver and submits; {@link file://./form-picture.ts} lays it out.
 */
import type { FailingComponent } from '../../core/forms/validate.ts'
import type { Form, Payload } from '../../core/protocol/form.ts'
import { type Field, fieldsOf, submittedIn, textIn } from '../../core/view/fields.ts'
import { pressInField } from './field-keys.ts'
import type { FormKey } from './form-keys.ts'
import { typed } from './text-edit.ts'

export interface FormState {
  form: Form
  fields: readonly Field[]
  /** All values ever given, by field id. Values of fields that have disappeared are kept but not submitted. */
  values: Payload
  /** The ids of all fields so far. A key of `values` that was never a field is extra input and is submitted (R36). */
  declared: ReadonlySet<string>
  /** The id of the focused field; null for the submit row. */
  focus: string | null
  /** The cursor in the text of the focused field. */
  cursor: number
  /** The filter typed in the focused list. */
  filter: string
  /** The messages shown, by field id. */
  errors: ReadonlyMap<string, readonly string[]>
  /** Whether a submission has failed: then the number of failing checks is shown. */
  refused: boolean
  /** A sentence shown with the fields. */
  notice: string | null
  /** Whether the form depends on the input, so that the resolver is asked for it again. */
  discloses: boolean
  /** The number of the latest inquiry for the form; a reply to an earlier one is stale. */
  inquiry: number
  /** Whether the latest inquiry has no reply yet. */
  waiting: boolean
  /** The input of the latest inquiry, as JSON. */
  askedWith: string
  /** How many times in a row a new form changed the input and so caused another inquiry. */
  rounds: number
  /** checking: one more inquiry before the submission. sending: the payload is being submitted. */
  phase: 'editing' | 'checking' | 'sending' | 'dismissed'
}

export type FormAction =
  | { type: 'key'; key: FormKey }
  /** The text of a field from an editor. */
  | { type: 'written'; field: string; text: string }
  | { type: 'form'; inquiry: number; form: Form }
  | { type: 'form-failed'; inquiry: number; sentence: string }
  /** The submission was refused; messages of failing checks. */
  | { type: 'refused'; messages: readonly string[] }
  | { type: 'notice'; sentence: string }

/** Returns the failing checks of a payload: `failingChecks` of the core with its bounded matcher. */
export type Checker = (form: Form, payload: Payload) => readonly FailingComponent[]

/** The maximum number of inquiries in a row, for a resolver whose form keeps changing. */
const ROUNDS_MAX = 3

export function beginForm(form: Form, before: Payload, discloses: boolean, check: Checker): FormState {
  const fields = fieldsOf(form)
  const declared = new Set(fields.map((field) => field.id))
  const blank: FormState = {
    form,
    fields,
    values: { ...before },
    declared,
    focus: null,
    cursor: 0,
    filter: '',
    errors: new Map(),
    refused: false,
    notice: null,
    discloses,
    inquiry: 0,
    waiting: false,
    askedWith: JSON.stringify(before),
    rounds: 0,
    phase: 'editing',
  }
  const given = fields.filter((field) => Object.hasOwn(before, field.id)).map((field) => field.id)
  // Given values that fail are reported immediately; missing values when the user leaves the field or submits.
  return askAgain(recheck(focusOn(blank, stops(blank)[0] ?? null), given, check))
}

/** The payload to submit: all visible fields, and the extra keys that were given. */
export function payloadOf({ fields, values, declared }: FormState): Payload {
  const payload: Payload = {}
  const put = (key: string, value: unknown) =>
    Object.defineProperty(payload, key, { value, writable: true, enumerable: true, configurable: true })
  for (const [key, value] of Object.entries(values)) if (!declared.has(key)) put(key, value)
  for (const field of fields) {
    const value = submittedIn(field, values)
    if (value !== undefined) put(field.id, value)
  }
  return payload
}

export function fieldWith(state: FormState, id: string | null): Field | undefined {
  return id === null ? undefined : state.fields.find((field) => field.id === id)
}

/** The number of failing messages that are shown. */
export function failingCount({ errors }: FormState): number {
  let count = 0
  for (const messages of errors.values()) count += messages.length
  return count
}

export function formReducer(check: Checker): (state: FormState, action: FormAction) => FormState {
  return (state, action) => {
    switch (action.type) {
      case 'key':
        return pressed(state, action.key, check)
      case 'written': {
        const field = fieldWith(state, action.field)
        if (field === undefined) return state
        const text = typed(action.text, field.kind === 'textarea')
        const cursor = state.focus === field.id ? text.length : state.cursor
        // A text from an editor is complete: its failing checks are shown before the user leaves the field.
        return recheck({ ...state, values: { ...state.values, [field.id]: text }, cursor }, [field.id], check)
      }
      case 'form':
        return action.inquiry === state.inquiry ? adopt(state, action.form, check) : state
      case 'form-failed':
        if (action.inquiry !== state.inquiry) return state
        return { ...state, waiting: false, phase: 'editing', notice: action.sentence }
      case 'refused':
        return { ...state, phase: 'editing', notice: action.messages.join('\n') }
      case 'notice':
        return { ...state, notice: action.sentence }
    }
  }
}

function pressed(state: FormState, key: FormKey, check: Checker): FormState {
  if (state.phase === 'sending' || state.phase === 'dismissed') return state
  if (state.phase === 'checking') {
    // Cancels the submission; the reply to its inquiry is stale.
    if (key.type !== 'escape') return state
    return { ...state, phase: 'editing', waiting: false, inquiry: state.inquiry + 1, askedWith: '' }
  }
  const calm = state.notice === null ? state : { ...state, notice: null }
  const field = fieldWith(calm, calm.focus)
  switch (key.type) {
    case 'escape':
      return calm.filter === '' ? { ...calm, phase: 'dismissed' } : { ...calm, filter: '' }
    case 'next':
      return move(calm, 1, check)
    case 'previous':
      return move(calm, -1, check)
    case 'enter': {
      const last = stops(calm)
        .filter((stop) => stop !== null)
        .at(-1)
      return calm.focus === null || calm.focus === last ? submit(calm, check) : move(calm, 1, check)
    }
    default: {
      const touched = field === undefined ? undefined : pressInField(field, calm, key)
      if (touched !== undefined) {
        const { commits, ...hold } = touched
        return commits ? askAgain({ ...calm, ...hold }) : { ...calm, ...hold }
      }
      return key.type === 'up' || key.type === 'down' ? move(calm, key.type === 'up' ? -1 : 1, check) : calm
    }
  }
}

/** The focusable places in order: every field that accepts keys, then the submit row. */
function stops({ fields }: Pick<FormState, 'fields'>): (string | null)[] {
  return [...fields.filter((field) => field.kind !== 'unknown').map((field) => field.id), null]
}

function move(state: FormState, by: -1 | 1, check: Checker): FormState {
  const order = stops(state)
  const at = order.indexOf(state.focus)
  const left = leave(state, check)
  return focusOn(left, order[(at + by + order.length) % order.length] ?? null)
}

function focusOn(state: FormState, id: string | null): FormState {
  const field = fieldWith(state, id)
  const cursor = field === undefined ? 0 : textIn(field, state.values).length
  return { ...state, focus: field === undefined ? null : id, cursor, filter: '' }
}

/** Leaving a field shows its failing messages and commits its value. */
function leave(state: FormState, check: Checker): FormState {
  if (state.focus === null) return state
  return askAgain(recheck(state, [state.focus], check))
}

/** Updates the messages of these fields, and of all fields that already show messages. */
function recheck(state: FormState, ids: readonly string[], check: Checker): FormState {
  const shown = new Set([...ids, ...state.errors.keys()])
  if (shown.size === 0) return state
  const failing = check(state.form, payloadOf(state)).filter(({ component }) => shown.has(component))
  const errors = new Map(failing.map(({ component, messages }) => [component, messages]))
  return { ...state, errors, refused: state.refused && errors.size > 0 }
}

/** Starts an inquiry if the form depends on the input and the input has changed since the last one. */
function askAgain(state: FormState): FormState {
  if (!state.discloses || inputOf(state) === state.askedWith) return state
  return asked({ ...state, rounds: 0 })
}

function asked(state: FormState): FormState {
  return { ...state, inquiry: state.inquiry + 1, waiting: true, askedWith: inputOf(state) }
}

function inputOf(state: FormState): string {
  return JSON.stringify(payloadOf(state))
}

function submit(state: FormState, check: Checker): FormState {
  const unshown = state.fields.filter((field) => field.kind === 'unknown').length
  if (unshown > 0) {
    const fields = unshown === 1 ? 'A field' : `${unshown} fields`
    return { ...state, notice: `${fields} of this form cannot be shown, so the form cannot be submitted here.` }
  }
  const isCurrent = !state.waiting && inputOf(state) === state.askedWith
  if (!state.discloses || (isCurrent && check(state.form, payloadOf(state)).length > 0)) return conclude(state, check)
  return asked({ ...state, rounds: 0, phase: 'checking' })
}

/** Shows all failing messages and focuses the first failing field; if none fails, submits. */
function conclude(state: FormState, check: Checker): FormState {
  const failing = check(state.form, payloadOf(state))
  const [first] = failing
  if (first === undefined) return { ...state, errors: new Map(), refused: false, phase: 'sending', filter: '' }
  const errors = new Map(failing.map(({ component, messages }) => [component, messages]))
  return focusOn({ ...state, errors, refused: true, phase: 'editing' }, first.component)
}

/** Adopts the form from the resolver's reply; the focus stays on its field if that still exists. */
function adopt(state: FormState, form: Form, check: Checker): FormState {
  const fields = fieldsOf(form)
  const ids = new Set(fields.map((field) => field.id))
  const known = new Set(state.fields.map((field) => field.id))
  const next: FormState = {
    ...state,
    form,
    fields,
    declared: new Set([...state.declared, ...ids]),
    errors: new Map([...state.errors].filter(([id]) => ids.has(id))),
    waiting: false,
    ...placeOfFocus(state, fields),
  }
  const fresh = fields.filter((field) => !known.has(field.id))
  if (state.phase === 'checking' && fresh.length > 0) {
    const notice = `The form has ${fresh.length === 1 ? 'a new field' : `${fresh.length} new fields`}. Nothing was submitted yet.`
    const [first] = fresh.filter((field) => field.kind !== 'unknown')
    return askOn(focusOn({ ...next, phase: 'editing', notice }, first?.id ?? null))
  }
  const settled = askOn(next)
  return settled.waiting || state.phase !== 'checking' ? settled : conclude(settled, check)
}

/** New or removed fields can change the input, and so the form, again. */
function askOn(state: FormState): FormState {
  if (state.rounds >= ROUNDS_MAX || inputOf(state) === state.askedWith) return state
  return asked({ ...state, rounds: state.rounds + 1 })
}

function placeOfFocus(state: FormState, fields: readonly Field[]): Partial<FormState> {
  const before = fieldWith(state, state.focus)
  if (before === undefined) return {}
  const now = fields.find((field) => field.id === before.id)
  if (now?.kind === before.kind) {
    return { cursor: Math.min(state.cursor, textIn(now, state.values).length) }
  }
  const after = state.fields.slice(state.fields.indexOf(before)).map((field) => field.id)
  const next = fields.find((field) => after.includes(field.id) && field.kind !== 'unknown')
  const { focus, cursor, filter } = focusOn({ ...state, fields }, next?.id ?? null)
  return { focus, cursor, filter }
}
