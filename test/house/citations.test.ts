/** Holds that every page, section, id and file that a comment, a test title or a page names is there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { brokenCitations, citingFiles } from './citations.ts'
import { root } from './source-files.ts'

test('every document, section, id and requirement that is cited exists', () => {
  const files = citingFiles()
  expect(files.length).toBeGreaterThan(400)
  const broken = files.flatMap((file) => brokenCitations(file, readFileSync(join(root, file), 'utf8')))
  expect(broken.map(({ place, citation }) => `${place}  ${citation}`)).toEqual([])
})

test.each([
  ['an unknown id of a page', '/** Safe (threats FS-99). */', 'threats FS-99'],
  ['the second id of a list', '/** Safe (threats FS-1, FS-99). */', 'threats FS-99'],
  ['the end of a range', '/** Safe (threats FS-1…99). */', 'threats FS-99'],
  ['an unknown section', '/** Told (spec, Nowhere). */', 'spec, Nowhere'],
  ['a section without that number', '/** Told (spec, What the service does 77). */', 'spec, What the service does 77'],
  ['a decision that was not made', '// Held (architecture, decision 99).', 'architecture, decision 99'],
  ['a citation over the end of a line', '/**\n * Held (spec,\n * Nowhere).\n */', 'spec, Nowhere'],
  ['a page that is not there', '// See docs/nowhere.md.', 'docs/nowhere.md'],
  ['an unknown section of a page by path', '// See docs/cli.md, Nowhere at all.', 'docs/cli.md, Nowhere at all.'],
  ['a page that never was in the repository', '/** Quick (plan; R1). */', 'plan'],
  ['an unknown ruling', '/** Quick (R99). */', 'R99'],
  ['an unknown requirement', '// S-NONE-01', 'S-NONE-01'],
  ['a linked file that is not there', '/** Runs {@link file://./nowhere.ts}. */', '{@link file://./nowhere.ts}'],
  ['an id in a test title', "test('it holds (reliability F99)', () => {})", 'reliability F99'],
])('%s is reported with file and line', (_, text, citation) => {
  expect(brokenCitations('src/core/a.ts', `\n${text}\n`).map((found) => found.citation)).toEqual([citation])
  expect(brokenCitations('src/core/a.ts', `\n${text}\n`)[0]?.place).toMatch(/^src\/core\/a\.ts:[23]$/)
})

test('what is there is not reported', () => {
  const text =
    '/** Safe (threats FS-1…3, B9; reliability F7; spec, Rules for run(); spec, What the service does 7; R1, S-DO-01). See docs/cli.md. */'
  expect(brokenCitations('src/core/a.ts', text)).toEqual([])
})
