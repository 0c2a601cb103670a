/** Instances are named, labelled, found and run again: on this machine and on a server. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Home, newHome } from './cli.ts'
import { type ServeProcess, startServe } from './serving.ts'

const FORM = JSON.stringify({
  type: 'form',
  components: [
    {
      id: 'what',
      type: 'text',
      checks: [{ condition: { call: 'required', args: [{ path: '/what' }] }, message: 'Say what.' }],
    },
    { id: 'how', type: 'text' },
  ],
})

interface Found {
  instance_id: string
  name: string | null
  labels: Record<string, string>
  parent_id: string | null
  input: Record<string, unknown>
  status: string
}

let place: Home
let served: ServeProcess
let token: string

beforeAll(async () => {
  place = newHome()
  for (const name of ['works', 'fails']) {
    const result =
      name === 'works' ? `{ status: 'completed', output: me.params.what }` : `{ status: 'failed', error: 'broke' }`
    const { dir } = plainResolver(
      `me.finish(${result})`,
      { name },
      `me.on['resolver.getInstantiationSchema'] = () => (${FORM})`,
    )
    expect((await place.run('resolver', 'add', dir)).code).toBe(0)
  }
  token = (await place.run('token', 'create', '--scope', 'run')).stdout.trim()
  served = await startServe(place.home)
})

afterAll(async () => {
  served.kill('SIGTERM')
  await served.ended
  await place.end()
})

/** The same commands at both doors. */
describe.each(['here', 'served'])('%s', (where) => {
  const run = (...args: string[]) =>
    place.with({ env: where === 'here' ? {} : { RESOLVE_URL: served.url, RESOLVE_TOKEN: token } }, ...args)
  const made = async (...args: string[]): Promise<Found> => {
    const { stdout, stderr } = await run('run', ...args, '--json')
    expect(stdout, stderr).not.toBe('')
    return JSON.parse(stdout) as Found
  }
  const listed = async (...args: string[]): Promise<string[]> => {
    const { stdout, stderr } = await run('instance', 'list', '--json', ...args)
    expect(stdout, stderr).not.toBe('')
    return (JSON.parse(stdout) as { instances: Found[] }).instances.map((one) => one.instance_id)
  }
  const shown = async (id: string): Promise<Found> =>
    JSON.parse((await run('instance', 'show', id, '--json')).stdout) as Found

  // verifies: S-FIND-01 S-FIND-02
  test('a name and labels are given, changed, listed by and shown', async () => {
    const red = await made(
      'works',
      '-i',
      'what=Ebb und Fluß',
      '--name',
      `${where}-tides`,
      '--label',
      `team=${where}`,
      '--label',
      'stage=test',
    )
    const blue = await made('works', '-i', 'what=stars', '--label', `team=${where}`)
    expect(red).toMatchObject({ name: `${where}-tides`, labels: { team: where, stage: 'test' }, parent_id: null })
    const [r, b] = [red.instance_id, blue.instance_id]
    expect(await listed('--label', `team=${where}`)).toEqual([b, r])
    expect(await listed('--label', `team=${where}`, '--label', 'stage')).toEqual([r])
    expect(await listed('--label', `stage=${where}`)).toEqual([])
    expect(await listed('--name', `${where}-tides`)).toEqual([r])
    expect(await listed('--text', 'und fluß', '--label', `team=${where}`)).toEqual([r])
    expect(await listed('--text', `${where}-TIDES`)).toEqual([r])
    expect(await listed('--resolver', 'fails', '--label', `team=${where}`)).toEqual([])
    expect(await listed('--since', '1h', '--label', `team=${where}`)).toEqual([b, r])
    expect(await listed('--until', '1h')).toEqual([])
    expect(await listed('--since', '2000-01-01T00:00:00Z', '--until', '2000-01-02')).toEqual([])

    const labelled = await run('instance', 'label', b, `stage=${where}`, 'team-')
    expect(labelled).toMatchObject({ code: 0, stdout: `stage=${where}\n` })
    expect(await listed('--label', `stage=${where}`, '--text', 'stars')).toContain(b)
    expect(await listed('--label', `team=${where}`)).toEqual([r])
    expect((await shown(b)).labels).toEqual({ stage: where })
    const table = (await run('instance', 'list', '--label', `team=${where}`)).stdout
    expect(table).toMatch(new RegExp(`${where}-tides +(\\S+ +)?stage=test team=${where}`))
    expect((await run('instance', 'show', r)).stdout).toContain(`labels    stage=test team=${where}`)
    for (const wrong of ['team', '=x', 'bad key=x', `k=${'x'.repeat(201)}`])
      expect(await run('run', 'works', '-i', 'what=x', '--label', wrong)).toMatchObject({ code: 2 })
    const many = Array.from({ length: 33 }, (_, at) => `k${at}=v`)
    expect((await run('instance', 'label', b, ...many)).code).not.toBe(0)
  })

  // verifies: S-FIND-03
  test('commands take a name in place of an id; the newest of that name wins, and an id wins over a name', async () => {
    const one = (await made('works', '-i', 'what=a', '--name', `${where} same`)).instance_id
    expect((await run('instance', 'show', `${where} same`, '--json')).stdout).toContain(one)
    const two = (await made('works', '-i', 'what=b', '--name', `${where} same`)).instance_id
    expect((await shown(`${where} same`)).instance_id).toBe(two)
    const again = JSON.parse((await run('instance', 'retry', `${where} same`, '--json')).stdout) as Found
    expect(again).toMatchObject({ parent_id: two, name: `${where} same` })
    expect((await shown(`${where} same`)).instance_id).toBe(again.instance_id)
    const named = `Instance ${again.instance_id} (works), the newest named "${where} same".`
    expect((await run('instance', 'show', `${where} same`)).stderr).toContain(named)
    expect((await run('instance', 'rename', `${where} same`, '--clear')).code).toBe(0)
    const prefix = one.slice(0, 11)
    expect((await run('instance', 'rename', two, prefix)).code).toBe(0)
    expect((await shown(prefix)).name).toBe(`${where} same`)
    expect((await run('instance', 'rename', two, '--clear')).code).toBe(0)
    expect((await shown(`${where} same`)).instance_id).toBe(one)
    expect((await shown(two)).name).toBeNull()
    expect((await run('instance', 'rename', two)).code).toBe(2)
    expect((await run('instance', 'show', 'no such name')).code).toBe(6)
  })

  // verifies: S-FIND-04
  test('retry runs the same input again with the fields given, and tells its parent', async () => {
    const first = await made(
      'fails',
      '-i',
      'what=sea',
      '-i',
      'how=slow',
      '--name',
      `${where}-again`,
      '--label',
      'try=1',
    )
    const { stdout } = await run('instance', 'retry', first.instance_id, '-i', 'how=fast', '--label', 'try=2', '--json')
    const second = JSON.parse(stdout) as Found
    expect(second).toMatchObject({
      input: { what: 'sea', how: 'fast' },
      parent_id: first.instance_id,
      name: `${where}-again`,
      labels: { try: '2' },
      status: 'failed',
    })
    expect(second.instance_id).not.toBe(first.instance_id)
    expect((await run('instance', 'show', second.instance_id)).stdout).toContain(`repeats   ${first.instance_id}`)
    expect((await run('instance', 'retry', first.instance_id, '-i', 'hwo=fast')).code).not.toBe(0)
  })
})

// verifies: S-FIND-01 S-FIND-04
test('HTTP: labels are bounded, PATCH changes name and labels, retry creates', async () => {
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${served.url}/api${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    // biome-ignore lint/suspicious/noExplicitAny: the test says itself what it expects.
    return { status: response.status, json: (await response.json()) as any }
  }
  const create = { resolver: 'works', input: { what: 'http' } }
  const { json: made } = await call('POST', '/instances', { ...create, labels: { a: '1', b: '2' } })
  expect(made.labels).toEqual({ a: '1', b: '2' })
  const tooMany = Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`k${at}`, '']))
  for (const labels of [{ 'a b': 'x' }, { a: 1 }, { a: 'x'.repeat(201) }, { a: 'x\ny' }, tooMany, { a: null }])
    expect((await call('POST', '/instances', { ...create, labels })).status, JSON.stringify(labels)).toBe(422)
  const path = `/instances/${made.instance_id}`
  expect((await call('PATCH', path, { labels: { a: null, c: '3' } })).json.labels).toEqual({ b: '2', c: '3' })
  expect((await call('PATCH', path, { name: 'by http' })).json).toMatchObject({
    name: 'by http',
    labels: { b: '2', c: '3' },
  })
  expect((await call('PATCH', path, {})).status).toBe(422)
  const rest = Object.fromEntries(Array.from({ length: 31 }, (_, at) => [`k${at}`, '']))
  expect((await call('PATCH', path, { labels: rest })).status).toBe(422)
  expect((await call('GET', '/instances?label=b=2&label=c')).json.map((one: Found) => one.instance_id)).toEqual([
    made.instance_id,
  ])
  expect((await call('GET', '/instances?since=yesterday')).status).toBe(422)
  expect((await call('GET', '/instances?reference=by%20http')).json[0].instance_id).toBe(made.instance_id)
  const again = await call('POST', `${path}/retry`, { input: { what: 'other' } })
  expect(again).toMatchObject({
    status: 202,
    json: { parent_id: made.instance_id, input: { what: 'other' }, name: 'by http' },
  })
  expect((await call('POST', `${path}/retry`, { input: { what: '' } })).status).toBe(422)
  expect((await call('POST', '/instances/000000000000/retry')).status).toBe(404)
})
