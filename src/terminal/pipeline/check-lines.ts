/** What a check found, as lines for people: place, severity, rule, message, and what to write instead. */
import { cleanLine } from '../../core/view/clean.ts'
import type { FileDiagnostic } from '../../pipeline/files/named-files.ts'
import type { Severity } from '../../pipeline/language/diagnostic.ts'

export type SeverityStyle = 'red' | 'yellow' | 'cyan'

export const SEVERITY_STYLES: Readonly<Record<Severity, SeverityStyle>> = {
  error: 'red',
  warning: 'yellow',
  info: 'cyan',
}

/** `review.dot:3:5`; without a line where the whole pipeline is meant. */
export function placeText({ file, line, column }: FileDiagnostic): string {
  return cleanLine(line === undefined ? file : `${file}:${line}:${column ?? 1}`)
}

export function messageText({ message, rule }: FileDiagnostic): string {
  return `${cleanLine(message)} (${cleanLine(rule)})`
}

/** `1 error, 2 warnings`; undefined where nothing was found. */
export function countText(diagnostics: readonly FileDiagnostic[]): string | undefined {
  const counts = (['error', 'warning', 'info'] as const).flatMap((severity) => {
    const count = diagnostics.filter((one) => one.severity === severity).length
    if (count === 0) return []
    return [
      severity === 'info'
        ? `${count} notes`.replace(/^1 notes$/, '1 note')
        : `${count} ${severity}${count === 1 ? '' : 's'}`,
    ]
  })
  return counts.length === 0 ? undefined : counts.join(', ')
}
