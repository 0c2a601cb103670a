/** A fault of a feature spec as one sentence with its line, for forms. */
import { FEATURE_SPEC_FAULTS_SHOWN } from '../limits.ts'
import { parseFeatureSpec } from './parse-feature-spec.ts'
import type { SpecFault } from './rules.ts'

export function faultText({ line, message, better }: SpecFault): string {
  return `Line ${line}: ${message} Better: ${better}`
}

/** The messages of a field that is to hold a feature spec; [] where it does. */
export function featureSpecMessages(value: unknown): string[] {
  if (typeof value !== 'string') return ['A feature spec is a text.']
  const { faults } = parseFeatureSpec(value)
  const more = faults.length - FEATURE_SPEC_FAULTS_SHOWN
  const shown = faults.slice(0, FEATURE_SPEC_FAULTS_SHOWN).map(faultText)
  return more > 0 ? [...shown, `And ${more} more faults.`] : shown
}
