/** Redraws a page in place when it changes: for `list --watch` on a terminal. Lines in the scrollback are not changed. */
import { cut } from './width.ts'

const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[0J'

export interface Repaint {
  /** The bytes that replace the previous lines by these (cleaned, without colour); '' if nothing changed. */
  show(lines: readonly string[]): string
}

/** `size` is called for each drawing. A page is never higher than the terminal; after a change of width it is drawn again below. */
export function openRepaint(size: () => { columns: number; rows: number }): Repaint {
  let shown: string[] = []
  let columnsThen = 0
  return {
    show(lines) {
      const { columns, rows } = size()
      const page = toPage(lines, columns, rows)
      if (columns === columnsThen && page.length === shown.length && page.every((line, at) => line === shown[at])) {
        return ''
      }
      // Lines that the terminal wrapped after a resize cannot be counted, so the old page is left to scroll away.
      const up = columns === columnsThen && shown.length > 0 ? `\u001b[${shown.length}A\r` : ''
      shown = page
      columnsThen = columns
      // Clears line by line, then everything below: clearing from the first cell would push the old page into the scrollback.
      return `${up}${page.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`
    },
  }
}

/** At most `rows - 1` lines; if lines are left out, the last one says how many. */
function toPage(lines: readonly string[], columns: number, rows: number): string[] {
  const most = Math.max(1, rows - 1)
  const kept = lines.length <= most ? [...lines] : [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more`]
  return kept.map((line) => cut(line, columns))
}
