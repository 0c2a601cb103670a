/**
 * The Nth file call of a host under its home fails, with EIO or ENOSPC in turn, or the host is killed right before it: the flow still
 * comes to its end, by itself or with the next host. A run of the suite tries a sample; RESOLVE_SOAK=1 tries every call, and
 * RESOLVE_FAULT_STRIDE=k every kth. RESOLVE_FAULT_SEED repeats a sample.
 */
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { seeded } from '../support/event-stream.ts'
import type { FlowCase, FlowKind } from '../support/flow-lines.ts'
import { carryFlows, endWorkers, type FlowRun, flowHome, inParallel, settleFlows } from '../support/flows.ts'

const isLong = process.env['RESOLVE_SOAK'] === '1'
const STRIDE = Number(process.env['RESOLVE_FAULT_STRIDE'] ?? 1)
const SEED = Number(process.env['RESOLVE_FAULT_SEED'] ?? Math.floor(Date.now() / 1_000) % 1_000_000)
const SAMPLE = 4
const PARALLEL = 4
const PRELOAD = join(import.meta.dirname, '../support/failing-files.mjs')
const random = seeded(SEED)

beforeAll(() => void process.stderr.write(`RESOLVE_FAULT_SEED=${SEED}\n`))

const FLOWS: Record<string, FlowKind> = {
  'create and complete': 'complete',
  'ask and answer': 'answer',
  message: 'message',
  stop: 'stop',
  'pause and resume': 'pause',
  adopt: 'answer',
}

test.for(Object.entries(FLOWS))(
  '%s',
  { timeout: isLong ? 3_600_000 : 120_000 },
  async ([what, kind], { onTestFinished }) => {
    const home = await flowHome()
    onTestFinished(() => endWorkers(home))
    const toFlow = (name: string): FlowCase => ({ name: `${what}, ${name}`, kind, resolver: 'plain' })
    const isAdopted = what === 'adopt'
    const whole = toFlow('whole')
    const runs: FlowRun[] = []
    const leave = async (flows: FlowCase[]) => {
      if (isAdopted) runs.push(await carryFlows(home, { flows, leaveWhenAsked: true }))
    }
    const carry = async (flow: FlowCase, call: number, how: string) => {
      const env = { RESOLVE_FAULT_HOME: home, RESOLVE_FAULT_CALL: String(call), RESOLVE_FAULT_HOW: how }
      const run = await carryFlows(home, { flows: [flow] }, { preload: PRELOAD, env })
      runs.push(run)
      return run
    }
    await leave([whole])
    const count = Number(/^calls (\d+)$/m.exec((await carry(whole, 0, 'EIO')).aside)?.[1])
    expect(count).toBeGreaterThan(100)
    const cases = choose(count).map(({ call, how }) => ({ call, how, flow: toFlow(`${how} at ${call}`) }))
    await leave(cases.map(({ flow }) => flow))
    const told: string[] = []
    await inParallel(cases, PARALLEL, async ({ call, how, flow }) => {
      const run = await carry(flow, call, how)
      if (how !== 'kill' && run.code !== 0)
        told.push(`${flow.name}: ${run.aside.trim()}: ${run.signal ?? run.code} ${run.stderr.slice(0, 1_500)}`)
    })
    const ofErrors = cases.filter(({ how }) => how !== 'kill').map(({ flow }) => flow)
    const wrong = await settleFlows(home, [whole, ...cases.map(({ flow }) => flow)], runs, {
      mayFail: (flow) => ofErrors.includes(flow),
    })
    process.stderr.write(`${what}: ${count} calls, ${cases.length} faults, ${told.length} hosts ended by one\n`)
    if (process.env['RESOLVE_FAULT_TELL'] !== undefined) process.stderr.write(told.join('\n'))
    expect(wrong).toEqual([])
  },
)

/** Which calls are to fail, and how: each one in both ways, or a few. */
function choose(count: number): { call: number; how: string }[] {
  const error = (call: number) => (call % 2 === 0 ? 'EIO' : 'ENOSPC')
  if (isLong) {
    const offset = Math.floor(random() * STRIDE)
    const calls = Array.from({ length: Math.floor(count / STRIDE) }, (_, index) => index * STRIDE + offset + 1)
    return calls.flatMap((call) => [
      { call, how: error(call) },
      { call, how: 'kill' },
    ])
  }
  return Array.from({ length: SAMPLE }, (_, index) => {
    const call = 1 + Math.floor(((index + random()) * count) / SAMPLE)
    return { call, how: index % 2 === 0 ? error(call) : 'kill' }
  })
}
