/** A host that is killed at any step of a promotion: the next one ends at the same pull request, and at most one commit upstream. */
import { execa } from 'execa'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FAILPOINTS } from '../../src/core/failpoints.ts'
import { readPromotions } from '../../src/core/promotion/promotions-file.ts'
import { type PromotionWorld, promotionWorld } from '../support/promotion-place.ts'

const BRANCH = 'resolve/repo-abcdefgh'
const steps = FAILPOINTS.filter((name) => name.startsWith('promotion.'))

let world: PromotionWorld
beforeEach(async () => {
  world = await promotionWorld()
})
afterEach(() => world.close())

function run(failpoints: string, ...args: string[]) {
  const program = new URL('../support/promotion-program.ts', import.meta.url).pathname
  const env = { ...world.env, RESOLVE_FAILPOINTS: failpoints }
  return execa(process.execPath, [program, JSON.stringify(world.place), ...args], { env, reject: false })
}

test.each(steps)('killed at %s, then adopted', async (step) => {
  const commit = world.work({ 'gate.txt': 'shut\n' })
  const killed = await run(`${step}=kill`)
  expect(killed.signal).toBe('SIGKILL')
  // A person who does not wait for the adoption: newer work, promoted by hand, or the adoption first.
  const adopted = await run('', 'finish')
  expect(adopted.stderr).toBe('')
  expect(world.upstream.git(world.name, 'rev-parse', `refs/heads/${BRANCH}`)).toBe(commit)
  expect(world.forge.pulls).toMatchObject([{ head: BRANCH, target: 'main', title: 'Mend the gate' }])
  expect(readPromotions(world.place.file)).toMatchObject([{ commit, stage: 'open', number: 1 }])
})

test.each(steps)('killed at %s, then promoted again with newer work', async (step) => {
  world.work({ 'gate.txt': 'shut\n' })
  expect((await run(`${step}=kill`)).signal).toBe('SIGKILL')
  const commit = world.work({ 'gate.txt': 'locked\n' })
  const again = await run('')
  expect(again.stderr).toBe('')
  expect(world.upstream.git(world.name, 'rev-parse', `refs/heads/${BRANCH}`)).toBe(commit)
  expect(world.forge.pulls).toHaveLength(1)
})
