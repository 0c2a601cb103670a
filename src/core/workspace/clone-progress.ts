/** Reads the progress of a fetch from what git prints. Pure, except for the time between two reports. */
import { CLONE_REPORT_MS } from '../limits.ts'

const LINE = /^(?:remote: )?([A-Z][a-z]+ [a-z]+):\s+(\d{1,3})%/
/** Where each phase begins, and how much of the whole it is. */
const PHASES: Readonly<Record<string, readonly [from: number, part: number]>> = {
  'Counting objects': [0, 0.03],
  'Compressing objects': [0.03, 0.02],
  'Receiving objects': [0.05, 0.7],
  'Unpacking objects': [0.05, 0.85],
  'Resolving deltas': [0.75, 0.2],
  'Updating files': [0.95, 0.05],
}

export interface FetchProgress {
  /** Receiving objects, Resolving deltas, … */
  phase: string
  /** From 0 to 1. */
  fraction: number
}

export function parseProgress(line: string): FetchProgress | undefined {
  const [, phase = '', percent] = LINE.exec(line) ?? []
  const part = PHASES[phase]
  if (part === undefined) return undefined
  const done = Math.min(100, Number(percent)) / 100
  return { phase, fraction: Math.round((part[0] + part[1] * done) * 100) / 100 }
}

/** Calls `report` with growing fractions, at most once a second. */
export function progressReporter(report: (progress: FetchProgress) => void, now = Date.now): (line: string) => void {
  let reportedMs = 0
  let latest = 0
  return (line) => {
    const progress = parseProgress(line)
    if (progress === undefined || progress.fraction <= latest) return
    latest = progress.fraction
    if (now() - reportedMs < CLONE_REPORT_MS) return
    reportedMs = now()
    report(progress)
  }
}
