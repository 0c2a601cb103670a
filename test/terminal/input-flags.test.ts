/** -i, --input-file and --answers, read into payloads. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Form, Payload } from '../../src/core/protocol/form.ts'
import { toAnswers } from '../../src/terminal/input/answers.ts'
import { fitToDisclosed, fitToForm, readInput } from '../../src/terminal/input/input-flags.ts'
import { CommandError } from '../../src/terminal/output/command-error.ts'

const folder = mkdtempSync(join(tmpdir(), 'resolve-input-'))
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

const form: Form = {
  type: 'form',
  components: [
    { id: 'name', type: 'text' },
    { id: 'urgent', type: 'checkbox' },
    { id: 'depth', type: 'select', options: [{ value: '1', label: 'one' }] },
  ],
}

async function refusal(promise: Promise<unknown>): Promise<CommandError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof CommandError)) expect.fail(`no CommandError but ${String(error)}`)
  return error
}

test('a value may hold equals signs, and stays a string', async () => {
  expect((await readInput({ input: ['name=a=b', 'depth=1'] })).payload).toEqual({ name: 'a=b', depth: '1' })
})

test('@file is the text of a file, @@ an at sign', async () => {
  const path = file('name.txt', 'Ada\nLovelace\n')
  expect((await readInput({ input: [`name=@${path}`, 'depth=@@1'] })).payload).toEqual({
    name: 'Ada\nLovelace',
    depth: '@1',
  })
})

test('a value of -i wins over the file, and extra keys of the file are kept (R36)', async () => {
  const path = file('input.json', '{"name": "Bob", "extra": [1], "depth": 1}')
  const given = await readInput({ 'input-file': path, input: ['name=Ada'] })
  expect(fitToForm(given, form)).toEqual({ name: 'Ada', extra: [1], depth: 1 })
})

test.each(['yes', 'TRUE', '1', 'on', 'y'])('a checkbox takes %s as true', async (word) => {
  expect(fitToForm(await readInput({ input: [`urgent=${word}`] }), form)).toEqual({ urgent: true })
})

test.each(['no', 'False', '0', 'off', ''])('a checkbox takes "%s" as false', async (word) => {
  expect(fitToForm(await readInput({ input: [`urgent=${word}`] }), form)).toEqual({ urgent: false })
})

test('an option given with -i is submitted as the form declares it, compared as text (R51)', async () => {
  const options = [1, 2.5, true, 'x'].map((value) => ({ value, label: String(value) }))
  const typed: Form = { type: 'form', components: [{ id: 'size', type: 'select', options }] }
  for (const { value } of options) {
    expect(fitToForm(await readInput({ input: [`size=${value}`] }), typed)).toEqual({ size: value })
  }
  const given = await readInput({ input: ['size=3'] })
  expect(() => fitToForm(given, typed)).toThrow(/"3" is not an option of "size"/)
})

test('a checkbox refuses other values', async () => {
  const given = await readInput({ input: ['urgent=maybe'] })
  expect(() => fitToForm(given, form)).toThrow(/"urgent" is a checkbox/)
})

test('a value in a file is never cast', async () => {
  const given = await readInput({ 'input-file': file('box.json', '{"urgent": "no"}') })
  expect(fitToForm(given, form)).toEqual({ urgent: 'no' })
})

test('an unknown field names the nearest and all of them', async () => {
  const given = await readInput({ input: ['nmae=Ada'] })
  const error = await refusal((async () => fitToForm(given, form))())
  expect(error.exitCode).toBe(2)
  expect(error.message).toContain('did you mean "name"?')
  expect(error.message).toContain('name, urgent, depth')
  expect(error.extras.fields).toEqual([{ id: 'nmae', message: expect.stringContaining('nmae') as string }])
})

test('a resolver without a form accepts every input (R44)', async () => {
  const given = await readInput({ input: ['anything=goes'] })
  expect(fitToForm(given, null)).toEqual({ anything: 'goes' })
})

test('__proto__ is a key like any other', async () => {
  const { payload } = await readInput({ input: ['__proto__=x'] })
  expect(Object.keys(payload)).toEqual(['__proto__'])
  expect(Object.getPrototypeOf(payload)).toBe(Object.prototype)
})

test.each([
  ['a pair without a value', { input: ['name'] }, /has no value/, 'usage'],
  ['a pair without a field', { input: ['=x'] }, /has no value/, 'usage'],
  ['a file that is not there', { input: ['name=@/no/such/file'] }, /there is no such file/, 'usage'],
  ['an input file with a list', { 'input-file': file('list.json', '[1]') }, /is not a JSON object/, 'usage'],
  ['an input file with bad JSON', { 'input-file': file('bad.json', '{') }, /Invalid JSON in/, 'invalid_json'],
])('%s is refused with exit code 2', async (_, flags, message, code) => {
  const error = await refusal(readInput(flags))
  expect(error.message).toMatch(message)
  expect(error.exitCode).toBe(2)
  expect(error.error.code).toBe(code)
})

test('an exact request id wins over a glob, the first glob over later ones', () => {
  const answers = toAnswers({ 'gate*': { a: 1 }, '*': { a: 2 }, 'gate-2': { a: 3 } }, 'answers.json')
  expect(answers.forRequest('gate-2')).toEqual({ a: 3 })
  expect(answers.forRequest('gate-1')).toEqual({ a: 1 })
  expect(answers.forRequest('other')).toEqual({ a: 2 })
  expect(toAnswers({ 'gate*': {} }, 'f').forRequest('other')).toBeUndefined()
  expect(() => toAnswers({ gate: 'yes' }, 'answers.json')).toThrow(/"gate" in answers.json is not a JSON object/)
})

test('a checkbox value discloses further fields, one after the other, before a name counts as unknown', async () => {
  const box = (id: string) => ({ type: 'checkbox' as const, id, checks: [] })
  const ask = async (payload: Payload) => ({
    form: {
      type: 'form' as const,
      components: [
        box('a'),
        ...(payload['a'] === true ? [box('b')] : []),
        ...(payload['b'] === true ? [box('c')] : []),
      ],
    },
  })
  const given = await readInput({ input: ['c=yes', 'b=true', 'a=on'] })
  expect((await fitToDisclosed(given, ask)).payload).toEqual({ a: true, b: true, c: true })
  const hidden = await readInput({ input: ['a=off', 'b=true'] })
  await expect(fitToDisclosed(hidden, ask)).rejects.toThrow(/There is no field "b"/)
})
