/** Holds the contract with clients: the stored lines (contract.txt) and the present ones, and the data of events against docs/events.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EVENT_DATA } from '../../src/core/protocol/api/events.ts'
import { OPERATIONS } from '../../src/core/protocol/api/operations.ts'
import { breaksBetween, contractLines, type Lines } from './contract.ts'
import { root } from './source-files.ts'

const STORED = join(import.meta.dirname, 'contract.txt')

function stored(): Lines {
  const lines = readFileSync(STORED, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
  return new Map(lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]))
}

const textOf = (lines: Lines) => `${[...lines].map(([at, type]) => `${at}: ${type}`).join('\n')}\n`

// verifies: S-VER-04
test('nothing was taken from the contract with clients, or changed in it', () => {
  expect(breaksBetween(stored(), contractLines())).toEqual([])
})

test('what was added to the contract is stored: UPDATE_CONTRACT=1 adds it, and a break on purpose is edited by hand', () => {
  const now = contractLines()
  const before = stored()
  const isSound = breaksBetween(before, now).length === 0
  if (process.env['UPDATE_CONTRACT'] === '1' && isSound) writeFileSync(STORED, textOf(now))
  const kept = stored()
  const added = [...now.keys()].filter((at) => !kept.has(at))
  expect(added, 'Run "UPDATE_CONTRACT=1 npm test -- test/house/contract.test.ts" to store what is new.').toEqual([])
})

test('a field that is gone, or of another type, and a new one that is required are noticed', () => {
  const before = contractLines()
  const without = (at: string) => new Map([...before].filter(([one]) => one !== at && !one.startsWith(`${at}.`)))
  const having = (at: string, type: string) => new Map([...before, [at, type]])
  expect(breaksBetween(before, without('Instance.phase'))).toEqual([
    'Instance.phase is gone. CONTRIBUTING.md calls that breaking: a client of today asks for it.',
  ])
  expect(breaksBetween(before, without('Story.creation'))).toHaveLength(1)
  expect(breaksBetween(before, having('Instance.pending_inputs', 'string (required)'))).toEqual([
    'Instance.pending_inputs was integer, minimum 0 (required) and is string (required). CONTRIBUTING.md calls that breaking: a client of today expects what it was.',
  ])
  expect(breaksBetween(before, without('event platform.worker.adopted.epoch'))).toHaveLength(1)
  expect(breaksBetween(before, having('Instance.badges', 'array of string (required)'))).toEqual([
    'Instance.badges is new and required. Make it optional(…): a server of today does not give it.',
  ])
  expect(breaksBetween(before, having('POST /instances takes body.badges', 'array of string (required)'))).toEqual([
    'POST /instances takes body.badges is new and required. Make it optional(…): a client of today does not send it.',
  ])
  expect(breaksBetween(before, having('Instance.badges', 'array of string'))).toEqual([])
  expect(breaksBetween(before, having('GET /labels gives 200.name', 'string (required)'))).toEqual([])
})

test('docs/events.md lists the fields of every event of tiers 1 and 2, and no other (R17, R18)', () => {
  const page = readFileSync(join(root, 'docs/events.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `((?:platform\.|resolver:)[\w.]+)` \| (.*) \|$/gm)]
  const listed = rows.map(([, event = '', cell = '']) => {
    const fields = /^`([^`]*)`/.exec(cell)?.[1]
    return [event, fields === undefined && cell.includes('not written yet') ? null : (fields ?? '')]
  })
  const known = Object.entries(EVENT_DATA).map(([event, schema]) => {
    if (schema === null) return [event, null]
    const { properties, required = [] } = schema as unknown as { properties: object; required?: string[] }
    const names = Object.keys(properties).map((name) => (required.includes(name) ? name : `${name}?`))
    return [event, names.join(', ')]
  })
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(known))
})

test('every operation has an address of its own, and one that takes a key or a body is no GET', () => {
  const addresses = Object.values(OPERATIONS).map(({ method, path }) => `${method} ${path}`)
  expect(new Set(addresses).size).toBe(addresses.length)
  const odd = Object.entries(OPERATIONS).filter(([name, { method }]) => !name.startsWith(method.toLowerCase()))
  expect(odd).toEqual([])
  expect(Object.values(OPERATIONS).filter((one) => one.method === 'GET' && 'body' in one)).toEqual([])
})
