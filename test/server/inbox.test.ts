/** The open questions of all instances in one answer. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { InboxEntry } from '../../src/core/protocol/instance.ts'
import { type Api, openApi } from './api.ts'

let api: Api

beforeAll(async () => {
  api = await openApi()
})

afterAll(() => api.close())

const inbox = async (token?: string): Promise<InboxEntry[]> => {
  const { status, json } = await api.call('GET', '/api/inbox', token === undefined ? {} : { token })
  expect(status).toBe(200)
  return json
}

test('the inbox holds every open question, the oldest first, and none that was answered', async () => {
  expect(await inbox()).toEqual([])
  const ids: string[] = []
  for (const subject of ['a bridge', 'a lighthouse']) {
    const id = await api.create('tour', { subject, pace: 'instant' })
    await api.until(id, 'awaiting_input')
    ids.push(id)
  }
  const entries = await inbox(api.tokens.read)
  expect(entries.map(({ instance_id }) => instance_id)).toEqual(ids)
  expect(entries.map(({ asked_at }) => asked_at)).toEqual(entries.map(({ asked_at }) => asked_at).toSorted())
  const asked = await api.call('GET', `/api/instances/${ids[0]}/input-requests?status=pending`)
  expect(entries[0]).toMatchObject({ name: null, resolver: 'tour', request: asked.json[0] })

  // A token of one instance gets nothing of another one (threats WEB-12).
  const own = await inbox(await api.tokenOf(ids[1] as string))
  expect(own.map(({ instance_id }) => instance_id)).toEqual([ids[1]])

  await api.call('POST', `/api/instances/${ids[0]}/input-requests/confirm-plan`, { body: { go: false } })
  await api.until(ids[0] as string, 'completed', 'cancelled', 'failed')
  expect((await inbox()).map(({ instance_id }) => instance_id)).toEqual([ids[1]])
})
