/** What the API takes although it was not asked for in that shape (R51), and what a resolver is asked with (R52). */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Api, openApi } from './api.ts'

const chooser = plainResolver(
  `const form = { type: 'form', components: [
     { id: 'size', type: 'select', label: 'Size', default: 2, options: [{ value: 1, label: 'One' }, { value: 2, label: 'Two' }] },
     { id: 'sure', type: 'select', options: [{ value: true, label: 'Yes' }, { value: 'no', label: 'No' }] }] }
   me.finish({ status: 'completed', output: JSON.stringify([me.params, await me.ask('q', 'Which?', form)]) })`,
  { name: 'chooser', version: '1.0.0-rc.1+build.5' },
  `me.on['resolver.getInstantiationSchema'] = ({ params }) => ({ type: 'form', components: [
     { id: 'size', type: 'select', label: JSON.stringify(params), default: 2, options: [{ value: 1, label: 'One' }, { value: 2, label: 'Two' }, { value: true, label: 'Yes' }] }] })`,
)

let api: Api
beforeAll(async () => {
  api = await openApi([chooser])
})
afterAll(async () => await api.close())

// verifies: R51
test('an unknown top-level key of a POST body is ignored', async () => {
  const meant = { instance_id: '0123456789ab', host: 'none' }
  const posted = { resolver: 'chooser', input: { size: '1' }, mode: 'fast', __proto: 1, name: 'kept', ...meant }
  const created = await api.call('POST', '/api/instances', { body: posted })
  expect(created).toMatchObject({ status: 202, json: { name: 'kept', input: { size: '1' } } })
  expect(Object.keys(created.json)).not.toContain('mode')
  expect(created.json.instance_id).not.toBe(meant.instance_id)
  const at = `/api/instances/${created.json.instance_id}`
  await api.until(created.json.instance_id, 'awaiting_input')
  expect(await api.call('POST', `${at}/stop`, { body: { reason: 'enough', urgent: true } })).toMatchObject({
    status: 200,
  })
  expect(await api.call('POST', '/api/resolvers/chooser/check', { body: { input: {}, dry: 1 } })).toMatchObject({
    status: 200,
  })
  // A request that deletes for good is taken only where it is understood.
  const prune = await api.call('POST', '/api/prune', { body: { older_than_ms: 0, dryrun: true } })
  expect(prune).toMatchObject({
    status: 422,
    json: {
      code: 'request_invalid',
      detail: expect.stringContaining(
        'body has no field "dryrun"; its fields are older_than_ms, status, instances, keep_unpromoted, dry_run',
      ),
    },
  })
  const both = await api.call('POST', '/api/auth/verify', { body: { code: 'c', token: 't' } })
  expect(both).toMatchObject({ status: 422, json: { detail: expect.stringContaining('send one of them') } })
})

// verifies: R51
test('options are texts, numbers or booleans as declared, and a version carries build metadata', async () => {
  const { json } = await api.call('GET', '/api/resolvers/chooser/schema')
  expect(json.components[0].options.map(({ value }: { value: unknown }) => value)).toEqual([1, 2, true])
  expect(json.components[0].default).toBe(2)
  expect((await api.call('GET', '/api/resolvers/chooser')).json.version).toBe('1.0.0-rc.1+build.5')
  const id = await api.create('chooser', { size: '2' })
  await api.until(id, 'awaiting_input')
  const answered = await api.call('POST', `/api/instances/${id}/input-requests/q`, { body: { size: 1, sure: 'true' } })
  expect(answered.status).toBe(204)
  expect(JSON.parse((await api.until(id, 'completed')).output ?? '')).toEqual([
    { size: '2' },
    { size: 1, sure: 'true' },
  ])
})

// verifies: R52 S-PLUG-02
test('the form is asked for with null where no params were given, else with the object', async () => {
  const askedWith = async (query: string) => {
    const { json } = await api.call('GET', `/api/resolvers/chooser/schema${query}`)
    return JSON.parse(json.components[0].label)
  }
  expect(await askedWith('')).toBeNull()
  expect(await askedWith('?params=')).toBeNull()
  expect(await askedWith('?params=null')).toBeNull()
  expect(await askedWith('?params=%7B%7D')).toEqual({})
  expect(await askedWith('?params=%7B%22size%22%3A1%7D')).toEqual({ size: 1 })
  const { json } = await api.call('POST', '/api/resolvers/chooser/check', { body: { input: {} } })
  expect(JSON.parse(json.form.components[0].label)).toEqual({})
})
