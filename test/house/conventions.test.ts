/** Holds how the source is written: opening sentences, one catalogue of errors, words, size. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root, sourceFiles } from './source-files.ts'

const files = sourceFiles('src')

test('every file opens with a sentence that says what it is for', () => {
  const silent = files.filter(({ text }) => !/^(?:#![^\n]*\n)?\s*(?:\/\*\*[\s\S]*?[.?!:;)}]\s*\*\/|\/\/ .*)/.test(text))
  expect(silent.map(({ path }) => path)).toEqual([])
})

test('errors come from the catalogue: no bare throw outside errors.ts', () => {
  const bare = files.filter(
    ({ path, code }) => path !== 'src/core/errors.ts' && /\bthrow new (?:Error|TypeError|RangeError)\b/.test(code),
  )
  expect(bare.map(({ path }) => path)).toEqual([])
})

test('messages for a person contain no "please", "successfully", "oops" or "sorry"', () => {
  const words = /\b(?:please|successfully|oops|sorry)\b/i
  const strings = files.flatMap(({ path, code }) => [...code.matchAll(STRING)].map(([text]) => ({ path, text })))
  expect(strings.length).toBeGreaterThan(100)
  expect(strings.filter(({ text }) => words.test(text))).toEqual([])
})

test('comments, identifiers and messages name who acts: no "nobody", "whoever" or "somebody"', () => {
  const words = /nobody|whoever|somebody/i
  const lines = files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, at) => (words.test(line) ? [`${path}:${at + 1} ${line.trim()}`] : [])),
  )
  expect(lines).toEqual([])
})

test('pages for users name who acts: no "nobody", "whoever" or "somebody"', () => {
  const pages = [
    'README.md',
    ...readdirSync(join(root, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
  ]
  expect(pages.length).toBeGreaterThan(10)
  expect(pages.filter((path) => /nobody|whoever|somebody/i.test(readFileSync(join(root, path), 'utf8')))).toEqual([])
})

test('the source holds no TODO, FIXME or other mark of unfinished work', () => {
  const unfinished = files.filter(({ text }) => /\b(?:TODO|FIXME|XXX|not implemented)\b/i.test(text))
  expect(unfinished.map(({ path }) => path)).toEqual([])
})

// When they are loaded is held by package.test.ts.
test('only the terminal and the web page import Ink and React', () => {
  const drawing = files.filter(({ imports }) =>
    imports.some(({ specifier }) => /^(?:ink|react)(?:\/|$)/.test(specifier)),
  )
  expect(drawing.length).toBeGreaterThan(0)
  expect(drawing.map(({ path }) => path).filter((path) => !/^src\/(?:terminal|web)\//.test(path))).toEqual([])
})

const STRING = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/g
