/** The items of a list in a section of a feature spec, with the lines that continue them. The files of the sections call it. */
import type { SpecItem } from './feature-spec.ts'
import { headingOf, type Section } from './scan.ts'

const MARK = /^(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?/

/** An indented item below another one belongs to it. */
export function itemsOf(section: Section): SpecItem[] {
  const items: { line: number; parts: string[] }[] = []
  let current: { line: number; parts: string[] } | undefined
  for (const one of section.lines) {
    if (one.kind === 'block') continue
    const mark = MARK.exec(one.text)?.[0]
    if (mark !== undefined && (one.indent < 2 || current === undefined)) {
      current = { line: one.line, parts: [one.text.slice(mark.length)] }
      items.push(current)
    } else if (one.text === '' || headingOf(one.text) !== undefined) current = undefined
    else current?.parts.push(one.text)
  }
  return items.map(({ line, parts }) => ({ line, text: parts.join(' ') }))
}

/** The texts between backticks, with the place of each. */
export function codeSpans(text: string): { text: string; at: number }[] {
  return [...text.matchAll(/`([^`]*)`/g)].map((match) => ({ text: (match[1] ?? '').trim(), at: match.index }))
}

/** Without what is between backticks and between quotation marks. */
export function prose(text: string): string {
  return text.replaceAll(/`[^`]*`/g, ' ').replaceAll(/"[^"]*"/g, ' ')
}
