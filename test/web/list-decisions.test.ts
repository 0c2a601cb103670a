/** What lists, keys, title and comparison decide, without a browser: the pure functions of the page. */
import { expect, test } from 'vitest'
import { askedIn, newlyAsking, newsText } from '../../src/web/attention/news.ts'
import { nextCard } from '../../src/web/forms/next-question.ts'
import { actionOf, stepFrom } from '../../src/web/keyboard/keymap.ts'
import { titleText } from '../../src/web/parts/window-title.ts'
import { inputPairs, phasePairs, phaseTimes } from '../../src/web/screens/compare/differences.ts'
import {
  addressOfList,
  choiceIn,
  countOf,
  filterCount,
  narrowingOf,
  statusesOf,
} from '../../src/web/screens/list/list-address.ts'
import { reasonOf, stepOf } from '../../src/web/screens/list/row-words.ts'
import { offersFor, outcomeText } from '../../src/web/screens/list/selection.ts'
import { steadyRows } from '../../src/web/screens/list/steady-rows.ts'

const choice = (search: string) => choiceIn(new URLSearchParams(search))
const ids = (...all: string[]) => all.map((instance_id) => ({ instance_id }))

test('an address of a list survives being read and written, and odd values are left out', () => {
  const whole =
    '/instances?tab=done&status=completed&resolver=tour&name=Lighthouse&label=team%3Dred&label=stage&since=2026-01-02&until=2026-02-03&text=sea&order=oldest'
  expect(addressOfList(choice(whole.slice(whole.indexOf('?'))))).toBe(whole)
  expect(addressOfList(choice('tab=nowhere&status=odd&since=2026-99-99&order=up'))).toBe('/instances?tab=all')
  expect(choice('tab=toString').tab).toBe('all')
  expect(filterCount(choice(whole.slice(whole.indexOf('?'))))).toBe(7)
})

test('the last day of a range counts as a whole', () => {
  const { since = '', until = '' } = narrowingOf(choice('since=2026-03-01&until=2026-03-01'))
  expect(Date.parse(until) - Date.parse(since)).toBe(24 * 3_600_000)
})

test('a list asks for open and ended instances apart, and a tab counts its own', () => {
  expect(statusesOf(choice('tab=done'))).toEqual({ open: [], ended: ['completed', 'cancelled'] })
  expect(statusesOf(choice('tab=all&status=paused'))).toEqual({ open: ['paused'], ended: [] })
  expect(statusesOf(choice('tab=failed&status=paused'))).toEqual({ open: [], ended: [] })
  const counts = { running: 2, awaiting_input: 1, failed: 4 }
  expect(['needs-you', 'active', 'done', 'failed', 'all'].map((tab) => countOf(tab as 'all', counts))).toEqual([
    1, 3, 0, 4, 7,
  ])
  expect(countOf('all', undefined)).toBeUndefined()
})

test('rows keep their places while they are held, and new ones wait', () => {
  expect(steadyRows(['a', 'b'], ids('new', 'b', 'a'), true)).toEqual({ rows: ids('a', 'b'), held: 1 })
  expect(steadyRows(['a', 'b'], ids('b', 'c', 'd'), true)).toEqual({ rows: ids('b', 'c', 'd'), held: 0 })
  expect(steadyRows(['a', 'b'], ids('new', 'b', 'a'), false)).toEqual({ rows: ids('new', 'b', 'a'), held: 0 })
  expect(steadyRows([], ids('a'), true)).toEqual({ rows: ids('a'), held: 0 })
})

test('what fits the selected ones is offered: stop, remove, compare two', () => {
  const running = { instance_id: '1', status: 'running' } as const
  const paused = { instance_id: '2', status: 'paused' } as const
  const failed = { instance_id: '3', status: 'failed' } as const
  expect(offersFor([running, paused, failed])).toEqual({ stop: ['1'], remove: ['3'], compare: null })
  expect(offersFor([running, failed]).compare).toBe('/instances/compare?left=1&right=3')
  expect(outcomeText('remove', 2, 2, null)).toBe('2 of 2 instances were removed.')
  expect(outcomeText('stop', 1, 2, 'It has ended.')).toBe('1 of 2 instances were asked to stop. It has ended.')
})

test('a row tells why it failed and how far it is', () => {
  const told = { status: 'failed', error: { code: 'x', detail: 'No\ntests' }, phase: 'p', progress: null } as const
  expect(reasonOf(told)).toMatch(/^No.+tests$/)
  expect(reasonOf({ ...told, status: 'running', reason: 'why' })).toBeNull()
  expect(reasonOf({ ...told, status: 'cancelled', reason: 'seen enough' })).toBe('seen enough')
  const progress = { milestone: 'm', fraction: 0.456, label: 'Second draft', at: '' }
  expect(stepOf({ ...told, status: 'running', progress })).toEqual({
    phase: 'p',
    progress: 'Second draft',
    percent: 46,
  })
  expect(stepOf({ ...told, progress })).toEqual({ phase: 'p', progress: null, percent: null })
})

test('only a question that was not there before is news, and none is at the first look', () => {
  const bridge = { instance_id: '1', name: 'Bridge', resolver: 'tour', pending_inputs: 1 }
  expect(newlyAsking(undefined, [bridge])).toEqual([])
  expect(newlyAsking(askedIn([]), [bridge])).toEqual([bridge])
  expect(newlyAsking(askedIn([bridge]), [bridge])).toEqual([])
  expect(newlyAsking(askedIn([bridge]), [{ ...bridge, pending_inputs: 2 }])).toHaveLength(1)
  expect(newsText([bridge])).toBe('Bridge (tour) waits for an answer.')
  expect(newsText([bridge, bridge, bridge])).toBe('Bridge and 2 more instances wait for an answer.')
  expect(titleText('Inbox', 3)).toBe('(3) Inbox · resolve')
  expect(titleText('Inbox', 0)).toBe('Inbox · resolve')
})

test('letters are keys only outside of fields and dialogs', () => {
  const press = (key: string, more = {}) =>
    actionOf({ key, ctrlKey: false, metaKey: false, altKey: false, isTyping: false, isCovered: false, ...more })
  expect([press('?'), press('/'), press('j'), press('k'), press('x')]).toEqual([
    'help',
    'search',
    'next',
    'previous',
    null,
  ])
  expect(press('j', { isTyping: true })).toBeNull()
  expect(press('?', { isCovered: true })).toBeNull()
  expect(press('k', { ctrlKey: true, isTyping: true })).toBe('palette')
  expect(press('k', { ctrlKey: true, isCovered: true })).toBeNull()
  expect(press('Enter', { metaKey: true, isTyping: true })).toBe('submit')
  expect([
    stepFrom(-1, 3, 'next'),
    stepFrom(2, 3, 'next'),
    stepFrom(0, 3, 'previous'),
    stepFrom(-1, 0, 'next'),
  ]).toEqual([0, 2, 0, -1])
})

test('after an answer the question below is next, after the last one the first', () => {
  expect([nextCard(0, 3), nextCard(2, 3), nextCard(0, 1), nextCard(-1, 0)]).toEqual([1, 0, -1, -1])
})

test('of two inputs the fields that differ come first, and phases are summed by name', () => {
  expect(inputPairs({ a: 'x', b: 1 }, { a: 'x', b: 2, c: true })).toEqual([
    { name: 'b', left: '1', right: '2', isSame: false },
    { name: 'c', left: null, right: 'true', isSame: false },
    { name: 'a', left: 'x', right: 'x', isSame: true },
  ])
  const at = (second: number) => new Date(second * 1_000).toISOString()
  const phases = [
    { name: 'plan', at: at(0) },
    { name: 'build', at: at(2) },
    { name: 'plan', at: at(5) },
  ]
  const times = phaseTimes({ phases, endedAt: at(6) }, 0)
  expect(times).toEqual([
    { name: 'plan', ms: 3_000 },
    { name: 'build', ms: 3_000 },
  ])
  expect(
    phasePairs(times, [{ name: 'ship', ms: 1 }], String).map(({ name, left, right }) => [name, left, right]),
  ).toEqual([
    ['plan', '3000', null],
    ['build', '3000', null],
    ['ship', null, '1'],
  ])
})
