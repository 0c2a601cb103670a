/** The JUnit report of a reality check: its counts, and that hostile text leaves it well-formed. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { junitOf } from '../../../src/core/reality-check/report/junit.ts'
import { checkOf, hostileCheck, testResult, withoutVerdict } from './results.ts'

const hasXmllint = spawnSync('xmllint', ['--version']).status === 0
const three = checkOf([testResult('passed'), testResult('failed', { id: 'b' }), testResult('missing', { id: 'c' })])
const built = checkOf([], { verdict: 'fail', failure_mode: 'software' })

test('a failed test is a failure, a missing one an error, none is skipped', () => {
  const xml = junitOf(three, { name: 'notes' })
  expect(xml).toContain('<testsuites name="notes" tests="3" failures="1" errors="1" time="3.704">')
  expect(xml).toContain('<failure message="Why it failed" type="software">')
  expect(xml).toContain('<error message="Why it missing" type="infrastructure">')
  expect(xml).not.toContain('<skipped')
})

test('a check without a verdict has one error', () => {
  const xml = junitOf(withoutVerdict(), { name: 'notes' })
  expect(xml).toContain('tests="1" failures="0" errors="1"')
  expect(xml.match(/<error /g)).toHaveLength(1)
  expect(xml).toContain('No way to start it was found')
})

test('software that could not be built is a failure although no test was judged', () => {
  expect(junitOf(built, { name: 'notes' })).toContain('tests="1" failures="1" errors="0"')
})

test('a check that passed has no other test cases than its tests', () => {
  expect(junitOf(checkOf([testResult('passed')]), { name: 'notes' })).toContain('tests="1" failures="0" errors="0"')
})

test('hostile text is text: every element is one that the report writes, every character one that XML allows', () => {
  const xml = junitOf(hostileCheck(), { name: ']]>"<&\u0000\ud800' })
  const names = new Set([...xml.matchAll(/<\/?([a-z-]+)/g)].map(([, name]) => name))
  expect([...names].toSorted()).toEqual(['error', 'failure', 'system-out', 'testcase', 'testsuite', 'testsuites'])
  expect(xml).not.toContain(']]>')
  expect(xml.isWellFormed()).toBe(true)
  expect(xml).not.toMatch(/[^\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u)
  expect(xml.replace(/&(?:amp|lt|gt|quot);/g, '')).not.toContain('&')
})

test('an entry of evidence has at most 2 KiB', () => {
  const [, longest] = /(é+ … \(cut off\))/.exec(junitOf(hostileCheck(), { name: 'a' })) ?? []
  expect(Buffer.byteLength(longest ?? '')).toBeGreaterThan(2_000)
  expect(Buffer.byteLength(longest ?? '')).toBeLessThanOrEqual(2_048)
})

test.skipIf(!hasXmllint).each([
  ['three tests', three],
  ['hostile text', hostileCheck()],
  ['no verdict', withoutVerdict()],
  ['not built', built],
])('it is valid against the common schema: %s', (_, result) => {
  expect(validity(junitOf(result, { name: 'a "b" <c>' }))).toEqual([0, '- validates\n'])
})

test.skipIf(!hasXmllint)('what is not valid is noticed', () => {
  expect(validity(junitOf(three, { name: 'a' }).replace('type="software"', ''))[0]).not.toBe(0)
})

function validity(xml: string): [number | null, string] {
  const schema = join(import.meta.dirname, 'junit.xsd')
  const { status, stderr } = spawnSync('xmllint', ['--noout', '--nonet', '--schema', schema, '-'], {
    input: xml,
    encoding: 'utf8',
  })
  return [status, stderr]
}
