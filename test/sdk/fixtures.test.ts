/** The fixture resolvers do what their names say: other rooms' tests lean on them. */
import { existsSync, lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { parseForm } from '../../src/core/forms/parse-form.ts'
import { validate } from '../../src/core/forms/validate.ts'
import { launchFixture, type ResolverProcess } from './harness.ts'

const start = async (name: string, params: Record<string, unknown> = {}): Promise<ResolverProcess> => {
  const resolver = launchFixture(name, { params })
  await resolver.start()
  return resolver
}

test('asks-once', async () => {
  const resolver = await start('asks-once')
  await resolver.untilRequest('name')
  await resolver.answer('name', { name: 'Ada' })
  await resolver.answer('name', { name: 'Bob' })
  expect(await resolver.result()).toEqual({ status: 'completed', output: 'Hello, Ada!' })
})

test('two-questions', async () => {
  const resolver = await start('two-questions')
  await resolver.untilRequest('first')
  await resolver.untilRequest('second')
  await resolver.answer('second', { text: 'b' })
  expect(existsSync(join(resolver.dir, 'input-requests/third.json'))).toBe(false)
  await resolver.answer('first', { text: 'a' })
  await resolver.untilRequest('third')
  await resolver.answer('third', { text: 'c' })
  expect(await resolver.result()).toMatchObject({ output: 'b a c' })
})

test('three-checks', async () => {
  const resolver = launchFixture('three-checks', { params: { name: 'Ada', email: 'a@b.co', city: 'cairo' } })
  const { form } = parseForm(await resolver.call('resolver.getInstantiationSchema', { params: {} }))
  if (form === null) throw new Error('The form is not well-formed')
  const failing = validate(form, { name: '', email: '', city: '' }, () => false)
  expect(failing).toEqual(['Say your name', 'Say where to write to', 'Choose a city'])
  await resolver.start()
  expect(await resolver.result()).toMatchObject({ output: expect.stringContaining('Ada <a@b.co> in cairo') })
})

test('ignores-stop', async () => {
  const resolver = await start('ignores-stop')
  await resolver.untilEvent('ignores-stop.working')
  expect(await resolver.call('resolver.stop', { reason: 'enough' })).toEqual({ acknowledged: true })
  await resolver.untilEvent('ignores-stop.ignored')
  resolver.child.kill('SIGTERM')
  await resolver.until('the second event', () => (resolver.types().length === 3 ? true : undefined))
  expect(resolver.child.exitCode).toBeNull()
})

test('prints-noise', async () => {
  const resolver = await start('prints-noise')
  await resolver.result()
  expect(resolver.lines).toContain('Hello from a print')
  expect(resolver.types()).toEqual(['prints-noise.printed', 'resolver:completed'])
})

test('many-events', async () => {
  const resolver = await start('many-events', { count: '250' })
  expect(await resolver.result()).toMatchObject({ output: '250 events' })
  expect(resolver.events()).toHaveLength(251)
})

test.each(['resolver.initialize', 'resolver.run', 'resolver.stop'])('dies-at %s', async (method) => {
  const resolver = launchFixture('dies-at', { params: { method } })
  resolver.notify('resolver.initialize', { config: resolver.config })
  for (const each of ['resolver.initialize', 'resolver.run', 'resolver.stop'])
    resolver.notify(each, { config: resolver.config })
  expect(await resolver.exitCode()).toBe(7)
})

test('never-initializes', async () => {
  const resolver = launchFixture('never-initializes')
  expect(await resolver.call('resolver.getInstantiationSchema', { params: null })).toBeNull()
  resolver.write(JSON.stringify({ jsonrpc: '2.0', id: '8:8', method: 'resolver.initialize', params: {} }))
  await sleep(200)
  expect(resolver.frames.some(({ id }) => id === '8:8')).toBe(false)
})

test('bad-request', async () => {
  const resolver = await start('bad-request')
  await resolver.untilRequest('bad')
  resolver.notify('resolver.inputRefused', { request_id: 'bad', errors: ['no such function'] })
  expect(await resolver.result()).toMatchObject({ status: 'failed', error: 'bad: no such function' })
})

test('exits-zero', async () => {
  const resolver = await start('exits-zero')
  expect(await resolver.exitCode()).toBe(0)
  expect(resolver.json('status.json')).toBeUndefined()
})

test('returns-paused-without-support', async () => {
  expect(await (await start('returns-paused-without-support')).result()).toMatchObject({ status: 'paused' })
})

test('forges-events', async () => {
  const resolver = await start('forges-events')
  await resolver.result()
  const lines = (resolver.read('events.jsonl') ?? '').trimEnd().split('\n')
  expect(lines).toHaveLength(11)
  expect(lines.filter((line) => line.includes('platform.'))).toHaveLength(1)
  expect(lines.filter((line) => line.length > 1024 * 1024)).toHaveLength(1)
})

test('half-lines', async () => {
  const resolver = await start('half-lines')
  await resolver.result()
  // The last piece is written after the result is told.
  const text = () => resolver.read('events.jsonl') ?? ''
  await vi.waitUntil(() => text().includes('unfinished'), { timeout: 30_000 })
  const lines = text().split('\n')
  expect(lines).toHaveLength(5)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ data: { text: 'žluťoučký 🐎' } })
  expect(lines[1]).toHaveLength(40)
  expect(lines[4]).toContain('half-lines.unfinished')
})

test('links-and-fifos', async () => {
  const home = mkdtempSync(join(tmpdir(), 'resolve-secret-'))
  onTestFinished(() => rmSync(home, { recursive: true }))
  writeFileSync(join(home, 'secret'), 'canary')
  const resolver = await start('links-and-fifos', { secret: join(home, 'secret'), waits: true })
  await resolver.untilEvent('links-and-fifos.planted')
  const kind = (path: string) => lstatSync(join(resolver.dir, path))
  for (const path of ['data/link', 'data/linked-directory', 'data/environment', 'messages/001.json']) {
    expect(kind(path).isSymbolicLink(), path).toBe(true)
  }
  for (const path of ['data/fifo', 'state.json', 'input-requests/fifo.json'])
    expect(kind(path).isFIFO(), path).toBe(true)
})

test('grandchildren', async () => {
  const resolver = await start('grandchildren', { count: '1' })
  const { pids } = (await resolver.untilEvent('grandchildren.born')).data as { pids: number[] }
  const [pid = 0] = pids
  onTestFinished(() => {
    process.kill(pid, 'SIGKILL')
  })
  process.kill(pid, 'SIGTERM')
  await sleep(100)
  expect(() => process.kill(pid, 0)).not.toThrow()
})

test('floods-stdout', async () => {
  const resolver = await start('floods-stdout', { lines: '1500' })
  await resolver.untilEvent('floods-stdout.flooded')
  expect(resolver.lines.filter((line) => line === 'x'.repeat(20)).length).toBeGreaterThan(1_000)
})

test('checkpoints', async () => {
  const first = await start('checkpoints', { to: '4', step_ms: '5', at: '2' })
  expect(await first.result()).toMatchObject({ status: 'paused', output: 'paused at 2' })
  const second = launchFixture('checkpoints', { dir: first.dir, params: { to: '4', step_ms: '5', at: '2' } })
  await second.start(true)
  expect(await second.result()).toMatchObject({ status: 'completed', output: 'counted to 4' })
  const counts = second.events().filter(({ event_type }) => event_type === 'checkpoints.counted')
  expect(counts.map(({ data }) => data['count'])).toEqual([1, 2, 3, 4])
})
