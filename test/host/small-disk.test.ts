/**
 * `resolve serve` on a real file system that is full to its last block, and on one that is read-only: what is refused is refused
 * before it is acknowledged, nothing stays half, and with room again all of it goes on without a restart (reliability F7).
 */
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openTokens } from '../../src/core/index.ts'
import { instancePaths, prepareHome } from '../../src/core/store/home.ts'
import { type ServeProcess, startServe } from '../commands/serving.ts'
import { parse } from '../support/event-stream.ts'
import { eventsOf, storyOf, until } from '../support/instances.ts'
import { soundInstance } from '../support/invariants.ts'
import type { Exchange } from '../support/invariants-http.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'
import { mustMount, smallExt4 } from '../support/small-disk.ts'

const disk = smallExt4(64 * 1024 * 1024)
const isThere = disk !== undefined
const home = join(disk?.path ?? tmpdir(), 'home')
const TICKS = 400

/** Says what it has to say however long the disk takes, as the SDK does. */
const BEHAVIOUR = `
  const retryWhileDiskFull = async (write, path) => { for (;;) { const size = path && fs.existsSync(path) ? fs.statSync(path).size : 0
    try { write(); return } catch { if (path && fs.existsSync(path)) fs.truncateSync(path, size); await sleep(20) } } }
  const say = (type, data) => retryWhileDiskFull(() => me.emit(type, data), root + '/events.jsonl')
  const end = (result) => retryWhileDiskFull(() => me.finish(result))
  if (me.params.mode === 'ticks') { for (let n = 1; n <= ${TICKS}; n += 1) { await say('plain.tick', { n, pad: 'x'.repeat(400) })
      while (n === 50 && !fs.existsSync(me.params.go)) await sleep(10) }
    await end({ status: 'completed', output: 'all said' }) }
  if (me.params.mode === 'asks') { const a = await me.ask('q', '?'); await say('plain.answered', a); await end({ status: 'completed', output: a.x }) }
  if (me.params.mode === 'waits') { const why = await me.stopped; await end({ status: 'cancelled', output: why }) }`

/** Beside the small disk. */
const outside = join(tmpdir(), `resolve-go-${process.pid}`)
const goOn = () => writeFileSync(outside, '')

let server: ServeProcess
let token: string
const exchanges = new Map<string, Exchange[]>()

beforeAll(async () => {
  if (!isThere) return
  prepareHome(home)
  const platform = await platformOn(home)
  await (await platform.catalog()).add(plainResolver(BEHAVIOUR).dir, { cwd: home })
  await platform.close()
  token = (await openTokens(home).create({ scope: 'admin' })).token
  server = await startServe(home)
})

afterEach(() => {
  disk?.makeRoom()
  rmSync(outside, { force: true })
})

afterAll(async () => {
  try {
    if (!isThere) return
    // A worker that runs on would keep the disk, and its loop device.
    const records = (await call('GET', '/instances')).body
    for (const { instance_id: id } of records) await call('POST', `/instances/${id}/stop`, { force: true })
    const hasEnded = ({ instance_id: id }: { instance_id: string }) => storyOf(home, id).endedAt !== null
    const live = () => records.filter((record: { instance_id: string }) => !hasEnded(record))
    for (let tries = 0; live().length > 0 && tries < 750; tries += 1) await sleep(20)
    server?.kill('SIGKILL')
    await server?.ended
  } finally {
    disk?.close()
  }
})

interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test says itself what it expects to be there.
  body: any
}

/** One call of the API, kept for the invariants. */
async function call(method: string, path: string, sent?: unknown, key?: string): Promise<Answer> {
  const from = Date.now()
  const answer = await fetch(`${server.url}/api${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
  })
  const text = await answer.text()
  const body = text === '' ? undefined : JSON.parse(text)
  const id = /^\/instances\/([0-9a-f]{12})/.exec(path)?.[1]
  if (id !== undefined) {
    const kept = { method, path, status: answer.status, body, from, to: Date.now() }
    exchanges.get(id)?.push({ ...kept, ...(sent === undefined ? {} : { sent }), ...(key === undefined ? {} : { key }) })
  }
  return { status: answer.status, body }
}

/** One that ticks stops after a while, until {@link goOn}. */
async function create(mode: string): Promise<string> {
  const { status, body } = await call('POST', '/instances', { resolver: 'plain', input: { mode, go: outside } })
  expect(status).toBe(202)
  exchanges.set(body.instance_id, [])
  return body.instance_id
}

/** Everything a reader is sent, until the server ends the stream. */
async function read(id: string): Promise<ReturnType<typeof parse>> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${server.url}/api/instances/${id}/events?follow=true`, { headers })
  return parse(await answer.text())
}

/** The command line on the same home: exit code and what it says. */
function command(...args: string[]): Promise<{ code: unknown; said: string }> {
  const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')
  const env = { ...process.env, RESOLVE_HOME: home, CI: '' }
  return new Promise((done) => {
    execFile(process.execPath, [program, ...args], { env, cwd: tmpdir() }, (error, _stdout, stderr) =>
      done({ code: error === null ? 0 : error.code, said: stderr }),
    )
  })
}

/** What a write that failed in the middle would leave. */
function halves(): string[] {
  const found = readdirSync(home, { recursive: true, encoding: 'utf8' })
  return found.filter((path) => /(?:^|\/)\.(?:new-[^/]*|[^/]*\.tmp)$/.test(path) && !path.includes('/project/'))
}

function sound(id: string, streams: Parameters<typeof soundInstance>[2] = {}): void {
  soundInstance(home, id, { answers: exchanges.get(id) ?? [], ...streams })
}

const refusals = async (asking: string, waiting: string, key: string): Promise<Record<string, Answer>> => ({
  create: await call('POST', '/instances', { resolver: 'plain', input: { mode: 'waits' } }),
  'create with a key': await call('POST', '/instances', { resolver: 'plain', input: { mode: 'waits' } }, key),
  ...(await acts(asking, waiting)),
})

/** Each is longer than what is left in the last block of a file: what fits into that is on disk, and accepted. */
const acts = async (asking: string, waiting: string): Promise<Record<string, Answer>> => ({
  answer: await call('POST', `/instances/${asking}/input-requests/q`, { x: `early ${LONG}` }),
  message: await call('POST', `/instances/${waiting}/messages`, { message_type: 'note', payload: { text: LONG } }),
})
const LONG = 'x'.repeat(8_192)

test.runIf(mustMount)('the small disk of these tests can be mounted here', () => expect(isThere).toBe(true))

test.skipIf(!isThere)(
  'on a full disk requests are refused before they are acknowledged, no half-written file is left, and work goes on with space again',
  { timeout: 120_000 },
  async () => {
    const [ticking, asking, waiting] = [await create('ticks'), await create('asks'), await create('waits')]
    await until(home, asking, (story) => story.status === 'awaiting_input')
    await until(home, waiting, (story) => story.status === 'running')
    const reading = read(ticking)
    await until(home, ticking, () => eventsOf(home, ticking).length > 50)
    disk?.fill()
    goOn()
    const before = readdirSync(join(home, 'instances')).length
    for (const [what, { status, body }] of Object.entries(await refusals(asking, waiting, 'k-1'))) {
      expect({ what, status, code: body?.code }).toEqual({ what, status: 507, code: 'disk_full' })
    }
    // A short line may fit into the last block of the journal: then it is on disk.
    const short = await call('PATCH', `/instances/${waiting}`, { name: 'short' })
    const told = (await call('GET', `/instances/${waiting}`)).body.name
    expect([short.status, short.body.code, told]).toEqual(
      short.status === 200 ? [200, undefined, 'short'] : [507, 'disk_full', null],
    )
    const other = plainResolver('', { name: 'other' }).dir
    const commands = [
      ['resolver', 'add', other],
      ['token', 'create'],
      ['run', 'plain', '-i', 'mode=waits'],
    ]
    const answers = await Promise.all(commands.map(async (words) => ({ words, ...(await command(...words)) })))
    for (const { words, code, said } of answers) {
      expect({ words, code, said }).toEqual({ words, code: 10, said: expect.stringContaining('No space left') })
    }
    expect(readdirSync(join(home, 'instances'))).toHaveLength(before)
    // A write that is tried again and again has its draft for a moment.
    await expect.poll(halves).toEqual([])
    // What is there can be read, and its readers stay.
    expect((await call('GET', '/instances')).status).toBe(200)
    expect((await call('GET', `/instances/${asking}`)).body).toMatchObject({
      status: 'awaiting_input',
      pending_inputs: 1,
    })
    // Nothing ends while there is no room.
    await sleep(300)
    expect(storyOf(home, ticking).status).toBe('running')
    expect(await Promise.race([reading, 'still reading'])).toBe('still reading')
    disk?.makeRoom()
    expect((await call('POST', `/instances/${asking}/input-requests/q`, { x: 'in time' })).status).toBe(204)
    expect(
      (await call('POST', `/instances/${waiting}/messages`, { message_type: 'note', payload: { text: 'hi' } })).status,
    ).toBe(202)
    expect((await call('PATCH', `/instances/${waiting}`, { name: 'another' })).body).toMatchObject({ name: 'another' })
    expect((await call('POST', '/instances', { resolver: 'plain', input: { mode: 'waits' } }, 'k-1')).status).toBe(202)
    expect((await call('DELETE', `/instances/${waiting}`)).status).toBe(200)
    const { messages } = await reading
    const ticks = eventsOf(home, ticking).filter(({ event }) => event.event_type === 'plain.tick')
    expect(ticks.map(({ event }) => event.data['n'])).toEqual(Array.from({ length: TICKS }, (_, n) => n + 1))
    await expect.poll(() => storyOf(home, asking)).toMatchObject({ status: 'completed', output: 'in time' })
    await expect.poll(() => storyOf(home, waiting).status).toBe('cancelled')
    expect(storyOf(home, ticking)).toMatchObject({ status: 'completed', output: 'all said' })
    sound(ticking, { streams: [[{ after: 0, frames: messages, isWhole: true }]] })
    sound(asking)
    sound(waiting)
  },
)

test.skipIf(!isThere)(
  'a server killed and started again on a full disk reads its home, and goes on with space again',
  { timeout: 120_000 },
  async () => {
    const [ticking, asking] = [await create('ticks'), await create('asks')]
    await until(home, asking, (story) => story.status === 'awaiting_input')
    await until(home, ticking, () => eventsOf(home, ticking).length > 50)
    disk?.fill()
    goOn()
    server.kill('SIGKILL')
    await server.ended
    server = await startServe(home)
    expect((await call('GET', `/instances/${asking}`)).body).toMatchObject({ status: 'awaiting_input' })
    expect((await call('GET', '/instances')).status).toBe(200)
    const refused = await call('POST', `/instances/${asking}/input-requests/q`, { x: LONG })
    expect(refused).toMatchObject({ status: 507, body: { code: 'disk_full' } })
    // A write that is tried again and again has its draft for a moment.
    await expect.poll(halves).toEqual([])
    disk?.makeRoom()
    expect((await call('POST', `/instances/${asking}/input-requests/q`, { x: 'in time' })).status).toBe(204)
    await expect
      .poll(() => storyOf(home, ticking), { timeout: 90_000 })
      .toMatchObject({ status: 'completed', output: 'all said' })
    await expect.poll(() => storyOf(home, asking)).toMatchObject({ status: 'completed', output: 'in time' })
    sound(ticking)
    sound(asking)
  },
)

test.skipIf(!isThere)(
  'a home that became read-only is reported by an error code, and works again when it is writable',
  { timeout: 120_000 },
  async () => {
    const [asking, waiting] = [await create('asks'), await create('waits')]
    await until(home, asking, (story) => story.status === 'awaiting_input')
    await until(home, waiting, (story) => story.status === 'running')
    disk?.forbidWriting()
    try {
      for (const key of [undefined, 'k-2']) {
        const { status, body } = await call('POST', '/instances', { resolver: 'plain', input: { mode: 'waits' } }, key)
        expect({ status, code: body?.code }).toEqual({ status: 507, code: 'home_unusable' })
      }
      // A journal that is open takes lines: what is accepted is on disk, and waits for its files.
      for (const [what, { status }] of Object.entries(await acts(asking, waiting))) {
        expect({ what, isAccepted: status < 300 }).toEqual({ what, isAccepted: true })
      }
      expect((await call('PATCH', `/instances/${waiting}`, { name: 'another' })).body).toMatchObject({
        name: 'another',
      })
      expect((await command('token', 'create')).code).toBe(10)
      expect((await call('GET', `/instances/${asking}`)).status).toBe(200)
    } finally {
      disk?.allowWriting()
    }
    await expect.poll(() => storyOf(home, asking)).toMatchObject({ status: 'completed', output: `early ${LONG}` })
    expect((await call('DELETE', `/instances/${waiting}`)).status).toBe(200)
    await expect.poll(() => storyOf(home, waiting).status).toBe('cancelled')
    sound(asking)
    sound(waiting)
  },
)

test.skipIf(!isThere)('files from before the test are unchanged', () => {
  for (const id of exchanges.keys()) expect(existsSync(instancePaths(home, id).journal)).toBe(true)
  expect(readFileSync(join(home, 'resolvers.json'), 'utf8')).toContain('"plain"')
})
