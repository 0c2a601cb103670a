/** Checks with slow patterns, many at once, leave the thread to others in between (R34; threats WEB-9). */
import { expect, test } from 'vitest'
import { pacedFormRefusal } from '../../src/core/form-check/form-check.ts'
import type { Form } from '../../src/core/protocol/form.ts'

/** Each with a pattern of its own: one that ran out of time before is not run for so long again. */
const slow = (n: number): Form => {
  const pattern = `^(a+)+${n}$`
  const condition = { call: 'regex', args: { value: { path: '/a' }, pattern } } as const
  return { type: 'form', components: [{ id: 'a', type: 'text', checks: [{ condition, message: 'no' }] }] }
}

test('of five slow checks at once none runs directly after another', async () => {
  const ends: number[] = []
  let turns = 0
  let isOver = false
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const checks = Array.from({ length: 5 }, async (_, n) => {
    const refusal = await pacedFormRefusal(slow(n), { a: `${'a'.repeat(60)}!` })
    ends.push(turns)
    return refusal?.code
  })
  expect(await Promise.all(checks)).toEqual(Array(5).fill('form_invalid'))
  isOver = true
  for (const [at, end] of ends.entries()) if (at > 0) expect(end).toBeGreaterThan((ends[at - 1] as number) + 1)
})
