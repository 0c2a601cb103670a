/** GET state: the resolver's snapshot with what the platform knows (R47). */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Api, openApi } from './api.ts'

const SNAPSHOT = { status: 'running', phase: 'planning', updated_at: 'never', plan_steps: [1, { a: null }] }

const liar = plainResolver(
  `if (me.params.first === 'nothing') await me.ask('early', 'Go on?')
   if (me.params.first === 'event') { me.emit('resolver:phase', { name: 'announced' }); await me.ask('early', 'Go on?') }
   write('state.json', JSON.stringify(${JSON.stringify(SNAPSHOT)}))
   me.emit('liar.saved')
   await me.ask('saved', 'Go on?')
   // Later than the file by more than a file system's clock can be wrong.
   await sleep(50)
   me.emit('resolver:phase', { name: 'announced' })
   await me.ask('told', 'Go on?')
   await sleep(50)
   write('state.json', JSON.stringify({ status: 'failed', phase: 'delivering' }))
   me.finish({ status: 'completed' })`,
  { name: 'liar' },
)

/** Tells how many sessions it used, in each of two runs, or something else. */
const counter = plainResolver(
  `const result = me.resume ? { status: 'completed', sessions_used: 3 } : { status: 'paused', sessions_used: 2 }
   me.finish('used' in me.params ? { status: 'completed', sessions_used: me.params.used } : result)`,
  { name: 'counter', supports_resume: true },
)

let api: Api
beforeAll(async () => {
  api = await openApi([liar, counter])
})
afterAll(async () => await api.close())

const stateOf = async (id: string) => (await api.call('GET', `/api/instances/${id}/state`)).json
const recordOf = async (id: string) => (await api.call('GET', `/api/instances/${id}`)).json

async function asked(id: string, request: string): Promise<void> {
  for (;;) {
    const { json } = await api.call('GET', `/api/instances/${id}/input-requests?status=pending`)
    if (json.some((one: { id: string }) => one.id === request)) return
  }
}

async function goOn(id: string, request: string): Promise<void> {
  expect(await api.call('POST', `/api/instances/${id}/input-requests/${request}`, { body: {} })).toMatchObject({
    status: 204,
  })
}

// verifies: R47 S-SNAP-01
test("the state holds the resolver's keys and the instance's own status; a stale word never wins, and state.json stays as written", async () => {
  const id = await api.create('liar')
  await asked(id, 'saved')
  const { updated_at } = await recordOf(id)
  expect(await stateOf(id)).toEqual({ ...SNAPSHOT, status: 'awaiting_input', updated_at })
  const file = readFileSync(join(api.home, 'instances', id, 'project/.resolve/state.json'), 'utf8')
  expect(JSON.parse(file)).toEqual(SNAPSHOT)
  expect((await recordOf(id)).resolver_state).toEqual(SNAPSHOT)

  await goOn(id, 'saved')
  await asked(id, 'told')
  expect(await stateOf(id)).toMatchObject({
    status: 'awaiting_input',
    phase: 'announced',
    plan_steps: [1, { a: null }],
  })
  expect(await recordOf(id)).toMatchObject({ phase: 'announced' })

  await goOn(id, 'told')
  await api.until(id, 'completed')
  expect(await stateOf(id)).toMatchObject({ status: 'completed', phase: 'delivering' })
  expect(await recordOf(id)).toMatchObject({ phase: 'delivering' })
})

// verifies: R47
test('before any state the answer is {status, phase}, never null', async () => {
  const id = await api.create('liar', { first: 'nothing' })
  await asked(id, 'early')
  expect(await stateOf(id)).toEqual({ status: 'awaiting_input', phase: null })
  const other = await api.create('liar', { first: 'event' })
  await asked(other, 'early')
  expect(await stateOf(other)).toEqual({ status: 'awaiting_input', phase: 'announced' })
})

// verifies: S-RES-01
test('the record keeps how many sessions the last run used', async () => {
  const id = await api.create('counter')
  expect(await recordOf(id)).toMatchObject({ sessions_used: 0 })
  expect(await api.until(id, 'paused')).toMatchObject({ sessions_used: 2 })
  await api.call('POST', `/api/instances/${id}/resume`)
  expect(await api.until(id, 'completed')).toMatchObject({ sessions_used: 3 })
  for (const used of ['7', -1, 1.5, null, 1e300]) {
    const other = await api.create('counter', { used })
    expect(await api.until(other, 'completed')).toMatchObject({ sessions_used: 0 })
  }
})
