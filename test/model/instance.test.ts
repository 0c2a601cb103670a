/**
 * The model test of an instance: random interleavings of what consumers ask, what the worker does and what becomes of hosts, held against
 * the plain model after every step. 100 runs by default; MODEL_RUNS=1000 or RESOLVE_SOAK=1 for the long form, MODEL_SEED for one of them.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { prepareHome } from '../../src/core/store/home.ts'
import { checkInvariants } from '../support/invariants.ts'
import { Both, commands, count, end, happenings, One } from './instance-commands.ts'
import { isOver, newborn } from './instance-model.ts'
import { World } from './instance-world.ts'

const isSoak = process.env['RESOLVE_SOAK'] !== undefined && process.env['RESOLVE_SOAK'] !== ''
const RUNS = Number(process.env['MODEL_RUNS'] ?? (isSoak ? 1_000 : 100))
const SEED = Number(process.env['MODEL_SEED'] ?? Date.now() % 1_000_000_000)

let home: string

beforeAll(() => {
  // In memory where it can be: the disk's own speed is nothing that is tested here.
  home = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'resolve-model-'))
  prepareHome(home)
})

afterEach(() => {
  delete process.env['RESOLVE_INSTANCE_LIFETIME']
})

afterAll(() => rmSync(home, { recursive: true, force: true }))

async function live(isResumable: boolean, happenings: Iterable<fc.AsyncCommand<ReturnType<typeof newborn>, World>>) {
  delete process.env['RESOLVE_INSTANCE_LIFETIME']
  const world = await World.create(home, isResumable)
  const model = newborn(isResumable)
  try {
    await fc.asyncModelRun(() => ({ model, real: world }), happenings)
    // Whatever it came to, it can be ended, once; one that had finished into a pause unseen is stopped there.
    for (let tries = 0; tries < 2 && !isOver(model); tries += 1) await end.run(model, world)
    expect(model.status).toMatch(/^(?:completed|failed|cancelled)$/)
    expect(checkInvariants({ home, id: world.id })).toEqual([])
    for (const { held, told } of world.replay()) expect(held).toEqual(told)
  } finally {
    await world.close()
    rmSync(world.paths.root, { recursive: true, force: true })
  }
}

// verifies: R12 R20 R24 R25 R42
test(`${RUNS} random interleavings (seed ${SEED}) behave as the model does`, { timeout: 1_800_000 }, async () => {
  const started = performance.now()
  await fc.assert(fc.asyncProperty(fc.boolean(), commands, live), { numRuns: RUNS, seed: SEED, endOnFailure: isSoak })
  const seconds = ((performance.now() - started) / 1_000).toFixed(1)
  console.log(`${RUNS} runs, ${count.commands} commands, ${count.pairs} pairs, ${seconds} s, seed ${SEED}`)
})

const { answer, cancel, finish, hold, host, letReady, message, pause, resume, stop } = happenings
const one = (...names: Parameters<typeof toOne>[0][]) => names.map(toOne)
const toOne = (what: ConstructorParameters<typeof One>[0]) => new One(what)

test('a pause of a resumed run that is not ready yet waits until it is, and does not cancel it', async () => {
  await live(true, one(host, finish('paused'), hold, resume, pause, letReady, finish('paused'), resume))
})

test('a message to a resumed run that is not ready yet is delivered when it runs', async () => {
  await live(true, one(host, finish('paused'), hold, resume, message('new'), letReady))
})

test('a repeated request is accepted again, also after the end', async () => {
  await live(
    true,
    one(
      host,
      happenings.ask('q1'),
      answer('q1', 'k'),
      message('m'),
      finish('completed'),
      answer('q1', 'k'),
      message('m'),
    ),
  )
})

test('a stop while the run is being paused is not lost', async () => {
  for (let turns = 0; turns < 12; turns += 1) {
    for (const how of [cancel, stop]) await live(true, [new One(host), new Both(finish('paused'), how, turns)])
  }
})

test('of two stops of a paused instance one ends it, the other is refused with that reason', async () => {
  await live(true, [...one(host, finish('paused')), new Both(stop, cancel)])
})

test('a request while an instance ends is refused because it has ended', async () => {
  const force = happenings.force
  for (let turns = 0; turns < 8; turns += 1) await live(false, [new Both(stop, force, turns)])
})

test('a stop of a resumed run that is not ready yet ends it, also when the stop starts its host', async () => {
  await live(true, one(host, finish('paused'), hold, resume, happenings.release, stop))
})
