/** Sources, replies and texts that were written to hold up a host or a worker: each is refused or read at once (docs/pipelines.md, The file). */
import { describe, expect, test } from 'vitest'
import { checkPipeline } from '../../src/pipeline/check/check.ts'
import { outcomeOf } from '../../src/pipeline/engine/outcome.ts'
import { EXPANDED_MAX_CHARS, expand } from '../../src/pipeline/language/variables.ts'

const graphOf = (body: string) => `digraph { start [shape=Mdiamond] exit [shape=Msquare] ${body} }`
const errorsOf = (body: string) =>
  checkPipeline(graphOf(body))
    .diagnostics.filter(({ severity }) => severity === 'error')
    .map(({ message }) => message)
const many = (count: number, of: (n: number) => string) => Array.from({ length: count }, (_, n) => of(n)).join(' ')

// Each would take hours, or all memory, if it took time by the square of its length.
describe('a source of almost 1 MiB (S-PIPE-12)', () => {
  test.each([
    [
      'defaults of 60,000 attributes for 2,000 nodes',
      `node [${many(60_000, (n) => `k${n}=1`)}] ${many(1_990, (n) => `n${n}`)}`,
      'at most 128 attributes',
    ],
    [
      'defaults that grow by one attribute 40,000 times',
      many(40_000, (n) => `node [k${n}=1]`),
      'at most 128 attributes',
    ],
    [
      'defaults of edges, and a node with 60,000 attributes',
      `edge [${many(60_000, (n) => `k${n}=1`)}] ${many(9_000, () => 'start -> exit')}`,
      'at most 128 attributes',
    ],
    [
      'groups of 1,900 nodes in a chain of 100',
      `${many(100, () => `{${many(1_900, (n) => `n${n}`)}} ->`)} exit`,
      'at most 10000 edges',
    ],
    ['a name of 500,000 characters', `"a${'-'.repeat(500_000)}a" -> exit`, 'at most 256 characters'],
    ['a stylesheet of comments that do not end', `model_stylesheet="${'/*'.repeat(400_000)}"`, 'model_stylesheet'],
    [
      'a value of a stylesheet with 800,000 spaces',
      `model_stylesheet="* { model: a${' '.repeat(800_000)}b; }" start -> exit`,
      undefined,
    ],
    ['a stylesheet of 250,000 rules', `model_stylesheet="${'*{}'.repeat(250_000)}"`, 'at most 1000 rules'],
    ['braces, 500,000 deep', '{'.repeat(500_000), 'more than 32 times'],
    ['brackets of a condition, 300,000 deep', `start -> exit [condition="${'('.repeat(300_000)}"]`, 'too often'],
    ['names with control characters', '"\u001b[2J\u0007" -> exit', undefined],
  ])('%s', (_, body, told) => {
    const errors = errorsOf(body)
    if (told !== undefined) expect(errors.join('\n')).toContain(told)
  })
})

test('a stylesheet keeps its values: quotes, spaces and colons', () => {
  expect(errorsOf('model_stylesheet="/* a */ * { model: \'x:y z\' ; } .b { model : c }" start -> exit')).toEqual([])
})

test.each([
  ['newlines after a fence', `\`\`\`${'\n'.repeat(50_000)}`],
  ['fences alone', '```\n'.repeat(20_000)],
  ['braces', '{'.repeat(100_000) + '}'.repeat(100_000)],
])('a reply of %s is looked through once', (_, reply) => {
  expect(outcomeOf({ reply, statusFile: undefined, needsVerdict: true })).toMatchObject({ status: 'retry' })
})

test.each([[3_000], [100_000]])('a verdict with values %i levels deep is no verdict', (levels) => {
  const text = `{"outcome": "success", "context_updates": {"x": ${'['.repeat(levels)}${']'.repeat(levels)}}}`
  expect(outcomeOf({ reply: 'done', statusFile: text, needsVerdict: false })).toMatchObject({
    status: 'fail',
    failure_reason: expect.stringContaining('malformed') as string,
  })
  expect(outcomeOf({ reply: text, statusFile: undefined, needsVerdict: true })).toMatchObject({ status: 'retry' })
})

test('a text grows by its variables up to a bound; a name of 100,000 parts is no name', () => {
  const value = 'x'.repeat(1_000_000)
  expect(expand('$a'.repeat(100_000), () => value).length).toBeLessThanOrEqual(EXPANDED_MAX_CHARS + 200_000)
  const name = `$a${'.a'.repeat(100_000)}`
  let asked = 0
  const count = () => {
    asked += 1
    return undefined
  }
  expect(expand(name, count)).toBe(name)
  expect(asked).toBeLessThan(200)
})
