/** Reads the text of a CSV or TSV file as rows, within bounds (RFC 4180; a quote that never ends holds the rest). Pure. */

export interface Sheet {
  head: string[]
  rows: string[][]
  /** Whether there are more rows or columns than are shown. */
  isCut: boolean
}

export const ROWS_MAX = 1_000
export const COLUMNS_MAX = 60
export const CELL_MAX_CHARS = 1_000

/** Undefined for an empty text. The first row is the head; short rows are filled. */
export function sheetOf(text: string, separator = separatorOf(text)): Sheet | undefined {
  const rows: string[][] = []
  let row: string[] = []
  let isCut = false
  let at = text.startsWith('\ufeff') ? 1 : 0
  const add = (cell: string) => {
    if (row.length < COLUMNS_MAX) row.push(cell.length > CELL_MAX_CHARS ? `${cell.slice(0, CELL_MAX_CHARS)}…` : cell)
    else isCut = true
  }
  while (at < text.length) {
    if (rows.length > ROWS_MAX) {
      isCut = true
      break
    }
    const cell = cellAt(text, at, separator)
    add(cell.text)
    at = cell.end
    if (text[at] === separator) {
      at += 1
      if (at < text.length) continue
      add('')
    }
    if (text[at] === '\r') at += 1
    if (text[at] === '\n') at += 1
    rows.push(row)
    row = []
  }
  const filled = rows.slice(0, ROWS_MAX + 1).filter((one) => one.length > 1 || one[0] !== '')
  const [head, ...rest] = filled
  if (head === undefined) return undefined
  const width = Math.max(...filled.map((one) => one.length))
  return { head: wide(head, width), rows: rest.map((one) => wide(one, width)), isCut }
}

function wide(row: string[], width: number): string[] {
  return [...row, ...Array.from({ length: width - row.length }, () => '')]
}

function cellAt(text: string, from: number, separator: string): { text: string; end: number } {
  if (text[from] !== '"') {
    let end = from
    while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end += 1
    return { text: text.slice(from, end), end }
  }
  let found = ''
  let at = from + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote === -1) return { text: found + text.slice(at), end: text.length }
    found += text.slice(at, quote)
    if (text[quote + 1] !== '"') {
      // What stands between the quote and the separator belongs to the cell.
      const rest = cellRest(text, quote + 1, separator)
      return { text: found + text.slice(quote + 1, rest), end: rest }
    }
    found += '"'
    at = quote + 2
  }
}

function cellRest(text: string, from: number, separator: string): number {
  let end = from
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end += 1
  return end
}

/** The one of these that stands most often in the first line. */
function separatorOf(text: string): string {
  const end = text.indexOf('\n')
  const line = end === -1 ? text : text.slice(0, end)
  const counts = [',', ';', '\t'].map((one) => ({ one, count: line.split(one).length }))
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).one
}

/** Whether every filled cell of a column is a number: it stands at the right. */
export function isNumeric(rows: readonly (readonly string[])[], column: number): boolean {
  const cells = rows.map((row) => row[column] ?? '').filter((cell) => cell !== '')
  return cells.length > 0 && cells.every((cell) => /^[+-]?(\d[\d,]*)?\.?\d+(e[+-]?\d+)?%?$/i.test(cell.trim()))
}
