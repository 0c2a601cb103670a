/** The reports of a reality check as lines, as Markdown and as JSON: hostile text stays text, and sizes have limits. */
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { checkResult } from '../../../src/core/protocol/check/reality-check.ts'
import { markdownOf } from '../../../src/core/reality-check/report/markdown.ts'
import { fenced, textOf } from '../../../src/core/reality-check/report/text.ts'
import { checkOf, HOSTILE, hostileCheck, testResult, withoutVerdict } from './results.ts'

const COMMAND = /^\s*::|##\[/m

test('lines say the verdict, the reason of what did not pass, and no more of what passed', () => {
  const lines = textOf(checkOf([testResult('passed'), testResult('failed')]))
  expect(lines[0]).toBe('Partial: Notes are kept, but not all of them')
  expect(lines).toContain('  Failed   A note that failed [a3f2b1c4] (1.2 s)')
  expect(lines).toContain('           Why it failed')
  expect(lines.filter((line) => line.includes('answered 200'))).toHaveLength(1)
})

test('a line has no control character and no line break, whatever was observed', () => {
  const lines = textOf(hostileCheck())
  expect(lines.length).toBeGreaterThan(20)
  expect(
    lines.filter((line) => /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202e]/.test(line) || !line.isWellFormed()),
  ).toEqual([])
})

test('a fence begins and ends once, also where a line holds its token or a line break', () => {
  expect(fenced(['a', '::t0ken::', 'b\r\n::t0ken::\n::error::x'], 't0ken')).toEqual([
    '::stop-commands::t0ken',
    'a',
    '::…::',
    'b',
    '::…::',
    '::error::x',
    '::t0ken::',
  ])
})

test('Markdown: hostile text is no element, no link, no mention and no workflow command', () => {
  expect(HOSTILE).toMatch(COMMAND)
  const markdown = markdownOf(hostileCheck())
  const tags = new Set([...markdown.matchAll(/<\/?([^\s>]+)/g)].map(([, name]) => name))
  expect([...tags].toSorted()).toEqual(['details', 'pre', 'summary'])
  expect(markdown.match(/<pre>/g)?.length).toBe(markdown.match(/<\/pre>/g)?.length)
  expect(markdown).not.toMatch(COMMAND)
  expect(markdown.replace(/<pre>[\s\S]*?<\/pre>/g, '')).not.toMatch(/@|\[a\]|`|^# Heading/m)
  expect(markdown).not.toContain('\u0000')
})

test('Markdown: at most 1 MiB, and the tests that are left out are counted', () => {
  const tests = Array.from({ length: 3_000 }, () => testResult('failed', { evidence: ['<'.repeat(2_000)] }))
  const markdown = markdownOf(checkOf(tests))
  expect(Buffer.byteLength(markdown)).toBeLessThanOrEqual(1024 * 1024)
  expect(Buffer.byteLength(markdown)).toBeGreaterThan(900 * 1024)
  expect(markdown).toMatch(/\d+ more tests are left out/)
})

test('every result fits its schema, and one without a report does not', () => {
  const fits = new Ajv({ strict: false }).compile(checkResult)
  for (const one of [checkOf([testResult('passed')]), hostileCheck(), withoutVerdict()])
    expect([
      fits(JSON.parse(JSON.stringify({ ...one, report: { ...one.report, durations: {} } }))),
      fits.errors,
    ]).toEqual([true, null])
  expect(fits({ ...withoutVerdict(), report: undefined })).toBe(false)
  expect(fits({ ...withoutVerdict(), verdict: 'good' })).toBe(false)
})
