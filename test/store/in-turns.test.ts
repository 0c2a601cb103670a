/** Long works in slices: others get their turn, and many works hold the event loop no longer than one (decisions/0020). */
import { expect, test } from 'vitest'
import { inTurns } from '../../src/core/primitives/in-turns.ts'

/** Each step takes its time on the processor; `turn` is noted at each. */
function* work(steps: number, stepMs: number, note: () => void): Generator<void, number> {
  for (let n = 0; n < steps; n += 1) {
    for (const until = performance.now() + stepMs; performance.now() < until; );
    note()
    yield
  }
  return steps
}

test('of eight works at once one goes on in each turn', async () => {
  let turn = 0
  let isOver = false
  const count = () => {
    turn += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const steps = new Map<number, number>()
  const note = () => steps.set(turn, (steps.get(turn) ?? 0) + 1)
  const results = await Promise.all(Array.from({ length: 8 }, () => inTurns(work(4, 2, note), 1)))
  isOver = true
  expect(results).toEqual(Array(8).fill(4))
  // In the first turn each does one step, because each begins there; from then on one does.
  const [first, ...later] = [...steps.values()]
  expect(first).toBe(8)
  expect(later).toEqual(Array(24).fill(1))
})

test('an error of a work reaches its caller, and the others go on', async () => {
  const fails = (function* (): Generator<void, number> {
    yield
    throw new RangeError('no')
  })()
  const others = inTurns(
    work(3, 2, () => {}),
    1,
  )
  await expect(inTurns(fails, 1)).rejects.toThrow('no')
  expect(await others).toBe(3)
})
