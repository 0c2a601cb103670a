/** Small words of the terminal: durations, ages, near words, globs, quoting, tables. */

import { expect, test } from 'vitest'
import { nearest } from '../../src/core/primitives/nearest.ts'
import { quoteWord } from '../../src/core/primitives/quote-word.ts'
import type { InstanceRecord } from '../../src/core/protocol/instance.ts'
import { ageText, durationText } from '../../src/core/view/time-words.ts'
import { parseDuration } from '../../src/terminal/command/duration.ts'
import { matchesGlob } from '../../src/terminal/input/glob.ts'
import { commandLine } from '../../src/terminal/output/shell.ts'
import { tableLines } from '../../src/terminal/output/table.ts'
import { cut, widthOf } from '../../src/terminal/output/width.ts'
import { fitting, instanceTable } from '../../src/terminal/pages/instance-table.ts'

test.each([
  ['30s', 30_000],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['500ms', 500],
  ['1.5s', 1_500],
  ['20', 20_000],
  ['2d', 172_800_000],
])('%s is %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms)
})

test.each(['', 'soon', '5 m', '-3s', '5x', '1m2'])('"%s" is refused as a duration', (text) => {
  expect(() => parseDuration(text)).toThrow(/is not a duration/)
})

test('durations and ages are printed in a fitting unit', () => {
  expect([durationText(430), durationText(12_900), durationText(185_000), durationText(7_800_000)]).toEqual([
    '0.4 s',
    '12 s',
    '3 min 5 s',
    '2 h 10 min',
  ])
  const now = Date.parse('2026-01-02T00:00:00Z')
  const age = (then: string) => ageText(then, now)
  expect([
    age('2026-01-01T23:59:48Z'),
    age('2026-01-01T23:57:00Z'),
    age('2025-12-30T00:00:00Z'),
    age('nonsense'),
  ]).toEqual(['12s', '3m', '3d', '-'])
})

test('a similar word is suggested, a different one is not', () => {
  expect(nearest('runing', ['running', 'paused'])).toBe('running')
  expect(nearest('nmae', ['name', 'topic'])).toBe('name')
  expect(nearest('xyzzy', ['name', 'topic'])).toBeUndefined()
  expect(nearest('a', [])).toBeUndefined()
})

test('globs', () => {
  expect(matchesGlob('gate-1', 'gate*')).toBe(true)
  expect(matchesGlob('gate-1', 'gate')).toBe(false)
  expect(matchesGlob('a.b.c', '*.b.*')).toBe(true)
  expect(matchesGlob('gate-12', 'gate-??')).toBe(true)
  expect(matchesGlob('gate-1', 'gate-??')).toBe(false)
  expect(matchesGlob('', '*')).toBe(true)
  expect(matchesGlob('a+b', 'a+b')).toBe(true)
  expect(matchesGlob('a'.repeat(5_000), `${'a*'.repeat(50)}b`)).toBe(false)
})

test('a printed command can be pasted into a shell', () => {
  expect(commandLine('instance', 'answer', 'ab12', '-i', "note=it's <ok>")).toBe(
    `resolve instance answer ab12 -i 'note=it'\\''s <ok>'`,
  )
  expect(quoteWord('@last')).toBe('@last')
  expect(quoteWord('')).toBe("''")
})

test('wide characters count two columns, and a cut text fits', () => {
  expect(widthOf('世界')).toBe(4)
  expect(widthOf('👩‍👩‍👧')).toBe(2)
  expect(['🇩🇪', '⚠️', '👍', '©', 'é', '\u0301', '\u200b'].map(widthOf)).toEqual([2, 2, 2, 1, 1, 0, 0])
  for (const text of ['a long sentence', '世界世界世界', '👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧'])
    expect(widthOf(cut(text, 7))).toBeLessThanOrEqual(7)
  expect(cut('short', 7)).toBe('short')
})

test('a table fits the terminal by cutting its flexible columns only', () => {
  const columns = [{ title: 'ID' }, { title: 'NAME', flexible: true }, { title: 'AGE' }]
  const rows = [
    ['0123456789ab', 'a name that goes on and on and on', '3m'],
    ['ffffffffffff', 'short', '12s'],
  ]
  const wide = tableLines(columns, rows)
  expect(wide[1]).toContain('a name that goes on and on and on')
  const narrow = tableLines(columns, rows, 36)
  for (const line of narrow) expect(widthOf(line)).toBeLessThanOrEqual(36)
  expect(narrow[1]).toContain('0123456789ab')
  expect(narrow[1]).toContain('…')
  expect(narrow[1]).toMatch(/3m$/)
})

const listed = (at: number, more: Partial<InstanceRecord> = {}): InstanceRecord =>
  ({
    ...{ instance_id: `${at}`.padStart(12, '0'), name: null, resolver: 'tour', status: 'completed', phase: null },
    ...{ pending_inputs: 0, created_at: new Date(0).toISOString(), labels: {}, ...more },
  }) as InstanceRecord

test('labels have a column of their own, only where an instance has some; a narrow terminal leaves it out first', () => {
  const plain = instanceTable([listed(1, { name: 'Bridge' })], 0, undefined)
  expect(plain[0]?.split(/\s+/)).toEqual(['ID', 'STATUS', 'RESOLVER', 'NAME', 'PHASE', 'AGE'])
  const records = [listed(1, { name: 'Bridge', phase: 'planning', labels: { team: 'red', stage: 'test' } }), listed(2)]
  const [titles, first] = instanceTable(records, 0, undefined)
  expect(titles?.split(/\s+/)).toEqual(['ID', 'STATUS', 'RESOLVER', 'NAME', 'PHASE', 'LABELS', 'AGE'])
  expect(first).toMatch(/Bridge {2}planning {2}stage=test team=red {2}/)
  const narrow = instanceTable(records, 0, 66)
  expect(narrow[0]).not.toContain('LABELS')
  expect(narrow[1]).toContain('planning')
})

test('a terminal shows all that wait for an answer, and of the others as many as fit', () => {
  const ended = Array.from({ length: 30 }, (_, at) => listed(at))
  const waiting = Array.from({ length: 28 }, (_, at) => listed(100 + at, { status: 'awaiting_input' }))
  expect(fitting(ended, 30)).toHaveLength(26)
  expect(fitting([...ended, ...waiting.slice(0, 3)], 30).slice(0, 3)).toEqual(waiting.slice(0, 3))
  expect(fitting([...ended, ...waiting], 30)).toEqual(waiting)
  expect(fitting(ended, 3)).toHaveLength(5)
  expect(fitting(ended, Number.POSITIVE_INFINITY)).toEqual(ended)
})
