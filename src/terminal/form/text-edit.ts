/** Edits a text at a cursor, by graphemes. Pure; for the fields of a form. The cursor is an index into the text. */

export interface Edited {
  text: string
  cursor: number
}

let segmenter: Intl.Segmenter | undefined

function stepBack(text: string, cursor: number): number {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  // A grapheme is short: it is enough to segment a short part before the cursor, which is fast in long texts.
  const from = Math.max(0, cursor - 64)
  let last = from
  for (const { index } of segmenter.segment(text.slice(from, cursor))) last = from + index
  return last
}

function stepOn(text: string, cursor: number): number {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  const [first] = segmenter.segment(text.slice(cursor, cursor + 64))
  return cursor + (first?.segment.length ?? 0)
}

/** C0 except newline and tab, DEL, C1: keys do not produce them, but pasted text can contain them. */
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** Typed or pasted text with line ends normalised to `\n`; joined to one line for single-line fields. */
export function typed(piece: string, manyLines: boolean): string {
  const lines = piece.replace(/\r\n?/g, '\n').replace(CONTROLS, '')
  return manyLines ? lines : lines.replace(/[\n\t]+/g, ' ')
}

export function insert(text: string, cursor: number, piece: string): Edited {
  return { text: text.slice(0, cursor) + piece + text.slice(cursor), cursor: cursor + piece.length }
}

/** Deletes the text between the cursor and another position. */
function cutTo(text: string, cursor: number, other: number): Edited {
  const [from, to] = other < cursor ? [other, cursor] : [cursor, other]
  return { text: text.slice(0, from) + text.slice(to), cursor: from }
}

const lineStart = (text: string, cursor: number) => text.lastIndexOf('\n', cursor - 1) + 1

function lineEnd(text: string, cursor: number): number {
  const end = text.indexOf('\n', cursor)
  return end === -1 ? text.length : end
}

function wordStart(text: string, cursor: number): number {
  return text.slice(0, cursor).replace(/\S*\s*$/, '').length
}

const EDITS = {
  left: (text, cursor) => ({ text, cursor: stepBack(text, cursor) }),
  right: (text, cursor) => ({ text, cursor: stepOn(text, cursor) }),
  home: (text, cursor) => ({ text, cursor: lineStart(text, cursor) }),
  end: (text, cursor) => ({ text, cursor: lineEnd(text, cursor) }),
  backspace: (text, cursor) => cutTo(text, cursor, stepBack(text, cursor)),
  delete: (text, cursor) => cutTo(text, cursor, stepOn(text, cursor)),
  'cut-line': (text, cursor) => cutTo(text, cursor, lineStart(text, cursor)),
  'cut-word': (text, cursor) => cutTo(text, cursor, wordStart(text, cursor)),
} satisfies Record<string, (text: string, cursor: number) => Edited>

export type Edit = keyof typeof EDITS

export function edit(text: string, cursor: number, how: Edit): Edited {
  return EDITS[how](text, cursor)
}

export function isEdit(key: string): key is Edit {
  return Object.hasOwn(EDITS, key)
}

/** The cursor one line up or down, in the same column; undefined on the first or last line. */
export function besideLine(text: string, cursor: number, by: -1 | 1): number | undefined {
  const start = lineStart(text, cursor)
  const place = cursor - start
  if (by === -1) {
    if (start === 0) return undefined
    const above = lineStart(text, start - 1)
    return above + Math.min(place, start - 1 - above)
  }
  const end = lineEnd(text, cursor)
  if (end === text.length) return undefined
  return end + 1 + Math.min(place, lineEnd(text, end + 1) - end - 1)
}
