/** Formats the results of `doctor` as lines and as a JSON document. */
import type { HealthRow, HealthState } from '../../core/index.ts'
import { cleanLine } from '../../core/view/clean.ts'
import type { ExitCode } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'
import { pad } from '../output/width.ts'

const SHAPES: Readonly<Record<HealthState, { shape: string; color: 'green' | 'gray' | 'red' | 'yellow' }>> = {
  ok: { shape: '✓', color: 'green' },
  note: { shape: '–', color: 'gray' },
  failed: { shape: '✗', color: 'red' },
  mended: { shape: '✓', color: 'yellow' },
}

export function doctorLines(output: Output, rows: readonly HealthRow[]): string[] {
  const width = Math.max(...rows.map(({ check }) => check.length))
  const lines = rows.flatMap(({ check, state, message, mend }) => {
    const { shape, color } = SHAPES[state]
    const text = `${output.paint(color, shape, process.stdout)} ${pad(check, width)}  ${cleanLine(message)}`
    return mend === null ? [text] : [text, `${' '.repeat(width + 4)}${output.paint('cyan', mend, process.stdout)}`]
  })
  const failed = rows.filter(({ state }) => state === 'failed').length
  return [...lines, failed === 0 ? 'No problems found.' : failed === 1 ? '1 failure.' : `${failed} failures.`]
}

export function doctorDocument(rows: readonly HealthRow[], exitCode: ExitCode): Record<string, unknown> {
  return { schema: 'resolve.doctor/1', exit_code: exitCode, checks: rows }
}
