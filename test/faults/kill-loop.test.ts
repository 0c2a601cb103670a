/**
 * Hosts are killed at random under 20 instances that emit, ask, take messages and keep state, while their consumers follow and act
 * over HTTP; then every instance comes to its end, and nothing that was acknowledged is lost. RESOLVE_SOAK=1 goes on for a minute,
 * RESOLVE_SOAK_SECONDS for so long; RESOLVE_SOAK_SEED repeats the dice. A history that does not hold is written to coverage/.
 */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { isTerminal } from '../../src/core/protocol/status.ts'
import { openTokens } from '../../src/core/store/tokens.ts'
import { root } from '../house/source-files.ts'
import { seeded } from '../support/event-stream.ts'
import { endWorkers, leftOf } from '../support/flows.ts'
import { HostHerd } from '../support/host-herd.ts'
import { storyOf } from '../support/instances.ts'
import { checkInvariants } from '../support/invariants.ts'
import { LoopConsumer } from '../support/loop-consumer.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

const SECONDS = Number(process.env['RESOLVE_SOAK_SECONDS'] ?? (process.env['RESOLVE_SOAK'] === '1' ? 60 : 6))
const SEED = Number(process.env['RESOLVE_SOAK_SEED'] ?? Date.now() % 1_000_000)
const INSTANCES = 20
const END_LIMIT_MS = 90_000

/** Round after round until it is told to end; its output says what it was told. */
const BEHAVIOUR = `
  const answers = {}
  for (let round = 1; !me.messages.some((one) => one.payload.text === 'end'); round += 1) {
    for (let n = 0; n < 5; n += 1) me.emit('plain.tick', { round, n, pad: 'é'.repeat(n * 9) })
    write('state.json', JSON.stringify({ round }))
    if (round % 8 === 0) answers['q' + round] = (await me.ask('q' + round, 'Which?')).x
    await sleep(40)
  }
  const texts = Object.fromEntries(me.messages.map((one) => [one.number, one.payload.text]))
  me.finish({ status: 'completed', output: JSON.stringify({ answers, texts }) })`

test(`${INSTANCES} instances for ${SECONDS} s of kills`, { timeout: SECONDS * 1_000 + 2 * END_LIMIT_MS }, async () => {
  process.stderr.write(`RESOLVE_SOAK_SEED=${SEED}\n`)
  const random = seeded(SEED)
  const home = mkdtempSync(join(tmpdir(), 'resolve-loop-'))
  const platform = await platformOn(home)
  await (await platform.catalog()).add(plainResolver(BEHAVIOUR).dir, { cwd: home })
  await platform.close()
  const { token } = await openTokens(home).create({ scope: 'run' })
  const herd = new HostHerd(home, random)
  try {
    await herd.open()
    const consumers = await Promise.all(
      Array.from({ length: INSTANCES }, () => LoopConsumer.born(() => herd.url(), token, 'plain')),
    )
    const deadline = Date.now() + SECONDS * 1_000
    while (Date.now() < deadline) {
      await sleep(50 + random() * 450)
      await herd.killOne(consumers.map(({ id }) => id))
    }
    const { kills } = herd
    for (const consumer of consumers) consumer.sayEnd()
    const isOver = () => consumers.every(({ id }) => isTerminal(storyOf(home, id).status))
    for (const limit = Date.now() + END_LIMIT_MS; !isOver() && Date.now() < limit; ) await sleep(100)
    await Promise.all(consumers.map((consumer) => consumer.close()))
    const wrong = consumers.flatMap((consumer) => judge(home, consumer))
    const adoptions = consumers.reduce((sum, { id }) => sum + storyOf(home, id).adoptions, 0)
    const acts = consumers.reduce((sum, { exchanges }) => sum + exchanges.length, 0)
    const cuts = consumers.reduce((sum, { connections }) => sum + connections.length - 1, 0)
    process.stderr.write(`${kills} kills, ${adoptions} adoptions, ${acts} answers, ${cuts} streams taken up again\n`)
    expect(wrong).toEqual([])
    expect(kills).toBeGreaterThan(SECONDS / 2)
    expect(adoptions).toBeGreaterThan(kills)
  } finally {
    await herd.close()
    endWorkers(home)
  }
})

function judge(home: string, consumer: LoopConsumer): { id: string; wrong: unknown }[] {
  const { id, connections, exchanges } = consumer
  const { status, output, error } = storyOf(home, id)
  const wrong: unknown[] = checkInvariants({ home, id, streams: [connections], answers: exchanges })
  if (status !== 'completed') wrong.push({ status, error })
  else wrong.push(...consumer.unheard(JSON.parse(output ?? '{}') as Told))
  if (!connections.at(-1)?.isWhole) wrong.push('its reader was never told of the end')
  wrong.push(...leftOf(home, id))
  if (wrong.length === 0) return []
  mkdirSync(join(root, 'coverage'), { recursive: true })
  const history = { seed: SEED, wrong, story: storyOf(home, id), exchanges, connections }
  writeFileSync(join(root, 'coverage', `kill-loop-${id}.json`), JSON.stringify(history, null, 1))
  return [{ id, wrong }]
}

interface Told {
  answers: Record<string, string>
  texts: Record<string, string>
}
