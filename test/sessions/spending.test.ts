/**
 * What a session used is told exactly, wherever its process was killed: each state that a kill leaves of a transcript and of the events is
 * made, gone on with, and summed as the host does.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSessionEvent } from '../../src/core/host/ingest/session-event.ts'
import { SESSION_COMPLETED, SESSION_DISPATCHED } from '../../src/core/protocol/event.ts'
import { addUsage, NO_USAGE, type SessionCompleted } from '../../src/core/protocol/session/session.ts'
import { ToldTurns } from '../../src/core/protocol/session/told-turns.ts'
import { LlmServer } from '../support/llm-server.ts'
import { type Arena, arena } from './arena.ts'

/** In the price list of the program. */
const MODEL = 'anthropic/claude-sonnet-4-5'

let llm: LlmServer

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

interface Told {
  type: string
  data: Record<string, unknown>
}

/** What a kill can leave: lines of the transcript, and events that were written. */
interface State {
  lines: string[]
  told: Told[]
}

/** A process that begins in a state and gives prompts. Returns every state that it passes. */
async function passed(from: State, prompts: readonly string[], isFailing: boolean): Promise<State[]> {
  const at = arena({ model: MODEL, base_url: llm.url })
  const directory = join(at.dir, 'sessions/work')
  mkdirSync(join(directory, 'outputs'), { recursive: true })
  if (from.lines.length > 0) writeFileSync(join(directory, 'transcript.jsonl'), `${from.lines.join('\n')}\n`)
  const marks: { lines: number; told: Told }[] = []
  const tell = (type: string) => (data: object) => {
    marks.push({ lines: at.lines('work').length, told: { type, data: structuredClone(data) as Told['data'] } })
  }
  at.open({ tellDispatched: tell(SESSION_DISPATCHED), tellCompleted: tell(SESSION_COMPLETED) })
  llm.script([
    ({ body }) => {
      const step = (body['messages'] as { role: string }[]).filter(({ role }) => role === 'assistant').length + 1
      if (step === 2 && isFailing) return { status: 400 }
      return step === 1
        ? { text: 'I look.', calls: [{ tool: 'todo_list', input: { items: [] }, id: 'c1' }] }
        : { text: `Done ${step}.` }
    },
  ])
  const session = await at.create('work')
  for (const prompt of prompts) await session.run(prompt).catch(() => undefined)
  return statesOf(from, at, marks)
}

function statesOf(from: State, at: Arena, marks: readonly { lines: number; told: Told }[]): State[] {
  const lines = at.lines('work').map((line) => JSON.stringify(line))
  const states: State[] = []
  let told = from.told
  for (let count = from.lines.length; count <= lines.length; count += 1) {
    states.push({ lines: lines.slice(0, count), told })
    for (const mark of marks.filter((one) => one.lines === count)) {
      told = [...told, mark.told]
      states.push({ lines: lines.slice(0, count), told })
    }
  }
  return states
}

function journaledOf({ told }: State): { turns: ToldTurns; completed: SessionCompleted[] } {
  const turns = new ToldTurns()
  const completed: SessionCompleted[] = []
  for (const { type, data } of told) {
    const event = { schema_version: 1, event_type: type, instance_id: 'x', timestamp: '', data }
    const news = readSessionEvent(event, turns)
    if (news === undefined || news === 'malformed') continue
    turns.apply(news.type, news.data)
    if ('usage' in news.data) completed.push(news.data)
  }
  return { turns, completed }
}

function expectExact(state: State): void {
  const { completed } = journaledOf(state)
  const steps = state.lines.flatMap((line) => {
    const read = JSON.parse(line) as { type: string; usage: SessionCompleted['usage']; cost_usd: number }
    return read.type === 'step' ? [read] : []
  })
  const sum = (all: readonly { usage: SessionCompleted['usage'] }[]) =>
    all.reduce((usage, one) => addUsage(usage, one.usage), NO_USAGE)
  expect(sum(completed)).toEqual(sum(steps))
  expect(completed.reduce((cost, one) => cost + (one.cost_usd ?? 0), 0)).toBeCloseTo(
    steps.reduce((cost, one) => cost + one.cost_usd, 0),
    9,
  )
  expect(completed.reduce((count, one) => count + one.steps, 0)).toBe(steps.length)
}

const NOTHING: State = { lines: [], told: [] }

// verifies: R56-USAGE
test('a turn that failed and is worked on again counts once, wherever a process before was killed', async () => {
  const first = await passed(NOTHING, ['Do it.'], true)
  const failed = first.at(-1) as State
  expectExact(failed)
  const second = await passed(failed, ['Do it.', 'Again.'], false)
  expect(first.length + second.length).toBeGreaterThan(18)
  for (const state of [...first, ...second]) {
    const [after] = (await passed(state, ['Do it.', 'Again.'], false)).slice(-1)
    expectExact(after as State)
    expect(journaledOf(after as State).completed.filter(({ success }) => success)).toMatchObject([
      { turn: 1 },
      { turn: 2 },
    ])
  }
})

// verifies: R56-USAGE
test('a turn that is dropped for another prompt counts, wherever a process before was killed', async () => {
  const states = await passed(NOTHING, ['Do it.', 'Again.'], false)
  for (const state of states) {
    const [after] = (await passed(state, ['Do something else.'], false)).slice(-1)
    expectExact(after as State)
  }
})
