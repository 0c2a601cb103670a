/** resolve secret and resolve notify, as built, and their routes: values go in and never come out (R55). */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Api, openApi } from '../server/api.ts'
import { filesWith } from '../support/files-with.ts'
import { startReceiver } from '../support/webhook-receiver.ts'
import { type Home, newHome } from './cli.ts'

const VALUE = 'cli-canary-"5\\x'
let place: Home
let api: Api
beforeAll(async () => {
  place = newHome()
  api = await openApi()
})
afterAll(async () => {
  await place.end()
  await api.close()
})

test('a value from stdin is stored sealed; list shows names only; remove forgets it (R55)', async () => {
  const set = await place.with({ stdin: `${VALUE}\n` }, 'secret', 'set', 'DEPLOY_KEY')
  expect(set).toEqual({ code: 0, stdout: 'DEPLOY_KEY is set.\n', stderr: '' })
  expect((await place.run('secret', 'set', 'FROM', '--from-env', 'SOME_VARIABLE')).code).toBe(0)
  expect((await place.run('secret', 'set', 'BY', '--command', `echo ${VALUE.slice(0, 10)}`)).code).toBe(0)
  expect(filesWith(place.home, [VALUE, VALUE.slice(0, 10)])).toEqual([])
  for (const file of ['secret.key', 'secrets.json']) expect(statSync(join(place.home, file)).mode & 0o777).toBe(0o600)
  const { stdout } = await place.run('secret', 'list', '--json')
  expect(JSON.parse(stdout).secrets.map(({ name, from }: { name: string; from: string }) => `${name} ${from}`)).toEqual(
    ['BY command', 'DEPLOY_KEY value', 'FROM env'],
  )
  expect(stdout).not.toContain('canary')
  expect(await place.run('secret', 'remove', 'DEPLOY_KEY')).toMatchObject({ code: 0, stdout: 'DEPLOY_KEY removed.\n' })
  expect(await place.run('secret', 'remove', 'DEPLOY_KEY')).toMatchObject({ code: 6 })
  for (const name of ['git_host_token', '__proto__', 'a-b', 'x'.repeat(65)]) {
    const refused = await place.with({ stdin: VALUE }, 'secret', 'set', name)
    expect(refused.code).toBe(2)
    expect(refused.stderr).not.toContain('canary')
  }
})

test('with RESOLVE_SECRET_KEY_FILE the key is there, and the home alone does not open a value', async () => {
  const other = newHome()
  const key = join(place.home, 'elsewhere.key')
  const env = { RESOLVE_SECRET_KEY_FILE: key }
  expect((await other.with({ env, stdin: VALUE }, 'secret', 'set', 'DEPLOY_KEY')).code).toBe(0)
  expect([existsSync(key), existsSync(join(other.home, 'secret.key'))]).toEqual([true, false])
  await other.end()
})

test('the API takes a value with scope admin, and returns none; a kept answer and its digest have none either', async () => {
  for (const token of [api.tokens.run, api.tokens.read]) {
    expect((await api.call('GET', '/api/secrets', { token })).status).toBe(403)
    expect((await api.call('POST', '/api/secrets', { token, body: { name: 'A', value: VALUE } })).status).toBe(403)
  }
  const headers = { 'idempotency-key': 'one' }
  const set = await api.call('POST', '/api/secrets', { headers, body: { name: 'API_KEY', value: VALUE } })
  expect([set.status, set.json]).toMatchObject([200, { name: 'API_KEY', from: 'value' }])
  const told = set.text + (await api.call('GET', '/api/secrets')).text
  expect(told).not.toContain('canary')
  expect(
    (await api.call('POST', '/api/secrets', { headers, body: { name: 'API_KEY', value: 'another' } })).status,
  ).toBe(409)
  expect(filesWith(api.home, [VALUE])).toEqual([])
  expect((await api.call('DELETE', '/api/secrets/API_KEY')).json).toMatchObject({ name: 'API_KEY' })
  expect((await api.call('DELETE', '/api/secrets/API_KEY')).status).toBe(404)
})

test('notify add prints the signing secret once; its address is in no list, no file and no answer (S-NOTIFY-03)', async () => {
  const receiver = await startReceiver()
  const made = await place.with({ stdin: receiver.url }, 'notify', 'add', 'ops', '--webhook', '-', '--on', 'end')
  expect(made.stdout).toMatch(/^whsec_[A-Za-z0-9+/=]+\n$/)
  expect((await place.run('notify', 'test', 'ops')).stdout).toBe('ops took it.\n')
  receiver.answer = 500
  expect(await place.run('notify', 'test', 'ops')).toMatchObject({
    code: 1,
    stdout: 'ops did not take it: it answered 500.\n',
  })
  const listed = await place.run('notify', 'list')
  expect(listed.stdout).toContain(new URL(receiver.url).origin)
  expect(listed.stdout).not.toContain('path-canary')
  expect(filesWith(place.home, ['path-canary-55', made.stdout.trim()])).toEqual([])
  const ran = await place.run('run', 'hello', '-i', 'name=Ada')
  expect(ran.code).toBe(0)
  const doctor = await place.run('doctor', '--json')
  expect(JSON.parse(doctor.stdout).checks).toContainEqual(
    expect.objectContaining({ check: 'notify', state: 'note', message: expect.stringContaining('it answered 500') }),
  )
  receiver.answer = 204
  receiver.received.length = 0
  // The next command that hosts an instance sends what waits.
  await expect
    .poll(async () => (await place.run('run', 'hello', '-i', 'name=Bob')).code === 0 && receiver.received.length >= 2, {
      timeout: 30_000,
      interval: 500,
    })
    .toBe(true)
  const body = { name: 'hook', kind: 'webhook', url: receiver.url, secret: receiver.secret }
  const added = await api.call('POST', '/api/notify', { body })
  expect([added.status, added.text.includes('whsec_'), added.text.includes('path-canary')]).toEqual([200, false, false])
  expect((await api.call('POST', '/api/notify/hook/test', { body: undefined })).json).toEqual({
    delivered: true,
    error: null,
  })
  expect(receiver.invalid().length).toBeGreaterThan(0)
  expect(receiver.valid()).toHaveLength(1)
  expect((await api.call('GET', '/api/notify', { token: api.tokens.run })).status).toBe(403)
  expect((await api.call('DELETE', '/api/notify/hook')).status).toBe(200)
  expect(readFileSync(join(api.home, 'notify.json'), 'utf8')).toContain('"targets": []')
  await receiver.close()
})

test('a missing key is not replaced while values are sealed with it, and doctor tells of it (R55)', async () => {
  expect(await place.run('secret', 'set', 'NAMED', '--from-env', 'HOME')).toMatchObject({ code: 0 })
  const set = async (name: string) => await place.run('secret', 'set', name, '--command', 'echo value')
  expect(await set('FIRST')).toMatchObject({ code: 0 })
  const key = join(place.home, 'secret.key')
  const before = readFileSync(key, 'utf8')
  rmSync(key)
  expect(await set('OTHER')).toMatchObject({ code: 10, stderr: expect.stringContaining('it is missing') })
  expect(existsSync(key)).toBe(false)
  expect((await place.run('doctor')).stdout).toContain('the key file is missing')
  writeFileSync(key, before, { mode: 0o600 })
  expect(await set('OTHER')).toMatchObject({ code: 0 })
})
