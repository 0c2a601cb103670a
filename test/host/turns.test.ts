/** Who may start, and the places of those that wait: pure. */
import { expect, test } from 'vitest'
import { PassedOver } from '../../src/core/host/queue/passed-over.ts'
import { isNews, turnsOf, type Waiting } from '../../src/core/host/queue/turns.ts'

const waits = (id: string, second: number, resolver = 'plain', maxRunning?: number): Waiting => ({
  ...{ id, resolver, maxRunning },
  since: new Date(second * 1_000).toISOString(),
})
const runs = (...resolvers: string[]) => resolvers.map((resolver, at) => ({ id: `r${at}`, resolver }))
const asText = (turns: ReturnType<typeof turnsOf>) =>
  Object.fromEntries([...turns].map(([id, turn]) => [id, turn === 'start' ? turn : `${turn.position} ${turn.bound}`]))

test('the oldest start first, as many as there is room; the others have places by age (R70)', () => {
  const waiting = [waits('c', 3), waits('a', 1), waits('d', 4), waits('b', 2)]
  expect(asText(turnsOf({ running: runs('x'), waiting }, 3))).toEqual({
    ...{ a: 'start', b: 'start', c: '1 home', d: '2 home' },
  })
  expect(asText(turnsOf({ running: runs('x', 'y', 'z', 'x'), waiting }, 3))).toEqual({
    ...{ a: '1 home', b: '2 home', c: '3 home', d: '4 home' },
  })
  expect([...turnsOf({ running: runs('x'), waiting }, undefined).values()]).toEqual(Array(4).fill('start'))
})

test('an instance that waits for the bound of its resolver does not hold back others (R70)', () => {
  const waiting = [waits('a', 1, 'one', 1), waits('b', 2, 'one', 1), waits('c', 3, 'two')]
  expect(asText(turnsOf({ running: runs('one'), waiting }, undefined))).toEqual({
    ...{ a: '1 resolver', b: '2 resolver', c: 'start' },
  })
  expect(asText(turnsOf({ running: [], waiting }, 2))).toEqual({ a: 'start', b: '1 resolver', c: 'start' })
})

test('of two that began at the same time the smaller id is first, in every process', () => {
  expect(asText(turnsOf({ running: [], waiting: [waits('b', 1), waits('a', 1)] }, 1))).toEqual({
    ...{ a: 'start', b: '1 home' },
  })
})

test('who does not act on its turn for 5 s is passed over, for a minute; who only looked long ago judges no other (R70)', () => {
  const waiting = [waits('a', 1), waits('b', 2), waits('c', 3)]
  const standing = { running: [], waiting }
  const passed = new PassedOver()
  const look = (now: number) => {
    passed.begin(now)
    let turns = turnsOf(passed.without(standing), 1)
    while (passed.note(now, turns)) turns = turnsOf(passed.without(standing), 1)
    return asText(turns)
  }
  expect(look(0)).toEqual({ a: 'start', b: '1 home', c: '2 home' })
  expect(look(4_900)).toEqual({ a: 'start', b: '1 home', c: '2 home' })
  expect(look(5_000)).toEqual({ b: 'start', c: '1 home' })
  // For its own turn it counts, at its place by age.
  expect(asText(turnsOf(passed.without(standing, 'a'), 1))).toEqual({ a: 'start', b: '1 home', c: '2 home' })
  expect(look(9_900)).toEqual({ b: 'start', c: '1 home' })
  expect(look(10_000)).toEqual({ c: 'start' })
  // A process that was suspended itself begins anew.
  expect(look(20_000)).toEqual({ c: 'start' })
  expect(look(70_000)).toEqual({ a: 'start', b: '1 home', c: '2 home' })
})

test('the first five places are told each, those behind when they have come a fifth nearer', () => {
  const place = (position: number) => ({ position, bound: 'home' as const, limit: 2 })
  expect(isNews(null, place(40))).toBe(true)
  expect([39, 33, 32].map((now) => isNews(place(40), place(now)))).toEqual([false, false, true])
  expect([6, 5, 4].map((now) => isNews(place(7), place(now)))).toEqual([false, true, true])
  expect(isNews(place(3), place(3))).toBe(false)
  expect(isNews(place(3), { ...place(3), limit: 4 })).toBe(true)
})
