/** The lines of one field: label, description, value, failing messages. Pure; combined by {@link file://./form-picture.ts}. */
import { cleanLine, cleanText } from '../../core/view/clean.ts'
import { type Field, isList, matchingOptions, textIn, valueIn } from '../../core/view/fields.ts'
import { cut } from '../output/width.ts'
import type { FormState } from './form-state.ts'
import { flow, rowsAround, shown, windowAround, wrapWords } from './text-shape.ts'

export interface Span {
  text: string
  color?: 'cyan' | 'red' | 'yellow'
  dim?: boolean
  bold?: boolean
}

/** A line of the frame; `cursor` is the column of the cursor, if it is in this line. */
export interface Line {
  spans: readonly Span[]
  cursor?: number
}

const TEXTAREA_ROWS = 6
const LIST_ROWS = 6
const MARGIN = 4
/** Stands for a secret value: it does not show its length either. */
const HIDDEN = '••••••••'

export function fieldLines(state: FormState, field: Field, isFocused: boolean, columns: number): Line[] {
  const room = Math.max(8, columns - MARGIN)
  const hint = wrapWords(field.description, room)
    .filter((text) => text !== '')
    .map((text) => ({ spans: [{ text: `    ${text}`, dim: true }] }))
  const failing = (state.errors.get(field.id) ?? []).flatMap((message) => failingLines(cleanText(message), room))
  const value =
    field.kind === 'checkbox' ? [] : valueLines(state, field, isFocused, room).map((line) => gutter(line, isFocused))
  return [labelLine(state, field, isFocused, columns), ...hint, ...value, ...failing]
}

function labelLine({ values }: FormState, field: Field, isFocused: boolean, columns: number): Line {
  const isBox = field.kind === 'checkbox'
  const box = isBox ? (valueIn(field, values) === true ? '[x] ' : '[ ] ') : ''
  const taken = 2 + box.length + (field.required ? 2 : 0)
  const spans: Span[] = [
    { text: isFocused ? '› ' : '  ', color: 'cyan' },
    { text: box + cut(field.label, Math.max(1, columns - taken)), bold: isFocused },
  ]
  if (field.required) spans.push({ text: ' *', color: 'yellow' })
  return { spans, ...(isBox && isFocused ? { cursor: 3 } : {}) }
}

function failingLines(message: string, room: number): Line[] {
  return wrapWords(message, room - 2).map((text, at) => ({
    spans: [{ text: `    ${at === 0 ? '✗' : ' '} ${text}`, color: 'red' }],
  }))
}

/** Adds the vertical rail that marks values. */
function gutter(line: Line, isFocused: boolean): Line {
  const rail: Span = isFocused ? { text: '  │ ', color: 'cyan' } : { text: '  │ ', dim: true }
  return {
    spans: [rail, ...line.spans],
    ...(line.cursor === undefined ? {} : { cursor: line.cursor + MARGIN }),
  }
}

function valueLines(state: FormState, field: Field, isFocused: boolean, room: number): Line[] {
  switch (field.kind) {
    case 'text':
      return textLines(state, field, isFocused, room)
    case 'textarea':
      return textareaLines(state, field, isFocused, room)
    case 'select':
      return isList(field) ? listLines(state, field, isFocused, room) : optionLines(state, field, isFocused, room)
    default:
      return wrapWords(`cannot be shown (unknown type "${field.type}")`, room).map((text) => ({
        spans: [{ text, color: 'yellow' }],
      }))
  }
}

function textLines({ values, cursor }: FormState, field: Field, isFocused: boolean, room: number): Line[] {
  const value = textIn(field, values)
  if (value === '') return [emptyLine(field.placeholder, isFocused, room)]
  if (field.secret) return [{ spans: [{ text: HIDDEN }], ...(isFocused ? { cursor: HIDDEN.length } : {}) }]
  if (!isFocused) return [{ spans: [{ text: cut(cleanLine(value), room) }] }]
  const { text, x } = windowAround(value, cursor, room)
  return [{ spans: [{ text }], cursor: x }]
}

function textareaLines({ values, cursor }: FormState, field: Field, isFocused: boolean, room: number): Line[] {
  const value = textIn(field, values)
  if (value === '') return [emptyLine(field.placeholder, isFocused, room)]
  const { rows, x, y } = rowsAround(value, isFocused ? cursor : 0, room)
  const from = Math.max(0, Math.min(y - TEXTAREA_ROWS + 1, rows.length - TEXTAREA_ROWS))
  const lines: Line[] = rows.slice(from, from + TEXTAREA_ROWS).map((text, at) => ({
    spans: [{ text }],
    ...(isFocused && from + at === y ? { cursor: x } : {}),
  }))
  const hidden = rows.length - lines.length
  return hidden === 0 ? lines : [...lines, { spans: [{ text: `… ${rows.length} lines`, dim: true }] }]
}

function emptyLine(placeholder: string, isFocused: boolean, room: number): Line {
  return {
    spans: [{ text: placeholder === '' ? '' : cut(`(${placeholder})`, room), dim: true }],
    ...(isFocused ? { cursor: 0 } : {}),
  }
}

/** All options; the chosen one is marked by its shape. */
function optionLines({ values }: FormState, field: Field, isFocused: boolean, room: number): Line[] {
  const chosen = valueIn(field, values)
  const mark = (value: string) => (value === chosen ? '(•)' : '( )')
  const items = field.options.map(({ value, label }) => cut(`${mark(value)} ${label}`, room))
  if (typeof chosen === 'string' && !field.options.some(({ value }) => value === chosen)) {
    items.push(cut(`(•) ${cleanLine(chosen)}`, room))
  }
  const lines: Line[] = flow(items, room, '  ').map((text) => ({ spans: [{ text }] }))
  if (!isFocused) return lines
  const at = lines.findIndex(({ spans }) => spans[0]?.text.includes('(•)'))
  const row = Math.max(0, at)
  return lines.map((line, index) =>
    index === row ? { ...line, cursor: Math.max(0, line.spans[0]?.text.indexOf('(•)') ?? 0) + 1 } : line,
  )
}

/** The typed filter, then the matching options. */
function listLines({ values, filter }: FormState, field: Field, isFocused: boolean, room: number): Line[] {
  const chosen = valueIn(field, values)
  const label = field.options.find(({ value }) => value === chosen)?.label ?? textIn(field, values)
  if (!isFocused) return [{ spans: [{ text: cut(cleanLine(label), room) }] }]
  const typed: Line =
    filter === ''
      ? { ...emptyLine('type to filter', true, room) }
      : (({ text, x }) => ({ spans: [{ text }], cursor: x }))(windowAround(filter, filter.length, room))
  const matching = matchingOptions(field, filter)
  if (matching.length === 0)
    return [typed, { spans: [{ text: `no option matches "${cut(shown(filter), 20)}"`, dim: true }] }]
  const at = Math.max(
    0,
    matching.findIndex(({ value }) => value === chosen),
  )
  const from = Math.max(0, Math.min(at - LIST_ROWS + 2, matching.length - LIST_ROWS))
  const rows: Line[] = matching.slice(from, from + LIST_ROWS).map((option) => {
    const isChosen = option.value === chosen
    return { spans: [{ text: cut(`${isChosen ? '›' : ' '} ${option.label}`, room), bold: isChosen }] }
  })
  const more = matching.length - rows.length
  return [typed, ...rows, ...(more > 0 ? [{ spans: [{ text: `  … ${more} more`, dim: true }] }] : [])]
}
