/** Applies a key to one field: typing, ticking, choosing. Pure; called by {@link file://./form-state.ts}. */
import type { Payload } from '../../core/protocol/form.ts'
import { type Field, isList, matchingOptions, textIn, valueIn } from '../../core/view/fields.ts'
import type { FormKey } from './form-keys.ts'
import { besideLine, type Edited, edit, insert, isEdit, typed } from './text-edit.ts'

export interface Hold {
  values: Payload
  cursor: number
  filter: string
}

export interface Touched extends Hold {
  /** Whether the value is committed at once: true for a tick or a choice, false for a typed letter. */
  commits: boolean
}

/** undefined if the key has no meaning in this field. */
export function pressInField(field: Field, hold: Hold, key: FormKey): Touched | undefined {
  if (field.kind === 'checkbox') {
    if (key.type !== 'text' || !key.text.startsWith(' ')) return undefined
    return { ...withValue(hold, field, valueIn(field, hold.values) !== true), commits: true }
  }
  if (field.kind === 'select') return isList(field) ? inList(field, hold, key) : inOptions(field, hold, key)
  return field.kind === 'unknown' ? undefined : inText(field, hold, key)
}

function inText(field: Field, hold: Hold, key: FormKey): Touched | undefined {
  const text = textIn(field, hold.values)
  const edited = editedText(text, hold.cursor, key, field.kind === 'textarea')
  if (edited === undefined) return undefined
  const moved = { ...hold, cursor: edited.cursor }
  return { ...(edited.text === text ? moved : withValue(moved, field, edited.text)), commits: false }
}

function editedText(text: string, cursor: number, key: FormKey, manyLines: boolean): Edited | undefined {
  if (key.type === 'text') return insert(text, cursor, typed(key.text, manyLines))
  if (manyLines && key.type === 'new-line') return insert(text, cursor, '\n')
  if (manyLines && (key.type === 'up' || key.type === 'down')) {
    const beside = besideLine(text, cursor, key.type === 'up' ? -1 : 1)
    return beside === undefined ? undefined : { text, cursor: beside }
  }
  // Ctrl-E moves to the end of the line in fields that have no editor.
  if (key.type === 'editor') return manyLines ? undefined : edit(text, cursor, 'end')
  return isEdit(key.type) ? edit(text, cursor, key.type) : undefined
}

function inOptions(field: Field, hold: Hold, key: FormKey): Touched | undefined {
  if (key.type === 'backspace' || key.type === 'delete') return { ...withValue(hold, field, undefined), commits: true }
  const by = key.type === 'left' ? -1 : key.type === 'right' || (key.type === 'text' && key.text === ' ') ? 1 : 0
  return by === 0 ? undefined : { ...choose(field, hold, by), commits: true }
}

/** The option shown as chosen is submitted. Typing chooses the first match. */
function inList(field: Field, hold: Hold, key: FormKey): Touched | undefined {
  if (key.type === 'up' || key.type === 'down') {
    return { ...choose(field, hold, key.type === 'up' ? -1 : 1), commits: false }
  }
  if (key.type === 'backspace' && hold.filter === '') return { ...withValue(hold, field, undefined), commits: false }
  const filtered = filteredBy(hold, key)
  if (filtered === undefined) return undefined
  const matching = matchingOptions(field, filtered.filter)
  const standing = valueIn(field, hold.values)
  const [first] = matching
  const stays = first === undefined || filtered.filter === '' || matching.some(({ value }) => value === standing)
  return { ...(stays ? filtered : withValue(filtered, field, first.value)), commits: false }
}

function filteredBy(hold: Hold, key: FormKey): Hold | undefined {
  if (key.type === 'text') return { ...hold, filter: hold.filter + typed(key.text, false) }
  if (key.type === 'cut-line') return { ...hold, filter: '' }
  if (key.type !== 'backspace' && key.type !== 'cut-word') return undefined
  return { ...hold, filter: edit(hold.filter, hold.filter.length, key.type).text }
}

function choose(field: Field, hold: Hold, by: -1 | 1): Hold {
  const options = matchingOptions(field, hold.filter)
  if (options.length === 0) return hold
  const at = options.findIndex(({ value }) => value === valueIn(field, hold.values))
  const first = by === 1 ? 0 : options.length - 1
  const next = at === -1 ? first : (at + by + options.length) % options.length
  return withValue(hold, field, options[next]?.value)
}

function withValue(hold: Hold, field: Field, value: unknown): Hold {
  return { ...hold, values: { ...hold.values, [field.id]: value } }
}
