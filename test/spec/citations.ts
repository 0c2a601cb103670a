/**
 * Finds the requirement ids that tests cite: in the title of a test or a describe, or in a comment `// verifies: R31 S-FORM-04`.
 * Used by coverage.test.ts; the syntax is written down in CONTRIBUTING.md.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Citation {
  id: string
  file: string
}

const ID = /\b(?:R\d+(?:-[A-Z]+)?|S-[A-Z]+-\d+)\b/g
const STRING = /(['"`])((?:\\.|(?!\1)[\s\S])*?)\1/.source
/** `test('…'`, `describe.skip('…'`, and the second call of `test.each(…)('…'`. */
const TITLE = new RegExp(`(?:\\b(?:test|it|describe)(?:\\.\\w+)*|\\))\\(\\s*${STRING}\\s*,`, 'g')
const COMMENT = /\/\/\s*verifies:(.*)$/gm

export function citationsIn(text: string): string[] {
  const titles = [...text.matchAll(TITLE)].map((match) => match[2] ?? '')
  const comments = [...text.matchAll(COMMENT)].map((match) => match[1] ?? '')
  return [...titles, ...comments].flatMap((cited) => cited.match(ID) ?? [])
}

/** Every citation of the test files below a directory, and of the contract suites that they run. */
export function citationsBelow(directory: string): Citation[] {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(\.test|(^|\/)contract)\.tsx?$/.test(file),
  )
  return files.flatMap((file) => citationsIn(readFileSync(join(directory, file), 'utf8')).map((id) => ({ id, file })))
}
