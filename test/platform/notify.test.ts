/** Notifications: signed, told of by kind and resolver, tried again while the receiver fails, and sent by the next process after a kill. */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { installedFile } from '../../src/core/files/installation.ts'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { isReceiverAddress } from '../../src/core/primitives/network-addresses.ts'
import { countReads } from '../support/file-reads.ts'
import { temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts'

const ACTOR = { actor: 'tester', via: 'cli' } as const

let home: string
let platform: LocalPlatform
let receiver: Receiver
beforeEach(async () => {
  home = temporaryHome()
  platform = await platformOn(home)
  receiver = await startReceiver()
})
afterEach(async () => {
  await platform.close()
  await receiver.close()
})

async function added(behaviour: string, name = 'plain'): Promise<void> {
  const { dir } = plainResolver(behaviour, { name })
  await (await platform.catalog()).add(dir, { cwd: home })
}

async function target(more: Partial<Parameters<LocalPlatform['notify']['add']>[0]> = {}): Promise<void> {
  await platform.notify.add({ name: 'ops', kind: 'webhook', url: receiver.url, secret: receiver.secret, ...more })
}

async function create(resolver = 'plain'): Promise<string> {
  return (await platform.create({ resolver, input: {} })).instance_id
}

const types = () => receiver.valid().map(({ type, data }) => `${type} ${data.resolver}`)

test('a question, its end and a failure are told, signed, with the command that continues and never the answer (S-NOTIFY-01)', async () => {
  await target({ link: 'https://page.example.org/' })
  await added(`const { x } = await me.ask('gate-1', 'Go <!channel>?', { type: 'form', components: [{ type: 'text', id: 'x' }] })
    if (x === 'answer-canary') me.finish({ status: 'completed' }); else me.finish({ status: 'failed', error: 'It broke' })`)
  const id = await create()
  await expect.poll(types).toEqual(['resolve.question plain'])
  const [question] = receiver.valid()
  expect(question?.data).toEqual({
    ...{ instance_id: id, name: null, resolver: 'plain', status: 'awaiting_input' },
    ...{ request_id: 'gate-1', prompt: 'Go <!channel>?' },
    command: `resolve instance answer ${id} gate-1`,
    link: `https://page.example.org/instances/${id}`,
  })
  await platform.answer(id, 'gate-1', { x: 'answer-canary' }, ACTOR)
  await platform.over(id)
  await expect.poll(types).toEqual(['resolve.question plain', 'resolve.end plain'])
  const other = await create()
  await until(home, other, (story) => story.status === 'awaiting_input')
  await platform.answer(other, 'gate-1', { x: 'no' }, ACTOR)
  await expect.poll(() => types().at(-1)).toBe('resolve.failure plain')
  expect(receiver.valid().at(-1)?.data).toMatchObject({
    status: 'failed',
    error: { detail: 'It broke' },
    command: `resolve instance explain ${other}`,
  })
  expect(receiver.invalid()).toEqual([])
  expect(receiver.received.map(({ body }) => body).join()).not.toContain('answer-canary')
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(4)
})

test('a target gets the events and the resolver it was added for, and none from before it was added', async () => {
  await added(`me.finish({ status: 'completed' })`)
  await added(`me.finish({ status: 'failed', error: 'no' })`, 'other')
  await platform.over(await create())
  await target({ events: ['failure'] })
  await platform.notify.add({ name: 'team', kind: 'slack', url: receiver.url, resolver: 'plain' })
  for (const resolver of ['plain', 'other']) await platform.over(await create(resolver))
  await expect.poll(types).toEqual(['resolve.failure other'])
  await expect.poll(() => receiver.invalid().length).toBe(1)
  expect(JSON.parse(receiver.invalid()[0] ?? '')).toEqual({
    text: expect.stringMatching(/^\*plain \([0-9a-f]{12}\) is completed\*\n`resolve/),
  })
})

test('a receiver that fails gets each notification again until it takes it, in order; the list tells of it without the address', async () => {
  await target()
  await added(`await me.ask('q', '?'); me.finish({ status: 'completed' })`)
  receiver.answer = 500
  const id = await create()
  const listed = async () => (await platform.notify.list())[0]
  await expect.poll(async () => (await listed())?.last_error).toBe('it answered 500')
  expect(await listed()).toMatchObject({ waiting: 1, given_up: 0, failing_since: expect.stringMatching(/Z$/) })
  await platform.answer(id, 'q', {}, ACTOR)
  await platform.over(id)
  receiver.answer = 302
  await expect.poll(async () => (await listed())?.last_error).toBe('it answered 302')
  receiver.answer = 204
  receiver.received.length = 0
  await expect.poll(types).toEqual(['resolve.question plain', 'resolve.end plain'])
  await expect.poll(async () => (await listed())?.failing_since).toBe(null)
  const shown = JSON.stringify(await platform.notify.list()) + readFileSync(join(home, 'notify.json'), 'utf8')
  expect(shown).not.toMatch(/path-canary|whsec_/)
  expect(statSync(join(home, 'notify.json')).mode & 0o777).toBe(0o600)
})

// verifies: S-NOTIFY-02
test('what a killed host could not send, the next process sends', { timeout: 90_000 }, async () => {
  await target()
  await added(`await me.ask('q', '?'); me.finish({ status: 'completed' })`)
  const { instance_id: id } = await platform.create({ resolver: 'plain', input: {}, host: 'background' })
  await expect.poll(types).toEqual(['resolve.question plain'])
  receiver.answer = 503
  await platform.answer(id, 'q', {}, ACTOR)
  await until(home, id, (story) => story.status === 'completed')
  // Its background host ends with the notification still in the outbox. A server that starts later sends it.
  receiver.answer = 204
  receiver.received.length = 0
  const server = spawn(process.execPath, [installedFile('host.js') as string, home, id], { stdio: 'ignore' })
  server.kill('SIGKILL')
  platform.startNotifying()
  await expect.poll(types).toEqual(['resolve.end plain'])
})

/** Metadata of clouds, ranges without hosts, and IPv6 addresses that stand for an IPv4 one: NAT64, Teredo, 6to4, IPv4-compatible. */
const RESERVED = [
  ...['168.63.129.16', '192.0.0.192', '192.0.0.8', '198.18.0.1', '198.19.255.254', '192.0.2.1', '203.0.113.9'],
  ...['[64:ff9b::a9fe:a9fe]', '[64:ff9b:1::a00:1]', '[2001:0:4136:e378:8000:63bf:3fff:fdd2]', '[2002:a9fe:a9fe::1]'],
  ...['[::10.0.0.1]', '[::ffff:0:169.254.169.254]', '[fec0::1]', '[2001:db8::1]', '[fd20:ce::254]'],
]

test('addresses that are no receiver are refused, at once or when their name is resolved (S-NOTIFY-03)', async () => {
  const refusals = [
    ['ftp://example.org', 'must begin with https://'],
    ['https://user:pass-canary@example.org/x', 'must not have a user or a password'],
    ['http://169.254.169.254/latest/meta-data', 'is link-local or reserved'],
    ['http://[fe80::1]/', 'is link-local or reserved'],
    ['http://[::ffff:169.254.169.254]/', 'is link-local or reserved'],
    ['http://2852039166/', 'is link-local or reserved'],
    ...RESERVED.map((host) => [`http://${host}/`, 'is link-local or reserved'] as const),
  ] as const
  for (const [url, reason] of refusals) {
    const refused = await target({ url }).catch((error: unknown) => String(error))
    expect(refused).toContain(reason)
    expect(refused).not.toContain('canary')
  }
  const receivers = ['127.0.0.1', '10.0.0.5', '::1', '::ffff:10.0.0.5', 'fd00::5', '168.63.129.17', '2606:4700::1111']
  expect(receivers.filter((one) => !isReceiverAddress(one))).toEqual([])
  await expect(target({ secret: 'whsec_c2hvcnQ=' })).rejects.toThrow('The signing secret of a webhook')
  await target()
  await expect(target()).rejects.toMatchObject({ code: 'notify_exists' })
  await expect(platform.notify.remove('none')).rejects.toMatchObject({ code: 'notify_unknown' })
})

test('a target that does not answer delays no other, and has a bounded number of connections (S-NOTIFY-02)', {
  timeout: 90_000,
}, async () => {
  const silent = await startReceiver()
  silent.answer = 'hang'
  await platform.notify.add({ name: 'silent', kind: 'webhook', url: silent.url, secret: silent.secret })
  await target()
  await added(`await me.ask('q', '?'); me.finish({ status: 'completed' })`)
  const first = await create()
  await expect.poll(() => silent.open()).toBe(1)
  await expect.poll(() => types().length).toBe(1)
  // The next notice of this instance, and those of others, come while the silent target still has the first.
  await platform.answer(first, 'q', {}, ACTOR)
  const others = [await create(), await create(), await create(), await create(), await create()]
  await expect.poll(() => types().length).toBe(2 + others.length)
  expect(silent.received[0]?.body).toContain(first)
  await expect.poll(() => silent.open()).toBe(4)
  const own = receiver.valid().filter(({ data }) => data.instance_id === first)
  expect(own.map(({ type }) => type)).toEqual(['resolve.question', 'resolve.end'])
  for (const id of others) await platform.answer(id, 'q', {}, ACTOR)
  await expect.poll(() => types().length).toBe(2 + 2 * others.length)
  expect(silent.open()).toBeLessThanOrEqual(4)
  // Only its first notice, however often it was tried: the next one waits for it.
  const tried = silent.valid().filter(({ data }) => data.instance_id === first)
  expect(new Set(tried.map(({ type }) => type))).toEqual(new Set(['resolve.question']))
  await silent.close()
})

test('a test is sent once, and its outcome told', async () => {
  await target()
  expect(await platform.notify.test('ops')).toEqual({ delivered: true, error: null })
  receiver.answer = 418
  expect(await platform.notify.test('ops')).toEqual({ delivered: false, error: 'it answered 418' })
  await receiver.close()
  expect(await platform.notify.test('ops')).toEqual({ delivered: false, error: "it can't be reached (ECONNREFUSED)" })
})

test('an end is not sent again when the ended instance gets a label, in this process or another (S-NOTIFY-01)', async () => {
  await target()
  await added(`me.finish({ status: 'completed' })`)
  const id = await create()
  await platform.over(id)
  await expect.poll(types).toEqual(['resolve.end plain'])
  await expect.poll(() => existsSync(join(home, 'outbox', `${id}.json`))).toBe(false)
  for (let round = 1; round <= 2; round += 1) {
    await platform.edit(id, { labels: { round: String(round) } })
    // The next instance is sent in the same sweeps, after which nothing of the first is left.
    await platform.over(await create())
    await expect.poll(() => types().length).toBeGreaterThan(round)
    await expect.poll(() => existsSync(join(home, 'outbox', `${id}.json`))).toBe(false)
    await platform.close()
    platform = await platformOn(home)
  }
  expect(receiver.valid().filter(({ data }) => data.instance_id === id).length).toBe(1)
})

test('the limit of a notification covers the body of the answer (S-NOTIFY-01)', { timeout: 90_000 }, async () => {
  receiver.answer = 'endless'
  await target()
  await added(`me.finish({ status: 'completed' })`)
  await platform.over(await create())
  await expect.poll(types).toEqual(['resolve.end plain'])
  await expect.poll(() => receiver.open()).toBe(0)
})

test('a receiver that switches protocols has failed: it is told, and gets the notification later (S-NOTIFY-02)', {
  timeout: 90_000,
}, async () => {
  receiver.answer = 'upgrade'
  await target()
  await added(`me.finish({ status: 'completed' })`)
  await platform.over(await create())
  const listed = async () => (await platform.notify.list())[0]
  await expect.poll(async () => (await listed())?.last_error).toBe('it answered 101')
  expect(await listed()).toMatchObject({ waiting: 1, failing_since: expect.stringMatching(/Z$/) })
  receiver.answer = 204
  receiver.received.length = 0
  await expect.poll(types).toEqual(['resolve.end plain'])
  await expect.poll(async () => (await listed())?.waiting).toBe(0)
})

test('a notification waits from its first try on, not only when that has failed (S-NOTIFY-02)', async () => {
  receiver.answer = 'hang'
  await target()
  await added(`await me.ask('q', '?'); me.finish({ status: 'completed' })`)
  const id = await create()
  await expect.poll(() => receiver.open()).toBe(1)
  expect(await platform.notify.list()).toMatchObject([{ waiting: 1, failing_since: null, last_error: null }])
  await platform.answer(id, 'q', {}, ACTOR)
  await platform.over(id)
})

test('the journal is read once for all targets, in slices, however long it is and however often it grows (S-NOTIFY-02)', {
  timeout: 90_000,
}, async () => {
  await target({ events: ['question'] })
  for (const name of ['a', 'b', 'c']) {
    const { url, secret } = receiver
    await platform.notify.add({ name, kind: 'webhook', url, secret, events: ['failure'] })
  }
  // A long journal, which then grows by a little at each question.
  await added(`const pad = 'x'.repeat(400_000)
    for (let n = 0; n < 80; n += 1) me.emit('plain.noise', { pad })
    for (const id of ['q1', 'q2', 'q3', 'q4']) await me.ask(id, '?')
    me.finish({ status: 'completed' })`)
  const { reads, stop } = countReads((path) => path.endsWith('/journal'))
  try {
    const id = await create()
    const journal = join(home, 'instances', id, 'journal')
    for (const [at, question] of ['q1', 'q2', 'q3', 'q4'].entries()) {
      await expect.poll(() => types().length).toBe(at + 1)
      await platform.answer(id, question, {}, ACTOR)
    }
    await platform.over(id)
    await expect.poll(() => existsSync(join(home, 'outbox', `${id}.json`))).toBe(false)
    const { size } = statSync(journal)
    expect(size).toBeGreaterThan(30_000_000)
    // Once for the notices and once for the record of the instance.
    expect(reads.bytes / size).toBeLessThan(3)
    expect(reads.bytesOfTurn / size).toBeLessThan(0.5)
  } finally {
    stop()
  }
})
