/** Known secrets in every form they are looked for, and how little it costs where there are none (threats B9). */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { REDACTED, Redactor } from '../../src/core/redaction/redact.ts'

const PLAIN = 'sk-live-0123456789abcdef'
const ODD = 'pä"ss\\w/rd+&=%42 x'
const KEY = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nabcdefgh12345678\n-----END KEY-----'
const redactor = new Redactor([PLAIN, ODD, KEY, 'short', ''])

const base64At = (offset: number, secret: string) =>
  Buffer.concat([Buffer.from('xyz'.slice(0, offset)), Buffer.from(secret), Buffer.from(' and more')]).toString('base64')

test.each([
  ['as it is', PLAIN],
  ['inside a text', `a${PLAIN}b`],
  ['with odd characters', ODD],
  ['JSON-escaped', JSON.stringify(ODD)],
  ['JSON-escaped in JSON', JSON.stringify(JSON.stringify(ODD))],
  ['JSON as ASCII', JSON.stringify(ODD).replace('ä', '\\u00e4')],
  ['URL-encoded', encodeURIComponent(ODD)],
  ['URL-encoded in lower case', encodeURIComponent(ODD).toLowerCase()],
  ['form-encoded', encodeURIComponent(ODD).replaceAll('%20', '+')],
  ['base64, first alignment', base64At(0, PLAIN)],
  ['base64, second alignment', base64At(1, PLAIN)],
  ['base64, third alignment', base64At(2, PLAIN)],
  ['base64url', base64At(1, ODD).replaceAll('+', '-').replaceAll('/', '_')],
  ['all lines', KEY],
  ['one line of several', 'MIIEvQIBADANBgkqhkiG9w0B'],
  ['the last line of several', 'abcdefgh12345678'],
])('a secret is redacted %s', (_, text) => {
  expect(redactor.text(text)).toContain(REDACTED)
  expect(redactor.holds(Buffer.from(text))).toBe(true)
})

test('no part of a secret remains around its redaction, in text and in base64', () => {
  expect(redactor.text(`token=${PLAIN};`)).toBe('token=[redacted];')
  for (const offset of [0, 1, 2]) {
    const rest = Buffer.from(redactor.text(base64At(offset, PLAIN)).replace(REDACTED, ''), 'base64').toString('latin1')
    for (let at = 0; at + 4 <= PLAIN.length; at += 1) expect(rest).not.toContain(PLAIN.slice(at, at + 4))
  }
})

test('values of fewer than 8 characters and other text are not redacted', () => {
  const text = 'a short text with nothing in it'
  expect(redactor.text(text)).toBe(text)
  expect(new Redactor(['short']).isIdle).toBe(true)
})

test('a JSON value keeps its shape; its strings, keys and numbers are redacted', () => {
  const numeric = new Redactor(['1234567890'])
  const value = { a: [1, 'x 1234567890 y'], 1234567890: { deep: 1234567890 }, kept: null }
  expect(numeric.value(value)).toEqual({
    a: [1, 'x [redacted] y'],
    '[redacted]': { deep: REDACTED },
    kept: null,
  })
  const clean = { a: [1, { b: 'c' }], d: true }
  expect(numeric.value(clean)).toBe(clean)
})

test('a tail never begins with a part of a secret', () => {
  const text = `${'x'.repeat(100)}${PLAIN}\nthe end`
  for (let bytes = 1; bytes < 40; bytes += 1) {
    const tail = redactor.tail((max) => text.slice(-max), bytes)
    expect(tail.length).toBeLessThanOrEqual(bytes)
    expect(tail).not.toMatch(/[0-9a-f]{4}\n/)
  }
})

test('a secret written with JSON escapes is found', () => {
  const line = Buffer.from('{"a":"\\u0073k-live-0123456789abcdef"}')
  expect(redactor.suspects(line)).toBe(true)
  expect(redactor.value(JSON.parse(line.toString()))).toEqual({ a: REDACTED })
  expect(redactor.suspects(Buffer.from('{"a":"a line\\nof \\"text\\" \\u001b[0m"}'))).toBe(false)
})

test('the search in bytes finds the same as the search in text', () => {
  const secrets = ['aaaaaaaa', 'abababab', 'ababacdeé', 'bbbbaaaab']
  const small = new Redactor(secrets)
  const letters = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'é'), { maxLength: 40 })
  fc.assert(
    fc.property(letters, (chars) => {
      const text = chars.join('')
      expect(small.holds(Buffer.from(text))).toBe(small.text(text) !== text)
    }),
    { numRuns: 3_000 },
  )
})

test('the search costs less than the parse of the same line', () => {
  const data = { milestone: 'planning the work of the day', fraction: 0.25, label: 'some text here that goes on' }
  const line = Buffer.from(JSON.stringify({ schema_version: 1, event_type: 'plain.progress', data }))
  const cost = (step: () => unknown) => {
    const before = process.threadCpuUsage()
    for (let round = 0; round < 20_000; round += 1) step()
    const { user, system } = process.threadCpuUsage(before)
    return user + system
  }
  // By turns, so that other work of the machine slows down both.
  const turns = Array.from({ length: 9 }, () => ({
    parse: cost(() => JSON.parse(line.toString('utf8'))),
    search: cost(() => redactor.suspects(line)),
  }))
  const middle = (times: number[]) => times.sort((a, b) => a - b)[4] as number
  expect(redactor.suspects(line)).toBe(false)
  expect(middle(turns.map(({ search }) => search))).toBeLessThan(middle(turns.map(({ parse }) => parse)))
})
