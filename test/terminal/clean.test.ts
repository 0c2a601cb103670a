/** Hostile text on its way to a terminal. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cleanLine, cleanText } from '../../src/core/view/clean.ts'

test('colour, cursor moves and erasing are taken out whole', () => {
  expect(cleanText('a\u001b[31mred\u001b[0m\u001b[2J\u001b[1;1Hb')).toBe('aredb')
  expect(cleanText('8-bit \u009b31mred')).toBe('8-bit red')
})

test('a title, a link and a clipboard write are removed with their content', () => {
  expect(cleanText('x\u001b]0;owned\u0007y')).toBe('xy')
  expect(cleanText('x\u001b]52;c;ZXZpbA==\u001b\\y')).toBe('xy')
  expect(cleanText('see \u001b]8;;http://evil\u0007here\u001b]8;;\u0007')).toBe('see here')
  expect(cleanText('x\u009d0;owned\u009cy')).toBe('xy')
})

test('text after an unfinished sequence does not complete it', () => {
  expect(cleanText('a\u001b]0;never ended')).not.toContain('\u001b')
  expect(cleanText('a\u001b')).toBe('a')
})

test('characters that change the reading direction are removed', () => {
  expect(cleanText('safe\u202egnp.exe')).toBe('safegnp.exe')
  expect(cleanText('\u2066a\u2069\u200f')).toBe('a')
})

test('newline and tab stay, a carriage return is removed', () => {
  expect(cleanText('a\tb\nc\r\nd')).toBe('a\tb\nc\nd')
  expect(cleanText('password: ok\rpassword: hidden')).toBe('password: okpassword: hidden')
})

test('one line stays one line', () => {
  expect(cleanLine(' a\n\n b\t c ')).toBe('a b c')
})

test('no control character is left in any text', () => {
  const hostile = fc.string({
    unit: fc.constantFrom('\u001b', '[', ']', '\u0007', '\u009b', '\u009d', '\\', '0', ';', 'm', 'a', '\n'),
  })
  fc.assert(
    fc.property(hostile, (text) => {
      expect(cleanText(text)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
    }),
  )
})

test('plain text in any script is left as it is', () => {
  const text = 'Grüße, 世界 👩‍👩‍👧 — «ok»'
  expect(cleanText(text)).toBe(text)
})
