/** Reads a feature spec by its lines: title, sections, code blocks. {@link file://./parse-feature-spec.ts} calls it. */
import type { Report } from './rules.ts'
import { quoted } from './rules.ts'

/** The sections in their order. */
export const SECTIONS = [
  'Feature Intent',
  'Endpoints',
  'Validation Rules',
  'Error Cases',
  'Integration Requirements',
  'Proof',
] as const

export type SectionName = (typeof SECTIONS)[number]

export type SpecLine =
  /** Trimmed; `indent` is the number of characters that were before it. */
  | { kind: 'text'; line: number; text: string; indent: number }
  /** A code block, with the line of its fence. */
  | { kind: 'block'; line: number; language: string; text: string }

export interface Section {
  name: SectionName
  line: number
  lines: SpecLine[]
}

export interface Scanned {
  title: { line: number; text: string } | null
  sections: Section[]
  /** The last line of the text. */
  end: number
}

/** Without a heading `Feature Intent`, the text below the title is the intent. */
export function scan(source: string, report: Report): Scanned {
  const lines = toLines(source, report)
  const end = source.split('\n').length
  const sections: Section[] = []
  const before: SpecLine[] = []
  let title: Scanned['title'] = null
  let into = before
  for (const one of lines) {
    const heading = one.kind === 'text' ? headingOf(one.text) : undefined
    if (heading === undefined || heading.level > 2) {
      into.push(one)
      continue
    }
    const name = sectionNamed(heading.text)
    if (name !== undefined) {
      const section: Section = { name, line: one.line, lines: [] }
      sections.push(section)
      into = section.lines
    } else if (heading.level === 1 && title === null && sections.length === 0 && before.every(isBlank)) {
      title = { line: one.line, text: heading.text }
    } else {
      report('section_unknown', one.line, `There is no section ${quoted(heading.text)}`)
      into = []
    }
  }
  const first = before.find((line) => !isBlank(line))
  if (first === undefined) return { title, sections, end }
  if (sections.some(({ name }) => name === 'Feature Intent')) {
    report('text_outside', first.line, 'This text is in no section')
    return { title, sections, end }
  }
  return { title, sections: [{ name: 'Feature Intent', line: first.line, lines: before }, ...sections], end }
}

export function isBlank(line: SpecLine): boolean {
  return line.kind === 'text' && line.text === ''
}

export function headingOf(text: string): { level: number; text: string } | undefined {
  const level = /^#{1,6}(?=\s|$)/.exec(text)?.[0].length
  return level === undefined ? undefined : { level, text: text.slice(level).replaceAll('#', ' ').trim() }
}

/** `2. Endpoints:` is `Endpoints`. */
function sectionNamed(heading: string): SectionName | undefined {
  const word = heading
    .replace(/^\d{1,2}[.):]?\s/, '')
    .replaceAll(/[*_:]/g, '')
    .trim()
    .toLowerCase()
  return word === 'intent' ? 'Feature Intent' : SECTIONS.find((name) => name.toLowerCase() === word)
}

function toLines(source: string, report: Report): SpecLine[] {
  const lines: SpecLine[] = []
  let open: { line: number; fence: string; language: string; texts: string[] } | undefined
  for (const [at, given] of source.split('\n').entries()) {
    const text = given.trim()
    const fence = /^(?:`{3,}|~{3,})/.exec(text)?.[0]
    if (open !== undefined) {
      if (fence === undefined || fence.length !== text.length || !fence.startsWith(open.fence)) open.texts.push(given)
      else {
        lines.push({ kind: 'block', line: open.line, language: open.language, text: open.texts.join('\n') })
        open = undefined
      }
    } else if (fence !== undefined) {
      open = { line: at + 1, fence, language: text.slice(fence.length).trim().toLowerCase(), texts: [] }
    } else if (!text.startsWith('<!--') || !text.endsWith('-->')) {
      lines.push({ kind: 'text', line: at + 1, text, indent: given.length - given.trimStart().length })
    }
  }
  if (open !== undefined) report('block_open', open.line, 'The code block that begins here has no end')
  return lines
}
