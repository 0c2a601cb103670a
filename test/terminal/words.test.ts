/** Small words of the terminal: durations, ages, near words, globs, quoting, tables. */
import { expect, test } from 'vitest'
import { nearest } from '../../src/core/primitives/nearest.ts'
import { quoteWord } from '../../src/core/primitives/quote-word.ts'
import { ageText, durationText } from '../../src/core/view/time-words.ts'
import { parseDuration } from '../../src/terminal/command/duration.ts'
import { matchesGlob } from '../../src/terminal/input/glob.ts'
import { commandLine } from '../../src/terminal/output/shell.ts'
import { tableLines } from '../../src/terminal/output/table.ts'
import { cut, widthOf } from '../../src/terminal/output/width.ts'

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
