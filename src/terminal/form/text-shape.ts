/** Lays out text in columns: wraps words, and shows a value with its cursor in one line or several rows. Pure. */
import { cut, widthOf } from '../output/width.ts'

/** Replaces each control character by a dot, so that the length and the position of the cursor do not change. */
const UNSHOWN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/g

export function shown(value: string): string {
  return value.replace(UNSHOWN, (letter) => (letter === '\t' ? ' ' : '·'))
}

/** Lines of at most `columns`, broken between words if possible. */
export function wrapWords(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => {
    const lines: string[] = []
    let current = ''
    for (const word of line.split(' ')) {
      const longer = current === '' ? word : `${current} ${word}`
      if (widthOf(longer) <= columns) {
        current = longer
        continue
      }
      if (current !== '') lines.push(current)
      const pieces = wrapLetters(word, columns)
      lines.push(...pieces.slice(0, -1))
      current = pieces.at(-1) ?? ''
    }
    return [...lines, current]
  })
}

/** Joins items into lines of at most `columns`, without breaking an item. */
export function flow(items: readonly string[], columns: number, between = '   '): string[] {
  const lines: string[] = []
  let current = ''
  for (const item of items) {
    const longer = current === '' ? item : `${current}${between}${item}`
    if (current !== '' && widthOf(longer) > columns) {
      lines.push(current)
      current = item
    } else current = longer
  }
  if (current !== '') lines.push(current)
  return lines.map((line) => cut(line, columns))
}

let segmenter: Intl.Segmenter | undefined

function letters(text: string): string[] {
  // Each ASCII character is one grapheme; only other text needs the segmenter.
  if (/^[ -~]*$/.test(text)) return text.split('')
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' })
  return [...segmenter.segment(text)].map(({ segment }) => segment)
}

function wrapLetters(line: string, columns: number): string[] {
  const lines: string[] = []
  let current = ''
  let width = 0
  for (const letter of letters(line)) {
    const next = widthOf(letter)
    if (width + next > columns && current !== '') {
      lines.push(current)
      current = ''
      width = 0
    }
    current += letter
    width += next
  }
  return [...lines, current]
}

/** The visible part of a long line that contains the cursor, and the column of the cursor. */
export function windowAround(line: string, cursor: number, columns: number): { text: string; x: number } {
  const before = shown(line.slice(0, cursor))
  const after = shown(line.slice(cursor))
  if (widthOf(before) + widthOf(after) < columns) return { text: before + after, x: widthOf(before) }
  const room = Math.max(1, columns - 1)
  let kept = ''
  for (const letter of letters(before.slice(-4 * room)).toReversed()) {
    if (widthOf(kept) + widthOf(letter) > room - 1) {
      kept = `…${kept}`
      break
    }
    kept = letter + kept
  }
  return { text: cut(kept + after, columns), x: widthOf(kept) }
}

/** A value of several lines as rows of at most `columns`, and the position of the cursor. */
export function rowsAround(value: string, cursor: number, columns: number): { rows: string[]; x: number; y: number } {
  const rows: string[] = []
  let place = { x: 0, y: 0 }
  let at = 0
  for (const line of value.split('\n')) {
    const pieces = wrapLetters(shown(line), columns)
    if (cursor >= at && cursor <= at + line.length) {
      const before = wrapLetters(shown(line.slice(0, cursor - at)), columns)
      const x = widthOf(before.at(-1) ?? '')
      const y = rows.length + before.length - 1
      // After a full row, the cursor is at the beginning of the next row.
      place = x >= columns ? { x: 0, y: y + 1 } : { x, y }
      if (place.y >= rows.length + pieces.length) pieces.push('')
    }
    rows.push(...pieces)
    at += line.length + 1
  }
  return { rows, ...place }
}
