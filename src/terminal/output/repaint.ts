/** A page that is painted again in its place when it changes: for `list --watch` on a terminal. What scrolled away stays as it was. */
import { cut } from './width.ts'

const CLEAR_LINE = '\u001b[K'
const CLEAR_BELOW = '\u001b[0J'

export interface Repaint {
  /** What to write to show these lines (cleaned, unpainted) in place of the ones before; '' where nothing changed. */
  show(lines: readonly string[]): string
}

/** `size` is asked at each painting: a page never grows past the rows there are, and after a new width it begins anew below. */
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
      // Lines that a narrower terminal has wrapped can't be counted: they are left to scroll away.
      const up = columns === columnsThen && shown.length > 0 ? `\u001b[${shown.length}A\r` : ''
      shown = page
      columnsThen = columns
      // Line by line, and only then what is below: a terminal that is cleared from its first cell keeps the old page in its scrollback.
      return `${up}${page.map((line) => `${line}${CLEAR_LINE}\n`).join('')}${CLEAR_BELOW}`
    },
  }
}

/** At most one row less than there are, the last one saying how many more there would be. */
function toPage(lines: readonly string[], columns: number, rows: number): string[] {
  const most = Math.max(1, rows - 1)
  const kept = lines.length <= most ? [...lines] : [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more`]
  return kept.map((line) => cut(line, columns))
}
