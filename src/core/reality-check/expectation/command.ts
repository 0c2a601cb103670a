/** Compares how a command ended with what its step expects. Pure but for the bounded matcher. */
import { boundedMatcher } from '../../form-check/matcher.ts'
import type { CommandStep, Observation } from '../../protocol/check/reality-check.ts'
import { shown } from './told.ts'

export type CommandObservation = Extract<Observation, { kind: 'command' }>

export function commandFaults(step: CommandStep, seen: CommandObservation): string[] {
  if (seen.timed_out) return [`It did not end within ${step.timeout_seconds} s`]
  const faults: string[] = []
  const { expected_exit_code: code } = step
  if (code !== null && seen.exit_code !== code) {
    const said = seen.stderr.trim() === '' ? '' : `; it said ${shown(seen.stderr.trim())}`
    faults.push(`Exit code ${seen.exit_code ?? 'unknown'} instead of ${code}${said}`)
  }
  for (const text of step.expected_stdout_contains)
    if (!seen.stdout.includes(text)) faults.push(`stdout does not contain ${shown(text)}; it is ${shown(seen.stdout)}`)
  for (const text of step.expected_stdout_not_contains)
    if (seen.stdout.includes(text)) faults.push(`stdout contains ${shown(text)}`)
  for (const text of step.expected_stderr_contains)
    if (!seen.stderr.includes(text)) faults.push(`stderr does not contain ${shown(text)}; it is ${shown(seen.stderr)}`)
  const { expected_stdout_matches: pattern } = step
  if (pattern !== null && !boundedMatcher()(pattern, seen.stdout))
    faults.push(`stdout does not match ${shown(pattern)}; it is ${shown(seen.stdout)}`)
  return faults
}
