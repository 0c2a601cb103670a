/**
 * Lays out a form: the lines that fit the terminal, and the position of the cursor. Pure, so that tests can compare snapshots;
 * {@link file://./form-view.tsx} draws it.
 */
import { cleanText } from '../../core/view/clean.ts'
import { isList } from '../../core/view/fields.ts'
import { fieldLines, type Line, type Span } from './field-lines.ts'
import { type FormState, failingCount, fieldWith } from './form-state.ts'
import { flow, wrapWords } from './text-shape.ts'

export interface FormWords {
  /** The prompt. */
  title: string
  /** The label of the submit row: `Run`, `Answer`. */
  submit: string
  /** What Esc does: `cancel`, `answer later`. */
  escape: string
  /** The effect of Ctrl-C so far. */
  bar?: string | undefined
}

export interface FormRoom {
  columns: number
  /** The maximum number of lines. */
  rows: number
}

export interface FormPicture {
  lines: readonly Line[]
  cursor: { x: number; y: number } | undefined
}

export function formPicture(state: FormState, words: FormWords, { columns, rows }: FormRoom): FormPicture {
  const footer = footerLines(state, words, columns)
  const { body, from, to } = bodyLines(state, words, columns)
  const lines = [...windowed(body, from, to, Math.max(1, rows - footer.length)), ...footer].slice(0, rows)
  const y = lines.findIndex((line) => line.cursor !== undefined)
  return { lines, cursor: y === -1 ? undefined : { x: lines[y]?.cursor ?? 0, y } }
}

/** All lines above the footer, and the range of lines of the focused field. */
function bodyLines(state: FormState, words: FormWords, columns: number): { body: Line[]; from: number; to: number } {
  const title = cleanText(words.title).trim()
  const body: Line[] = title === '' ? [] : wrapWords(title, columns).map((text) => line({ text, bold: true }))
  if (body.length > 0) body.push(line())
  let [from, to] = [0, 0]
  for (const field of state.fields) {
    const isFocused = state.focus === field.id
    const lines = fieldLines(state, field, isFocused, columns)
    if (isFocused) [from, to] = [body.length, body.length + lines.length]
    body.push(...lines)
  }
  if (state.fields.length > 0) body.push(line())
  if (state.focus === null) [from, to] = [body.length, body.length + 1]
  body.push(submitLine(state, words))
  return { body, from, to }
}

function submitLine({ focus, phase, waiting }: FormState, words: FormWords): Line {
  const isFocused = focus === null
  const busy = phase === 'sending' ? '  sending…' : waiting ? '  asking the resolver…' : ''
  return {
    spans: [
      { text: isFocused ? '› ' : '  ', color: 'cyan' },
      { text: `[ ${words.submit} ]`, bold: isFocused },
      { text: busy, dim: true },
    ],
    ...(isFocused ? { cursor: 2 } : {}),
  }
}

function footerLines(state: FormState, words: FormWords, columns: number): Line[] {
  const lines: Line[] = []
  const count = failingCount(state)
  if (state.refused && count > 0) {
    lines.push(line({ text: count === 1 ? '1 check fails' : `${count} checks fail`, color: 'red', bold: true }))
  }
  if (state.notice !== null) {
    lines.push(...wrapWords(cleanText(state.notice), columns).map((text) => line({ text, color: 'yellow' })))
  }
  if (words.bar !== undefined)
    lines.push(...wrapWords(words.bar, columns).map((text) => line({ text, color: 'yellow' })))
  return [...lines, ...flow(keysFor(state, words), columns).map((text) => line({ text, dim: true }))]
}

/** The keys that work now, the most important first. */
function keysFor(state: FormState, words: FormWords): string[] {
  const field = fieldWith(state, state.focus)
  const keys: string[] = []
  if (state.phase === 'checking') return ['Esc: back to the form']
  if (state.phase === 'sending') return []
  if (field?.kind === 'checkbox') keys.push('Space: tick')
  if (field?.kind === 'select') keys.push(...(isList(field) ? ['type: filter', '↑↓: choose'] : ['←→: choose']))
  if (field?.kind === 'textarea') keys.push('Ctrl-J: new line', 'Ctrl-E: editor')
  const last = state.fields.filter(({ kind }) => kind !== 'unknown').at(-1)
  keys.push(field === undefined || field === last ? `Enter: ${words.submit.toLowerCase()}` : 'Enter: next')
  if (state.fields.length > 0) keys.push('Tab: move')
  return [...keys, state.filter === '' ? `Esc: ${words.escape}` : 'Esc: all options']
}

/** The part of the body that fits and contains the focus; omitted lines are marked. */
function windowed(body: readonly Line[], from: number, to: number, room: number): Line[] {
  if (body.length <= room) return [...body]
  const cursorAt = body.findIndex(({ cursor }) => cursor !== undefined)
  const low = to - from > room - 2 && cursorAt !== -1 ? cursorAt + 1 : to
  const start = Math.max(0, Math.min(low - room + 1, body.length - room))
  const part = body.slice(start, start + room)
  const more = line({ text: '  ⋮', dim: true })
  if (start > 0 && part.length > 2) part[0] = more
  if (start + room < body.length && part.length > 2) part[part.length - 1] = more
  return part
}

function line(...spans: Span[]): Line {
  return { spans }
}
