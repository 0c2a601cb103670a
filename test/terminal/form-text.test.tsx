/** Editing and laying out texts: graphemes, lines, windows; and what keys mean. */
import type { Key } from 'ink'
import { expect, test } from 'vitest'
import { formKeys } from '../../src/terminal/form/form-keys.ts'
import { besideLine, edit, insert, typed } from '../../src/terminal/form/text-edit.ts'
import { flow, rowsAround, shown, windowAround, wrapWords } from '../../src/terminal/form/text-shape.ts'

test('a character of several code units is one cursor step', () => {
  const text = 'a👩‍🚀é'
  expect(edit(text, 6, 'left').cursor).toBe(1)
  expect(edit(text, 1, 'right').cursor).toBe(6)
  expect(edit(text, 6, 'backspace')).toEqual({ text: 'aé', cursor: 1 })
  expect(edit('', 0, 'backspace')).toEqual({ text: '', cursor: 0 })
  expect(edit('a', 1, 'delete')).toEqual({ text: 'a', cursor: 1 })
})

test('home, end and deletion stay in their line', () => {
  const text = 'one two\nthree four'
  expect(edit(text, 12, 'home').cursor).toBe(8)
  expect(edit(text, 3, 'end').cursor).toBe(7)
  expect(edit(text, 18, 'cut-word')).toEqual({ text: 'one two\nthree ', cursor: 14 })
  expect(edit(text, 18, 'cut-line')).toEqual({ text: 'one two\n', cursor: 8 })
})

test('up and down keep the column as far as the line is long', () => {
  const text = 'long line\nab\nlonger line'
  expect(besideLine(text, 6, 1)).toBe(12)
  expect(besideLine(text, 20, -1)).toBe(12)
  expect(besideLine(text, 6, -1)).toBeUndefined()
  expect(besideLine(text, 20, 1)).toBeUndefined()
})

test('what is typed or pasted has no control characters', () => {
  expect(typed('a\r\nb\rc\u001b]0;x\u0007\u009b', true)).toBe('a\nb\nc]0;x')
  expect(typed('a\n\n\tb', false)).toBe('a b')
  expect(insert('ac', 1, 'b')).toEqual({ text: 'abc', cursor: 2 })
})

test('words are wrapped, and a word that is too long is broken', () => {
  expect(wrapWords('one two three', 8)).toEqual(['one two', 'three'])
  expect(wrapWords('abcdefghij k', 4)).toEqual(['abcd', 'efgh', 'ij k'])
  expect(wrapWords('日本語', 4)).toEqual(['日本', '語'])
  expect(flow(['one', 'two', 'three'], 9)).toEqual(['one   two', 'three'])
})

test('a long line is shown around the cursor', () => {
  expect(windowAround('short', 5, 10)).toEqual({ text: 'short', x: 5 })
  expect(windowAround('abcdefghijklmnop', 16, 8)).toEqual({ text: '…klmnop', x: 7 })
  const { text, x } = windowAround('abcdefghijklmnop', 8, 8)
  expect({ before: text.slice(0, x), length: text.length }).toEqual({ before: '…cdefgh', length: 8 })
})

test('a text of many lines is shown in rows with its cursor', () => {
  expect(rowsAround('abcdef\ngh', 8, 4)).toEqual({ rows: ['abcd', 'ef', 'gh'], x: 1, y: 2 })
  expect(rowsAround('abcd', 4, 4)).toEqual({ rows: ['abcd', ''], x: 0, y: 1 })
  expect(rowsAround('', 0, 4)).toEqual({ rows: [''], x: 0, y: 0 })
})

test('a value is shown without control characters', () => {
  expect(shown('a\u001b[31m\u202eb\tc\u0085')).toBe('a·[31m·b c·')
})

const noKey = Object.fromEntries(
  ['upArrow', 'downArrow', 'return', 'escape', 'ctrl', 'shift', 'tab', 'backspace', 'delete', 'meta'].map((name) => [
    name,
    false,
  ]),
) as unknown as Key

test('keys are recognized, also when quick typing arrives in one chunk', () => {
  expect(formKeys('', { ...noKey, tab: true, shift: true })).toEqual([{ type: 'previous' }])
  expect(formKeys('', { ...noKey, return: true, meta: true })).toEqual([{ type: 'new-line' }])
  expect(formKeys('e', { ...noKey, ctrl: true })).toEqual([{ type: 'editor' }])
  expect(formKeys('x', { ...noKey, ctrl: true })).toEqual([])
  expect(formKeys('Ada\t\u0005\r', noKey)).toEqual([
    { type: 'text', text: 'Ada' },
    { type: 'next' },
    { type: 'editor' },
    { type: 'enter' },
  ])
})
