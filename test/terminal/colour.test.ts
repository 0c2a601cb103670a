/** Which stream is coloured, and what Ink is told while it is loaded. */
import { expect, test } from 'vitest'
import { type ColorChoice, isColoured, withInkColour } from '../../src/terminal/output/colour.ts'

const terminal = { isTTY: true }
const pipe = {}

test.each<[string, ColorChoice, { isTTY?: boolean }, Record<string, string>, boolean]>([
  ['a terminal', 'auto', terminal, {}, true],
  ['a pipe', 'auto', pipe, {}, false],
  ['a dumb terminal', 'auto', terminal, { TERM: 'dumb' }, false],
  ['NO_COLOR on a terminal', 'auto', terminal, { NO_COLOR: '1' }, false],
  ['NO_COLOR with any value', 'auto', terminal, { NO_COLOR: '0' }, false],
  ['an empty NO_COLOR', 'auto', terminal, { NO_COLOR: '' }, true],
  ['FORCE_COLOR in a pipe', 'auto', pipe, { FORCE_COLOR: '1' }, true],
  ['FORCE_COLOR=0 on a terminal', 'auto', terminal, { FORCE_COLOR: '0' }, false],
  ['an empty FORCE_COLOR in a pipe', 'auto', pipe, { FORCE_COLOR: '' }, false],
  ['NO_COLOR beside FORCE_COLOR', 'auto', terminal, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
  ['--color always over NO_COLOR', 'always', pipe, { NO_COLOR: '1' }, true],
  ['--color never over FORCE_COLOR', 'never', terminal, { FORCE_COLOR: '1' }, false],
])('%s', (_, choice, stream, env, coloured) => {
  expect(isColoured(choice, stream, env)).toBe(coloured)
})

test('Ink is loaded with the colour setting of stderr, and the environment is restored afterwards', async () => {
  const before = process.env['FORCE_COLOR']
  for (const [coloured, told] of [
    [true, '1'],
    [false, '0'],
  ] as const) {
    expect(await withInkColour(coloured, () => Promise.resolve(process.env['FORCE_COLOR']))).toBe(told)
    expect(process.env['FORCE_COLOR']).toBe(before)
  }
  await expect(withInkColour(true, () => Promise.reject(new Error('not there')))).rejects.toThrow('not there')
  expect(process.env['FORCE_COLOR']).toBe(before)
})
