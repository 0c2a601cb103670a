/** Holds the tests against the requirements: none that must be shown goes untested, none is cited that does not exist. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { citationsBelow, citationsIn } from './citations.ts'
import { requirements } from './requirements.ts'

const citations = citationsBelow(join(import.meta.dirname, '..'))
const cited = new Set(citations.map(({ id }) => id))
const due = requirements.filter(({ status }) => status === 'now')

test('every requirement that is due has a test', () => {
  const covered = due.filter(({ id }) => cited.has(id))
  const waiting = requirements.length - due.length
  console.log(
    `Requirements: ${covered.length} of ${due.length} due are covered by tests, ${waiting} wait for later work.`,
  )
  const missing = due.filter(({ id }) => !cited.has(id)).map(({ id, text }) => `${id}: ${text}`)
  expect(missing).toEqual([])
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

test('citations are found in titles and in comments that verify, and nowhere else', () => {
  // The ids are put together here, so that this file does not cite them.
  const [first, second, third, fourth] = [1, 2, 3, 4].map((number) => `R${number}`)
  const text = [
    `test('one thing (${first})', () => {`,
    `describe.each([{ a: 'x' }])('another: ${second}', () => {`,
    `// verifies: ${third} S-${'FORM'}-04`,
    `const plain = '${fourth}' // about ${fourth}`,
  ].join('\n')
  expect(citationsIn(text)).toEqual([first, second, third, `S-${'FORM'}-04`])
})
