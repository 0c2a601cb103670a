/** Lines that other SDKs write are taken as they are, through the API: no end is lost over a stamp (R14), no name is lost over a dash. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EventEnvelope } from '../../src/core/protocol/event.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Api, openApi } from './api.ts'

/** As a resolver in Python: it ends with this line alone, and stays up. */
const python = plainResolver(
  `const line = (more) => fs.appendFileSync(root + '/events.jsonl', JSON.stringify({ schema_version: 1, instance_id: me.config.instance_id, ...more }) + '\\n')
   line({ event_type: 'resolver:phase', data: { name: 'ending' }, phase: 'ending', trace_id: 'x1', timestamp: '2026-01-01T00:00:00.000001+00:00' })
   line({ event_type: 'resolver:completed', data: { outcome: 'success', summary: 'all done', duration_s: 1, artifact_count: 0 }, phase: 'ending', timestamp: '2026-01-01T00:00:00.123456' })
   line({ event_type: 'done', data: {}, timestamp: '2026-01-01T00:00:00Z' })`,
  { name: 'python-like' },
)

const namer = plainResolver(
  `for (const type of ['one-namer.a', 'one_namer.b', 'resolver:own', 'other.c', 'other.d', 'bare', 'oneXnamer.e']) me.emit(type)
   me.finish({ status: 'completed' })`,
  { name: 'one-namer' },
)

const oddAsker = plainResolver(
  `for (const name of ['__proto__', '.hidden', 'd.response']) void me.ask(name, 'Never?')
   await me.ask('fine', 'Go on?')
   me.finish({ status: 'completed' })`,
  { name: 'odd-asker' },
)

let api: Api
beforeAll(async () => {
  api = await openApi([python, namer, oddAsker])
})
afterAll(async () => await api.close())

async function eventsOf(id: string): Promise<EventEnvelope[]> {
  const { text } = await api.call('GET', `/api/instances/${id}/events`)
  return text.split('\n').flatMap((line) => (line.startsWith('data: {"schema') ? [JSON.parse(line.slice(6))] : []))
}

// verifies: R14-LINES
test('an end with a naive stamp and a sixth field ends the run; its line gets the time of the host and keeps its fields', async () => {
  const before = Date.now()
  const id = await api.create('python-like')
  expect(await api.until(id, 'completed')).toMatchObject({ status: 'completed', phase: 'ending' })
  const events = await eventsOf(id)
  const [phase, end] = ['resolver:phase', 'resolver:completed'].map((type) =>
    events.find(({ event_type }) => event_type === type),
  )
  const untouched = { phase: 'ending', trace_id: 'x1', timestamp: '2026-01-01T00:00:00.000001+00:00' }
  expect(phase).toMatchObject(untouched)
  expect(end).toMatchObject({ phase: 'ending', data: { summary: 'all done' } })
  expect(end?.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(Date.parse(end?.timestamp as string)).toBeGreaterThanOrEqual(before)
})

// verifies: S-EVT-02
test('an event that is not named after its resolver is forwarded, and warned of once', async () => {
  const id = await api.create('one-namer')
  await api.until(id, 'completed')
  const events = await eventsOf(id)
  const types = events.map(({ event_type }) => event_type)
  for (const type of ['one-namer.a', 'one_namer.b', 'other.c', 'other.d', 'bare', 'oneXnamer.e']) {
    expect(types).toContain(type)
  }
  const warnings = events.filter(({ event_type }) => event_type === 'platform.watchdog.warning')
  expect(warnings.map(({ data }) => data)).toEqual([
    {
      ...{ kind: 'foreign_prefix', value: 1, limit: 0 },
      detail: 'the event type "other.c" does not begin with the resolver\'s name (one-namer.)',
    },
  ])
})

// verifies: S-REQ-01
test('a request whose file name is no request id is told by an event, and never asked', async () => {
  const id = await api.create('odd-asker')
  await api.until(id, 'awaiting_input')
  await api.call('POST', `/api/instances/${id}/input-requests/fine`, { body: {} })
  await api.until(id, 'completed')
  const events = await eventsOf(id)
  const odd = events.filter(({ data }) => data['reason'] === 'input_request').map(({ data }) => data['request_id'])
  expect(odd.sort()).toEqual(['.hidden', '__proto__', 'd.response'])
  expect((await api.call('GET', `/api/instances/${id}/input-requests`)).json).toMatchObject([{ id: 'fine' }])
})
