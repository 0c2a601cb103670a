/** Addresses of the API mean what they name: no URL parser on the way resolves them into another one (threats WEB-7, UI-3). */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addressOf } from '../../src/core/protocol/api/address.ts'
import { API } from '../../src/core/protocol/http.ts'

const ID = '0123456789ab'
const dataFile = (path: string) => addressOf('getInstanceDataFile', { id: ID, path })

test.each([
  '../../abcdef012345/data/secret.txt',
  '../../../health',
  'a/../../stderr',
  '..',
  '.',
  './a',
  'a/./b',
  '',
  '/',
  '/a',
  'a/',
  'a//b',
])('a data file at %j has no address', (path) => {
  expect(dataFile(path)).toBeUndefined()
})

test.each(['', '.', '..'])('an id, a request or a resolver called %j has no address', (word) => {
  expect(addressOf('deleteInstance', { id: word })).toBeUndefined()
  expect(addressOf('postInstanceInputRequest', { id: ID, rid: word })).toBeUndefined()
  expect(addressOf('getResolver', { name: word })).toBeUndefined()
})

test('a parameter that is missing has no address', () => {
  expect(addressOf('getInstance', {})).toBeUndefined()
})

test.each([
  ['a/b c.txt', 'a/b%20c.txt'],
  ['..a/.b./...', '..a/.b./...'],
  ['%2e%2e/x', '%252e%252e/x'],
  ['a\\..\\b', 'a%5C..%5Cb'],
  ['q?x=1#y', 'q%3Fx%3D1%23y'],
])('%j goes on as it is', (path, encoded) => {
  expect(dataFile(path)).toBe(`/instances/${ID}/data/${encoded}`)
})

test('what has an address keeps it in a browser', () => {
  const part = fc.oneof(
    fc.constantFrom('', '.', '..', '%2e', '\\', ' ', '\t.', '..\n', 'a'),
    fc.string({ unit: 'grapheme' }),
  )
  const parts = fc.array(part, { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(parts, part, (path, rid) => {
      const addresses = [dataFile(path.join('/')), addressOf('postInstanceInputRequest', { id: ID, rid })]
      for (const address of addresses) {
        if (address !== undefined) expect(new URL(API + address, 'http://x').pathname).toBe(API + address)
      }
    }),
    { numRuns: 500, seed: 7 },
  )
})
