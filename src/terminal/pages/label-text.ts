/** Formats labels for the terminal: `stage=test team=red`. */
import type { Labels } from '../../core/protocol/instance.ts'
import { cleanLine } from '../../core/view/clean.ts'

export function labelText(labels: Readonly<Labels>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return cleanLine(pairs.toSorted().join(' '))
}
