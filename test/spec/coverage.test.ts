/** Holds the tests against the requirements: none that must be shown goes untested, none is cited that does not exist. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { citationsBelow, citationsIn, NEVER } from './citations.ts'
import { requirements } from './requirements.ts'

const citations = citationsBelow(join(import.meta.dirname, '..'))
const due = requirements.filter(({ status }) => status === 'now')

/** What the least demanding test of a requirement needs; undefined where no test shows it. */
function needsOf(id: string): readonly string[] | undefined {
  const shown = citations.filter((citation) => citation.id === id && !citation.needs.includes(NEVER))
  return shown.toSorted((a, b) => a.needs.length - b.needs.length)[0]?.needs
}

test('every requirement that is due has a test that runs', () => {
  const byNeeds = Map.groupBy(due, ({ id }) => needsOf(id)?.join(' and '))
  const missing = byNeeds.get(undefined) ?? []
  const lines = [...byNeeds]
    .toSorted(([a = ''], [b = '']) => a.localeCompare(b))
    .flatMap(([needs, found]) => {
      if (needs === undefined) return []
      const ids = found.map(({ id }) => id).join(' ')
      return [needs === '' ? `  covered: ${found.length}` : `  covered only with ${needs}: ${found.length} (${ids})`]
    })
  const waiting = `  waits for later work: ${requirements.length - due.length}`
  console.log([`Requirements: ${requirements.length}`, ...lines, waiting].join('\n'))
  expect(missing.map(({ id, text }) => `${id}: ${text}`)).toEqual([])
})

test('every id that a test cites is a requirement', () => {
  const known = new Set(requirements.map(({ id }) => id))
  expect(citations.filter(({ id }) => !known.has(id))).toEqual([])
})

test('an id stands for one requirement, and what waits says why', () => {
  const ids = requirements.map(({ id }) => id)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  expect(requirements.filter(({ status, why }) => (status === 'later') !== (why !== undefined))).toEqual([])
})

// The ids are put together here, so that this file does not cite them.
const [first, second, third, fourth] = [1, 2, 3, 4].map((number) => `R${number}`)

/** What stands in a test file, as `id needs`. */
const found = (...lines: string[]) => citationsIn(lines.join('\n')).map(({ id, needs }) => [id, ...needs].join(' '))

test('citations are found in titles and in comments that verify, and nowhere else', () => {
  const lines = [
    `test('one thing (${first})', () => {})`,
    `describe.each([{ a: 'x' }])('another: ${second}', () => {})`,
    `// verifies: ${third} S-${'FORM'}-04`,
    `test(\`a template (${first})\`, () => {})`,
    `const plain = '${fourth}' // about ${fourth}`,
    `other('${fourth}', () => {})`,
  ]
  expect(found(...lines)).toEqual([first, second, first, third, `S-${'FORM'}-04`])
})

test('a citation needs what its test and everything around it needs', () => {
  expect(
    found(
      `describeWithDocker('containers (${first})', () => {`,
      `  test('one (${second})', () => {})`,
      `  // verifies: ${third}`,
      `  test.skipIf(skipsTmux)('two', () => {})`,
      `})`,
      `describePage('the page', () => { test.runIf(luck())('three (${fourth})', () => {}) })`,
      `// verifies: ${first}`,
      `test('on every machine', () => {`,
      `  // verifies: ${second}`,
      `  ok()`,
      `})`,
    ).toSorted(),
  ).toEqual(
    [
      `${first} Docker`,
      `${second} Docker`,
      `${third} Docker tmux`,
      `${fourth} Chromium runIf luck()`,
      first as string,
      second as string,
    ].toSorted(),
  )
})

test('a citation in a test that never runs shows nothing', () => {
  expect(
    found(
      `test.skip('${first}', () => {})`,
      `describe.skip('all of it', () => { test('${first}', () => {}) })`,
      `test.todo('${second}')`,
      `test('${second}', { skip: true }, () => {})`,
      `test('${third}', (context) => { if (sad) context.skip() })`,
      `const alone = luck ? describeWithDocker : describe.skip`,
      `alone('${fourth}', () => {})`,
      `// verifies: ${fourth}`,
    ),
  ).toEqual([
    `${first} never`,
    `${first} never`,
    `${second} never`,
    `${third} never`,
    `${fourth} Docker luck`,
    `${fourth} never`,
  ])
})
