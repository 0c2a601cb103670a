/** What is really sent fits the table: every event of tiers 1 and 2 of real runs, and each field that a refusal is about. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fieldsOf } from '../../src/core/platform/remote/form-fields.ts'
import { EVENT_DATA } from '../../src/core/protocol/api/events.ts'
import type { Form } from '../../src/core/protocol/form.ts'
import type { JournalEvent } from '../../src/core/protocol/journal.ts'
import { misfit } from '../../src/core/schema/fits.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Api, openApi } from './api.ts'

let api: Api

beforeAll(async () => {
  api = await openApi([plainResolver('await me.sleep(60000)', { name: 'chatty' })])
})
afterAll(() => api.close())

async function eventsOf(id: string): Promise<JournalEvent['event'][]> {
  const all: JournalEvent['event'][] = []
  for await (const { event } of api.platform.events(id)) all.push(event)
  return all
}

// verifies: R17 R18
test('every event of tiers 1 and 2 that a run leaves has the data of its schema', async () => {
  const asking = await api.create('tour', { pace: 'instant' })
  await api.until(asking, 'awaiting_input')
  const [request] = (await api.call('GET', `/api/instances/${asking}/input-requests`)).json
  const note = { message_type: 'note', payload: { text: 'Well done' } }
  expect((await api.call('POST', `/api/instances/${asking}/messages`, { body: note })).status).toBe(202)
  const path = `/api/instances/${asking}/input-requests/${request.id}`
  expect((await api.call('POST', path, { body: { go: true } })).status).toBe(204)
  const greeting = await api.create('hello', { name: 'Ada' })
  const stopped = await api.create('chatty')
  await api.until(stopped, 'running')
  await api.call('POST', `/api/instances/${stopped}/stop`, { body: { reason: 'seen', force: true } })
  for (const id of [asking, greeting]) await api.until(id, 'completed')
  await api.until(stopped, 'cancelled')
  const seen = new Set<string>()
  for (const event of (await Promise.all([asking, greeting, stopped].map(eventsOf))).flat()) {
    const { event_type: type, data } = event
    const schema = EVENT_DATA[type as keyof typeof EVENT_DATA]
    if (schema === undefined) continue
    seen.add(type)
    expect(
      schema === null ? 'not written yet' : misfit(schema, data),
      `${type} ${JSON.stringify(data)}`,
    ).toBeUndefined()
  }
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'platform.worker.launched',
      'platform.worker.ready',
      'platform.instance.status_changed',
      'platform.input.requested',
      'platform.input.answered',
      'platform.message.accepted',
      'resolver:created',
      'resolver:phase',
      'resolver:progress',
      'resolver:artifact',
      'resolver:input_requested',
      'resolver:input_responded',
      'resolver:completed',
    ]),
  )
})

const check = (condition: unknown, message: string) => ({ condition, message })
const required = (id: string) => ({ call: 'required', args: [{ path: `/${id}` }] })
const regex = (id: string, pattern: string) => ({ call: 'regex', args: { value: { path: `/${id}` }, pattern } })

test('a failing message is matched to its field without running a pattern, and to none if that is uncertain', () => {
  const text = (id: string, ...checks: unknown[]) => ({ id, type: 'text', checks })
  const form = (...components: unknown[]) => ({ type: 'form', components }) as unknown as Form
  const plain = form(
    text('a', check(required('a'), 'Required')),
    text('b', check(required('b'), 'Required'), check(regex('b', '^(a+)+$'), 'Only a')),
    text('c', check(required('c'), 'Required')),
  )
  expect(fieldsOf(plain, { b: 'x' }, ['Required', 'Only a', 'Required'])).toEqual([
    { id: 'a', message: 'Required' },
    { id: 'b', message: 'Only a' },
    { id: 'c', message: 'Required' },
  ])
  expect(fieldsOf(plain, { a: 'x', b: 'x' }, ['Required'])).toEqual([{ id: 'c', message: 'Required' }])
  expect(fieldsOf(plain, { a: 'x', b: 'x', c: 'x' }, ['Not of this form'])).toEqual([])
  const alike = form(text('a', check(regex('a', '^a$'), 'Wrong')), text('b', check(regex('b', '^b$'), 'Wrong')))
  expect(fieldsOf(alike, { a: 'x', b: 'x' }, ['Wrong', 'Wrong'])).toHaveLength(2)
  expect(fieldsOf(alike, { a: 'a', b: 'x' }, ['Wrong'])).toEqual([])
})
