/**
 * Parses a feature spec: the six sections as data, or every fault with its line and a better example (spec, Instance input (spec) authoring contract).
 * Pure, and linear in the length of the text; forms, `resolve spec check` and resolvers call it.
 */
import { FEATURE_SPEC_MAX_BYTES, FEATURE_SPEC_MAX_FAULTS, FEATURE_SPEC_MAX_LINES } from '../limits.ts'
import { readEndpoints } from './endpoints.ts'
import type { FeatureSpec } from './feature-spec.ts'
import { readIntent } from './intent.ts'
import { prose } from './items.ts'
import { readErrors, readIntegration, readValidation } from './lists.ts'
import { readProof } from './proof.ts'
import { type Report, RULES, type SpecFault } from './rules.ts'
import { isBlank, type Scanned, SECTIONS, type Section, type SectionName, scan } from './scan.ts'
import { futureWord, implementationWord, placeholderWord } from './words.ts'

/** `spec` is null where there is a fault. Faults are in the order of their lines. */
export type ParsedFeatureSpec = { spec: FeatureSpec; faults: [] } | { spec: null; faults: SpecFault[] }

/** Never throws, for any text. */
export function parseFeatureSpec(text: string): ParsedFeatureSpec {
  const faults: SpecFault[] = []
  const report: Report = (rule, line, message, better) => {
    if (faults.length < FEATURE_SPEC_MAX_FAULTS)
      faults.push({ line, rule, message: `${message}.`, better: better ?? RULES[rule].better })
  }
  const source = text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  const spec = isReadable(source, report) ? read(source, report) : null
  if (faults.length === 0 && spec !== null) return { spec, faults: [] }
  return { spec: null, faults: faults.sort((one, other) => one.line - other.line) }
}

function isReadable(source: string, report: Report): boolean {
  // A text of this many characters has at least as many bytes; a longer one is not encoded.
  const bytes = source.length > FEATURE_SPEC_MAX_BYTES ? source.length : new TextEncoder().encode(source).length
  if (bytes > FEATURE_SPEC_MAX_BYTES) {
    report('too_large', 1, `The text has more than ${FEATURE_SPEC_MAX_BYTES} bytes`)
    return false
  }
  if (source.split('\n', FEATURE_SPEC_MAX_LINES + 2).length > FEATURE_SPEC_MAX_LINES + 1) {
    report('too_large', FEATURE_SPEC_MAX_LINES + 1, `The text has more than ${FEATURE_SPEC_MAX_LINES} lines`)
    return false
  }
  const at = source.search(/[\u0000-\u0008\u000b-\u001f\u007f\ufffd]/)
  if (at === -1) return true
  report('not_text', source.slice(0, at).split('\n').length, 'The text has a control character')
  return false
}

function read(source: string, report: Report): FeatureSpec | null {
  const scanned = scan(source, report)
  const sections = arrange(scanned, report)
  checkWords(scanned, report)
  const part = <T>(name: SectionName, reader: (section: Section) => T, none: T) => {
    const section = sections.get(name)
    return section === undefined ? none : reader(section)
  }
  const intent = part('Feature Intent', (section) => readIntent(section, report), undefined)
  const endpoints = part('Endpoints', (section) => readEndpoints(section, report), [])
  const validation = part('Validation Rules', (section) => readValidation(section, report), [])
  const errors = part('Error Cases', (section) => readErrors(section, report), [])
  const integration = part('Integration Requirements', (section) => readIntegration(section, report), [])
  const proof = part('Proof', (section) => readProof(section, { endpoints, errors }, report), [])
  if (intent === undefined) return null
  return { source, title: scanned.title?.text ?? null, intent, endpoints, validation, errors, integration, proof }
}

/** The first section of each name. Tells which are missing, repeated, empty or out of order. */
function arrange({ sections, end }: Scanned, report: Report): Map<SectionName, Section> {
  const known = new Map<SectionName, Section>()
  let last = -1
  for (const section of sections) {
    const { name, line } = section
    const earlier = known.get(name)
    if (earlier !== undefined) {
      report('section_twice', line, `${name} begins in line ${earlier.line} too`)
      continue
    }
    known.set(name, section)
    const place = SECTIONS.indexOf(name)
    if (place < last) report('section_order', line, `${name} comes after ${SECTIONS[last]}`)
    last = Math.max(last, place)
    if (section.lines.every(isBlank)) report('section_empty', line, `${name} has no content`)
  }
  for (const name of SECTIONS) {
    if (known.has(name)) continue
    const next = SECTIONS.slice(SECTIONS.indexOf(name) + 1).find((one) => known.has(one))
    const line = next === undefined ? end : (known.get(next)?.line ?? end)
    const heading = name === 'Feature Intent' ? 'Add comments to the existing issues API.' : `## ${name}`
    report('section_missing', line, `There is no section ${name}`, heading)
  }
  return known
}

function checkWords({ title, sections }: Scanned, report: Report): void {
  const open = title === null ? undefined : placeholderWord(title.text)
  if (title !== null && open !== undefined) report('placeholder', title.line, `"${open}" is a placeholder`)
  for (const { lines } of sections) {
    for (const { line, text, kind } of lines) {
      const placeholder = placeholderWord(text)
      if (placeholder !== undefined) report('placeholder', line, `"${placeholder}" is a placeholder`)
      if (kind === 'block') continue
      const how = implementationWord(prose(text))
      if (how !== undefined) report('implementation', line, `"${how}" is a matter of the implementation`)
      const later = futureWord(prose(text))
      if (later !== undefined) report('future', line, `"${later}" is not part of this feature`)
    }
  }
}
