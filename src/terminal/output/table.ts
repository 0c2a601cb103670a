/** Formats tables for a terminal. Columns are as wide as their content; flexible columns are cut to fit the width. */
import { cleanText } from '../../core/view/clean.ts'
import { cut, pad, widthOf } from './width.ts'

export interface Column {
  title: string
  /** May be cut if the terminal is narrow. */
  flexible?: boolean
}

const GAP = 2
const FLEXIBLE_MIN = 8

/**
 * The lines of the table, titles first. `width` is in columns; undefined (a pipe) cuts nothing. If cutting is not enough (a
 * terminal of 40 columns), flexible columns are left out, the last one first.
 */
export function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[], width?: number): string[] {
  const clean = rows.map((row) => row.map((cell) => cleanText(cell).replaceAll('\n', ' ')))
  const widths = columns.map((column, at) =>
    clean.reduce((most, row) => Math.max(most, widthOf(row[at] ?? '')), widthOf(column.title)),
  )
  if (width !== undefined && !shrink(columns, widths, width)) {
    const last = columns.findLastIndex((column) => column.flexible === true)
    if (last > 0) {
      const without = <T>(cells: readonly T[]) => cells.filter((_, at) => at !== last)
      return tableLines(without(columns), rows.map(without), width)
    }
  }
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => {
        const columnWidth = widths[at] ?? 0
        const text = cut(cell, columnWidth)
        return at === cells.length - 1 ? text : pad(text, columnWidth)
      })
      .join(' '.repeat(GAP))
      .trimEnd()
  return [line(columns.map((column) => column.title)), ...clean.map(line)]
}

/** Shrinks flexible columns; returns whether the table then fits. */
function shrink(columns: readonly Column[], widths: number[], width: number): boolean {
  const total = () => widths.reduce((sum, one) => sum + one, 0) + GAP * (widths.length - 1)
  while (total() > width) {
    let widest = -1
    for (const [at, column] of columns.entries()) {
      const here = widths[at] ?? 0
      if (column.flexible === true && here > FLEXIBLE_MIN && here > (widths[widest] ?? 0)) widest = at
    }
    if (widest === -1) return false
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return true
}
