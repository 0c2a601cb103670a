/**
 * What may happen to an instance, one thing at a time or two at once. After each the instance is what one of the orders would have made
 * of it, and each caller got the answer that fits that order.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { ResultStatus } from '../../src/core/protocol/instance.ts'
import type { Model, Outcome } from './instance-model.ts'
import * as model from './instance-model.ts'
import { LOST, viewOf, type World } from './instance-world.ts'

/** One thing that happens: whether it can, what it comes to by the model, and how it is done. */
export interface Happening {
  readonly name: string
  canHappen(m: Model): boolean
  /** Changes the model. */
  step(m: Model, sent: number): Outcome
  /** `sent` numbers what is sent. */
  happen(world: World, sent: number): Outcome | Promise<Outcome>
  /** Asked of a host, which is found first. */
  readonly asksHost?: boolean
  readonly takesHost?: boolean
  /** What it does is not to be seen from outside at once. */
  readonly isAlone?: boolean
}

const LIMIT_MS = 5_000

/** How many were carried out, in all runs. */
export const count = { commands: 0, pairs: 0 }

export class One implements fc.AsyncCommand<Model, World> {
  readonly #what: Happening

  constructor(what: Happening) {
    this.#what = what
  }

  check = (m: Readonly<Model>): boolean => this.#what.canHappen(m as Model)

  async run(m: Model, world: World): Promise<void> {
    count.commands += 1
    const outcome = await this.#what.happen(world, m.sent)
    await settle(m, world, outcomesOf(m, [[this.#what, m.sent]]), [outcome], this.toString())
  }

  toString(): string {
    return this.#what.name
  }
}

/** Two at once, the second so many turns of the event loop behind the first. */
export class Both implements fc.AsyncCommand<Model, World> {
  readonly #first: Happening
  readonly #second: Happening
  readonly #turns: number

  constructor(first: Happening, second: Happening, turns = 0) {
    this.#first = first
    this.#second = second
    this.#turns = turns
  }

  check = (m: Readonly<Model>): boolean => {
    const both = [this.#first, this.#second]
    if (!both.every((one) => one.canHappen(m as Model) && one.isAlone !== true)) return false
    // A dead process does nothing more: what it still did is tested by kills of real ones.
    return !both.some((one) => one.takesHost) || (m.isHosted && both.every((one) => one.takesHost || one.asksHost))
  }

  async run(m: Model, world: World): Promise<void> {
    count.commands += 2
    count.pairs += 1
    const { sent } = m
    const outcomes = await Promise.all([this.#first.happen(world, sent), this.#later(world, sent + 1)])
    const [first, second] = [[this.#first, sent] as const, [this.#second, sent + 1] as const]
    const orders = [
      ...outcomesOf(m, [first, second]),
      ...outcomesOf(m, [second, first]).map(({ after, told }) => ({ after, told: told.toReversed() })),
    ]
    await settle(m, world, orders, outcomes, this.toString())
  }

  async #later(world: World, sent: number): Promise<Outcome> {
    for (let n = 0; n < this.#turns; n += 1) await turn()
    return await this.#second.happen(world, sent)
  }

  toString(): string {
    return `${this.#first.name} with ${this.#second.name} ${this.#turns} turns later`
  }
}

interface Order {
  after: Model
  /** One for each happening; undefined where nothing can be told for sure. */
  told: (Outcome | undefined)[]
}

/** All that may come of these, one after the other. */
function outcomesOf(before: Model, happenings: readonly (readonly [Happening, number])[]): Order[] {
  let orders: Order[] = [{ after: structuredClone(before), told: [] }]
  const all = happenings.map(([one]) => one)
  for (const [index, [one, sent]] of happenings.entries()) {
    // The second may come before the instance goes on from the first.
    const waits = index < happenings.length - 1 ? [false, true] : [false]
    orders = orders.flatMap((order) => waits.flatMap((isWaiting) => after(order, one, sent, all, isWaiting)))
  }
  return orders
}

function after(
  { after: before, told }: Order,
  one: Happening,
  sent: number,
  all: readonly Happening[],
  isWaiting: boolean,
): Order[] {
  const at = (change: (m: Model) => Outcome | undefined): Order => {
    const m = structuredClone(before)
    const outcome = change(m)
    m.sent = Math.max(m.sent, sent + 1)
    if (!isWaiting) model.goOn(m)
    return { after: m, told: [...told, outcome] }
  }
  if (one.asksHost !== true) return [at((m) => one.step(m, sent))]
  const isToBeHosted = !before.isHosted && model.isLive(before)
  const attended = (m: Model) => {
    if (isToBeHosted) m.isHosted = true
  }
  const found = at((m) => {
    attended(m)
    return one.step(m, sent)
  })
  // The host it brings may look around first.
  const looked = at((m) => {
    attended(m)
    model.goOn(m)
    return one.step(m, sent)
  })
  // Where its host dies, it is told nothing: it was taken, or it was not.
  const lost = all.some((other) => other.takesHost) ? [at(() => undefined), at((m) => void one.step(m, sent))] : []
  return isToBeHosted ? [found, looked, ...lost] : [found, ...lost]
}

/** Waits until the instance is what one of the orders makes of it, and takes that for what happened. */
async function settle(
  m: Model,
  world: World,
  orders: readonly Order[],
  outcomes: readonly Outcome[],
  what: string,
): Promise<void> {
  const fits = orders.filter(({ told }) => told.every((word, index) => isSame(word, outcomes[index])))
  if (fits.length === 0) {
    const expected = JSON.stringify(orders.map(({ told }) => told))
    throw new Error(`${what}: told ${JSON.stringify(outcomes)} where the model says one of ${expected}`)
  }
  const deadline = Date.now() + LIMIT_MS
  for (let tries = 0; ; tries += 1) {
    const seen = await world.view()
    const found = fits.find(({ after }) => isDeepStrictEqual(seen, viewOf(after)))
    if (found !== undefined) {
      await turn()
      // Not only in passing.
      if (!isDeepStrictEqual(await world.view(), viewOf(found.after))) continue
      Object.assign(m, structuredClone(found.after))
      if (world.puppet.faults.length > 0) throw new Error(`${what}: ${world.puppet.faults.join('; ')}`)
      return
    }
    if (Date.now() > deadline) {
      const expected = fits.map(({ after }) => JSON.stringify(viewOf(after))).join('\n  or ')
      throw new Error(`${what}: the instance is\n     ${JSON.stringify(await world.view())}\n  not ${expected}`)
    }
    await (tries < 200 ? turn() : sleep(5))
  }
}

/** A refusal is no effect: what was lost may have been refused as well as taken. */
function isSame(word: Outcome | undefined, outcome: Outcome | undefined): boolean {
  return word === undefined ? outcome === LOST || !/^(?:ok|\d+)$/.test(outcome ?? '') : word === outcome
}

// What consumers ask

const ACTOR = { actor: 'tester', via: 'cli' } as const

const answer = (id: string, key: string): Happening => ({
  name: `answer ${id} (${key})`,
  asksHost: true,
  canHappen: () => true,
  step: (m, sent) => model.answer(m, id, `answer ${sent}`, key === 'new' ? `answer ${sent}` : key),
  happen: (world, sent) => {
    const x = `answer ${sent}`
    return world.told((acts, i) => acts.answer(i, id, { x }, { ...ACTOR, key: key === 'new' ? x : key }))
  },
})

const wrongAnswer = (id: string): Happening => ({
  name: `answer ${id} wrongly`,
  asksHost: true,
  canHappen: () => true,
  step: (m) => model.answer(m, id, '', 'wrong'),
  happen: (world) => world.told((acts, i) => acts.answer(i, id, {}, { ...ACTOR, key: 'wrong' })),
})

const message = (key: string): Happening => ({
  name: `message (${key})`,
  asksHost: true,
  canHappen: () => true,
  step: (m, sent) => model.message(m, `message ${sent}`, key === 'new' ? `message ${sent}` : key),
  happen: (world, sent) => {
    const text = `message ${sent}`
    return world.told((acts, i) => acts.message(i, 'note', { text }, { ...ACTOR, key: key === 'new' ? text : key }))
  },
})

const stop = (kind: 'stop' | 'cancel', isForced: boolean): Happening => ({
  name: isForced ? `${kind} by force` : kind,
  asksHost: true,
  canHappen: () => true,
  step: (m) => model.stop(m, kind, isForced),
  happen: (world) => world.told((acts, i) => acts.stop(i, kind, `${kind}_requested`, isForced)),
})

const pause: Happening = {
  name: 'pause',
  asksHost: true,
  canHappen: () => true,
  step: model.pause,
  happen: (world) => world.told((acts, i) => acts.pause(i)),
}

const resume: Happening = {
  name: 'resume',
  canHappen: (m) => !m.isOld,
  step: model.resume,
  happen: (world) => world.told((acts, i) => acts.resume(i, {})),
}

// What becomes of hosts

const host: Happening = {
  name: 'host',
  canHappen: (m) => !m.isHosted && model.isLive(m),
  step: model.host,
  happen: (world) => world.host(),
}

const release: Happening = {
  name: 'release',
  takesHost: true,
  canHappen: (m) => m.isHosted && !m.isOld,
  step: model.loseHost,
  happen: (world) => world.release(),
}

const kill: Happening = { ...release, name: 'kill the host', happen: (world) => world.kill() }

/** The next host finds that it has been up for as long as it may. */
const grow: Happening = {
  name: 'lifetime over',
  isAlone: true,
  canHappen: (m) => m.isHosted && !m.isOld,
  step: (m) => {
    model.loseHost(m)
    m.isOld = true
    return model.host(m)
  },
  happen: async (world) => {
    world.release()
    // As long as it may be up: no time at all.
    process.env['RESOLVE_INSTANCE_LIFETIME'] = '0ms'
    await world.host()
    await sleep(5)
    return 'ok'
  },
}

// What the worker does, seen by a host or not

/** A dead process does nothing; one that has said how it ends may still say something. */
const canAct = (m: Model) => m.worker?.isUp === true && m.worker.hasRun

const emit = (times: number): Happening => ({
  name: `emit ${times}`,
  canHappen: canAct,
  step: (m, sent) => {
    for (let n = 0; n < times && canAct(m); n += 1) m.worker?.told.push(`event ${sent}.${n}`)
    return 'ok'
  },
  happen: (world, sent) => {
    for (let n = 0; n < times; n += 1) world.puppet.emit(`event ${sent}.${n}`)
    return 'ok'
  },
})

const ask = (...ids: string[]): Happening => ({
  name: `ask ${ids.join(', ')}`,
  canHappen: canAct,
  step: (m) => {
    if (canAct(m)) m.worker?.asked.push(...ids)
    return 'ok'
  },
  happen: (world) => {
    world.puppet.ask(ids)
    return 'ok'
  },
})

const finish = (status: ResultStatus): Happening => ({
  name: `finish ${status}`,
  canHappen: canAct,
  step: (m) => {
    if (m.worker?.isUp === true) m.worker.result = status
    return 'ok'
  },
  happen: (world) => {
    world.puppet.finish(status)
    return 'ok'
  },
})

const crash: Happening = {
  name: 'crash',
  canHappen: (m) => m.worker?.isUp === true,
  step: (m) => {
    if (m.worker !== null) m.worker.isUp = false
    return 'ok'
  },
  happen: (world) => {
    world.puppet.crash()
    return 'ok'
  },
}

const hold: Happening = {
  name: 'hold',
  canHappen: (m) => !m.isHeld && (m.status === 'created' || m.status === 'paused'),
  step: (m) => {
    m.isHeld = true
    return 'ok'
  },
  happen: (world) => {
    world.puppet.hold()
    return 'ok'
  },
}

const letReady: Happening = {
  name: 'let it be ready',
  canHappen: (m) => m.isHeld,
  step: (m) => {
    m.isHeld = false
    if (m.worker !== null) m.worker.isReady = true
    return 'ok'
  },
  happen: (world) => {
    world.puppet.letReady()
    return 'ok'
  },
}

const IDS = ['q1', 'q2', 'q3']

/** Weighted: what moves an instance on is more frequent than what ends it. */
const happening = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...IDS).map((id) => ask(id)) },
  { weight: 2, arbitrary: fc.subarray(IDS, { minLength: 2 }).map((ids) => ask(...ids)) },
  {
    weight: 8,
    arbitrary: fc.tuple(fc.constantFrom(...IDS), fc.constantFrom('new', 'new', 'k')).map((a) => answer(...a)),
  },
  { weight: 1, arbitrary: fc.constantFrom(...IDS).map(wrongAnswer) },
  { weight: 4, arbitrary: fc.constantFrom('new', 'new', 'm').map(message) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 5 }).map(emit) },
  { weight: 4, arbitrary: fc.constantFrom(pause, pause, resume, resume, resume) },
  { weight: 5, arbitrary: fc.constantFrom(host, host, host, release, kill) },
  { weight: 4, arbitrary: fc.constantFrom(hold, letReady) },
  { weight: 2, arbitrary: fc.constantFrom(stop('stop', false), stop('cancel', false), stop('stop', true)) },
  {
    weight: 3,
    arbitrary: fc.constantFrom<ResultStatus[]>('completed', 'failed', 'cancelled', 'paused', 'paused').map(finish),
  },
  { weight: 1, arbitrary: fc.constantFrom(crash, crash, grow) },
)

const pair = fc
  .tuple(happening, happening, fc.integer({ min: 0, max: 8 }))
  .map(([first, second, turns]) => new Both(first, second, turns))

export const commands = fc.commands(
  [
    fc.constant(new One(host)),
    happening.map((one) => new One(one)),
    happening.map((one) => new One(one)),
    happening.map((one) => new One(one)),
    pair,
    pair,
  ],
  { size: '+1', maxCommands: 40 },
)

/** What ends any instance. */
export const end = new One(stop('stop', true))

/** What was found to go wrong once, to be walked by name. */
export const happenings = {
  answer,
  ask,
  cancel: stop('cancel', false),
  finish,
  force: stop('stop', true),
  hold,
  host,
  letReady,
  message,
  pause,
  release,
  resume,
  stop: stop('stop', false),
}
