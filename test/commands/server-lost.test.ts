/** A server that goes away while commands follow it: they say so, go on when it is back, and after a minute end with exit code 10. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { doer, type Ended, type Home, newHome, type Started } from './cli.ts'
import { client as httpClient, type ServeProcess, startServe } from './serving.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 })

let over: Home
let client: Home
let server: ServeProcess
let token: string

beforeAll(async () => {
  ;[over, client] = [newHome(), newHome()]
  expect((await over.run('resolver', 'add', doer())).code).toBe(0)
  token = (await over.run('token', 'create', '--scope', 'admin')).stdout.trim()
  server = await startServe(over.home)
})

afterAll(async () => {
  server.kill('SIGKILL')
  await server.ended
  for (const place of [over, client]) await place.end()
})

const env = () => ({ RESOLVE_TOKEN: token })
const begin = (...words: string[]): Started => client.start(env(), ...words, '--server', server.url)
const remote = (...words: string[]): Promise<Ended> => client.with({ env: env() }, ...words, '--server', server.url)

async function created(what: string): Promise<string> {
  return (await remote('run', 'doer', '-i', `do=${what}`, '--detach')).stdout.trim()
}

async function isRunning(id: string): Promise<void> {
  const status = async () => (JSON.parse((await remote('instance', 'show', id, '--json')).stdout) as Shown).status
  await expect.poll(status, { timeout: 30_000 }).toBe('running')
}

/** Event streams that are open at the server. */
async function openStreams(): Promise<number> {
  const { body } = await httpClient(server.url, token)('GET', '/metrics')
  return Number(/^resolve_event_streams (\d+)$/m.exec(body)?.[1])
}

interface Shown {
  instance_id: string
  status: string
}

const LOST = 'The connection to the server is lost; reconnecting for up to 60 s.'
const BACK = /^The connection to the server is back after \d+ s\.$/m

test('commands follow on when a server is back within a minute: each says once that it was lost and that it is back', async () => {
  const id = await created('sleep')
  await isRunning(id)
  const followers = {
    inbox: begin('inbox', '--watch'),
    lines: begin('inbox', '--watch', '--jsonl'),
    list: begin('instance', 'list', '--watch'),
    watch: begin('watch', id),
    json: begin('watch', id, '--json'),
    wait: begin('instance', 'wait', id, '--json'),
    events: begin('instance', 'events', id, '--follow', '--jsonl'),
  }
  const all = Object.values(followers)
  const question = await created('ask')
  await Promise.all([followers.inbox.said(question), followers.lines.said(question), followers.list.said(question)])
  // The others say nothing that shows it: a server that they never reached is not waited for.
  await expect.poll(openStreams, { timeout: 30_000 }).toBe(4)
  const port = new URL(server.url).port
  const killedAt = Date.now()
  server.kill('SIGKILL')
  await server.ended
  await Promise.all(all.map((follower) => follower.said(LOST)))
  // Longer than a single request is tried.
  await new Promise((done) => setTimeout(done, Math.max(0, killedAt + 8_000 - Date.now())))
  server = await startServe(over.home, ['--port', port])
  await Promise.all(all.map((follower) => follower.said('is back after')))
  const another = await created('ask')
  await Promise.all([followers.inbox.said(another), followers.lines.said(another), followers.list.said(another)])
  expect((await remote('instance', 'stop', id)).code).toBe(0)
  const codes = { watch: 3, json: 3, wait: 3, events: 0 } as const
  for (const [name, code] of Object.entries(codes)) {
    const ended = await followers[name as keyof typeof codes].ended
    expect(ended.code, `${name}: ${ended.stderr}`).toBe(code)
  }
  for (const name of ['inbox', 'lines', 'list'] as const) followers[name].kill('SIGINT')
  for (const [name, follower] of Object.entries(followers)) {
    const { code, stdout, stderr } = await follower.ended
    if (!(name in codes)) expect(code, name).toBe(130)
    expect(stderr.split(LOST), name).toHaveLength(2)
    expect(stderr, name).toMatch(BACK)
    expect(stdout, name).not.toContain('connection')
  }
  for (const one of [question, another]) expect((await remote('instance', 'cancel', one)).code).toBe(0)
})

test('after a minute without the server commands end with exit code 10 and name the instance', async () => {
  const id = await created('sleep')
  await isRunning(id)
  const running = begin('run', 'doer', '-i', 'do=sleep', '--name', 'followed', '--json')
  const find = async () => {
    const { stdout } = await remote('instance', 'list', '--status', 'running', '--json')
    return (JSON.parse(stdout) as { instances: { name: string | null; instance_id: string }[] }).instances
  }
  await expect.poll(async () => (await find()).some((one) => one.name === 'followed'), { timeout: 30_000 }).toBe(true)
  const own = (await find()).find((one) => one.name === 'followed')?.instance_id ?? ''
  const followers = {
    running,
    jsonl: begin('watch', id, '--jsonl'),
    plain: begin('watch', id),
    events: begin('instance', 'events', id, '--follow'),
    inbox: begin('inbox', '--watch', '--jsonl'),
    list: begin('instance', 'list', '--watch', '--status', 'running'),
  }
  await Promise.all([followers.jsonl.said('"to":"running"'), followers.plain.said('running'), followers.list.said(id)])
  await followers.events.said('running')
  await followers.inbox.said(await created('ask'))
  const began = Date.now()
  server.kill('SIGKILL')
  await server.ended
  const ended = Object.fromEntries(
    await Promise.all(Object.entries(followers).map(async ([name, one]) => [name, await one.ended] as const)),
  ) as Record<keyof typeof followers, Ended>
  expect(Date.now() - began).toBeGreaterThan(55_000)
  expect(Date.now() - began).toBeLessThan(90_000)
  for (const [name, { code, stderr }] of Object.entries(ended)) expect(code, `${name}: ${stderr}`).toBe(10)

  const lost = new RegExp(`The connection to ${server.url} was lost 6\\d s ago; ${id} continues on the server\\.`)
  const again = `resolve instance watch ${id} --server ${server.url}`
  for (const { stderr } of [ended.plain, ended.events]) {
    expect(stderr).toMatch(lost)
    expect(stderr).toContain('Watch it again when the server is reachable.')
    expect(stderr).toContain(again)
  }
  expect(JSON.parse(ended.running.stdout)).toMatchObject({
    schema: 'resolve.error/1',
    exit_code: 10,
    instance_id: own,
    error: { code: 'server_unreachable', message: expect.stringContaining(`${own} continues on the server`) },
    next: [`resolve instance watch ${own} --server ${server.url}`],
  })
  const closing = JSON.parse(ended.jsonl.stdout.trimEnd().split('\n').at(-1) ?? '') as object
  expect(closing).toMatchObject({
    type: 'left',
    reason: 'connection_lost',
    instance: { instance_id: id, status: 'running', exit_code: 10 },
  })
  expect(ended.jsonl.stderr).toMatch(lost)
  const closed = JSON.parse(ended.inbox.stdout.trimEnd().split('\n').at(-1) ?? '') as object
  expect(closed).toMatchObject({
    type: 'error',
    error: { code: 'server_unreachable' },
    next: [`resolve inbox --watch --jsonl --server ${server.url}`],
  })
  expect(ended.list.stderr).toContain(`resolve instance list --watch --status running --server ${server.url}`)
  server = await startServe(over.home, ['--port', new URL(server.url).port])
  for (const one of [id, own]) expect((await remote('instance', 'stop', one, '--force')).code).toBe(0)
})

test('a server that was never reachable is not waited for', async () => {
  const began = Date.now()
  const { code } = await client.with({ env: env() }, 'inbox', '--watch', '--server', 'http://127.0.0.1:1')
  expect(code).toBe(10)
  expect(Date.now() - began).toBeLessThan(20_000)
})
