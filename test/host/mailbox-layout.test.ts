/**
 * A home as an earlier version left it opens and goes on: answers, messages, stops, marks and names lay beside the journal then.
 * test/fixtures/homes/mailbox-layout was made by that version; its hosts and workers were killed.
 */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import type { LocalPlatform } from '../../src/core/index.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readJournal } from '../../src/core/store/journal-projection.ts'
import { eventsOf, storyOf } from '../support/instances.ts'
import { checkInvariants } from '../support/invariants.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

const FIXTURE = join(import.meta.dirname, '../fixtures/homes/mailbox-layout')
/** An ended instance; one that paused with a message undelivered; three whose host was killed right after it kept what was sent. */
const [ENDED, PAUSED, ANSWERED, STOPPED, TOLD] = [1, 2, 3, 4, 5].map((n) => `0e000000000${n}`) as [
  string,
  string,
  string,
  string,
  string,
]
const RESUMED = `
  await me.sleep(50)
  while (me.messages.length === 0) await sleep(5)
  me.finish({ status: 'completed', output: me.messages.map((one) => one.number + one.payload.text).join() })`

const STAMP = /2026-11-22T08:32:\d\d\.\d{3}Z/g
/** As if that home were left a minute ago: an instance has a lifetime. */
const MOVED_MS = Date.now() - Date.parse('2026-11-22T08:34:00Z')
const movedStamp = (stamp: string) => new Date(Date.parse(stamp) + MOVED_MS).toISOString()

let home: string
let platform: LocalPlatform

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'resolve-old-home-'))
  cpSync(FIXTURE, home, { recursive: true })
  const { dir } = plainResolver(RESUMED, { supports_resume: true })
  for (const entry of readdirSync(home, { recursive: true, encoding: 'utf8' })) {
    const path = join(home, entry)
    if (!statSync(path).isFile()) continue
    const text = readFileSync(path, 'utf8').replaceAll('@HOME@', home).replaceAll('@RESOLVER@', dir)
    writeFileSync(path, text.replaceAll(STAMP, movedStamp), { mode: 0o600 })
  }
  // What no copy of files can hold.
  for (const id of [ENDED, PAUSED, ANSWERED, STOPPED, TOLD]) execFileSync('mkfifo', [instancePaths(home, id).stdin])
  platform = await platformOn(home)
})

afterEach(async () => {
  await platform.close()
  rmSync(home, { recursive: true, force: true })
})

const by = (key: string) => ({ actor: 'ada', via: 'http', key }) as const
const mailboxOf = (id: string) => join(instancePaths(home, id).root, 'mailbox')

/** A host goes on with it to its end. */
async function carriedOn(id: string): Promise<void> {
  const hosts = new HostProcess(home)
  await hosts.own(id)
  await hosts.over(id)
  await hosts.close()
  expect(existsSync(mailboxOf(id))).toBe(false)
  expect(checkInvariants({ home, id })).toEqual([])
}

test('an instance that has ended is read as it was, without a host', async () => {
  expect(await platform.record(ENDED)).toMatchObject({ name: 'Seven', status: 'completed', output: 'seven hello' })
  expect((await platform.story(ENDED)).creation.name).toBe('Seven')
  expect(await platform.messages(ENDED)).toMatchObject([{ number: 1, payload: { text: 'hello' } }])
  expect((await platform.list()).records.map(({ name }) => name)).toContain('Seven')
  // A call that is repeated with its key has the answer it had.
  await platform.answer(ENDED, 'q', { x: 'seven' }, by('answer of ended'))
  expect(await platform.message(ENDED, 'note', { text: 'hello' }, by('first note of ended'))).toEqual({ number: 1 })
  await expect(platform.answer(ENDED, 'q', { x: 'eight' }, by('another'))).rejects.toMatchObject({
    code: 'already_answered',
  })
  const chunks: Buffer[] = []
  for await (const chunk of await platform.export(ENDED)) chunks.push(chunk)
  const archive = gunzipSync(Buffer.concat(chunks)).toString('utf8')
  expect(archive).toContain('"x": "seven"')
  expect(archive).toContain('"text": "hello"')
  expect(existsSync(mailboxOf(ENDED))).toBe(true)
})

test('its name is changed once more, and what lay beside the journal stands in it afterwards', async () => {
  expect((await platform.rename(ENDED, 'Eight')).name).toBe('Eight')
  const { root, journal } = instancePaths(home, ENDED)
  expect(readdirSync(root)).not.toContain('mailbox')
  expect(readdirSync(root)).not.toContain('name.json')
  const { inbox } = readJournal(journal)
  expect(inbox.answer('q')).toMatchObject({ key: 'answer of ended', actor: 'ada' })
  expect(inbox.undelivered()).toEqual([])
  expect(await platform.messages(ENDED)).toMatchObject([{ number: 1, payload: { text: 'hello' } }])
  expect((await platform.record(ENDED)).name).toBe('Eight')
  expect(checkInvariants({ home, id: ENDED })).toEqual([])
})

test('a paused instance is resumed, and gets the message that was accepted and not delivered (R42)', async () => {
  expect(await platform.record(PAUSED)).toMatchObject({ name: 'Waits', status: 'paused' })
  await platform.resume(PAUSED)
  await platform.over(PAUSED)
  expect(await platform.record(PAUSED)).toMatchObject({ name: 'Waits', status: 'completed', output: '2again' })
  expect(existsSync(mailboxOf(PAUSED))).toBe(false)
  expect(checkInvariants({ home, id: PAUSED })).toEqual([])
})

test('an answer that was kept and not yet told of is told of by the next host', async () => {
  expect(storyOf(home, ANSWERED).status).toBe('awaiting_input')
  await carriedOn(ANSWERED)
  const types = eventsOf(home, ANSWERED).map(({ event }) => event.event_type)
  expect(types.filter((type) => type === 'platform.input.answered')).toHaveLength(1)
  const { project } = instancePaths(home, ANSWERED)
  expect(readFileSync(join(project, '.resolve/input-requests/q.response.json'), 'utf8')).toBe('{"x":"kept"}')
  expect(storyOf(home, ANSWERED)).toMatchObject({ status: 'failed', error: { code: 'worker_exited' } })
})

test('a stop that was kept is carried out', async () => {
  await carriedOn(STOPPED)
  expect(storyOf(home, STOPPED)).toMatchObject({ status: 'cancelled' })
  expect(storyOf(home, STOPPED).history.at(-1)).toMatchObject({ reason: 'enough' })
})

test('a message that was kept and not yet told of is told of, and keeps its number', async () => {
  await carriedOn(TOLD)
  expect(await platform.messages(TOLD)).toMatchObject([{ number: 1, payload: { text: 'kept' } }])
})

test('a host that is killed while it takes the layout over leaves nothing twice', async () => {
  const before = { ...instancePaths(home, PAUSED) }
  const kept = join(home, 'kept')
  cpSync(mailboxOf(PAUSED), kept, { recursive: true })
  await platform.rename(PAUSED, 'Still waits')
  const lines = readFileSync(before.journal, 'utf8').split('\n')
  const [first, last] = [
    lines.findIndex((line) => line.startsWith('p\t')),
    lines.findIndex((line) => line.startsWith('p\timported')),
  ]
  for (let cut = first; cut <= last + 1; cut += 1) {
    writeFileSync(before.journal, `${lines.slice(0, cut).join('\n')}\n`)
    cpSync(kept, mailboxOf(PAUSED), { recursive: true })
    await platform.rename(PAUSED, `Cut at ${cut}`)
    const { story, inbox } = readJournal(before.journal)
    expect([story.creation.name, existsSync(mailboxOf(PAUSED))]).toEqual([`Cut at ${cut}`, false])
    expect(inbox.undelivered()).toMatchObject([{ kind: 'message', number: 2 }])
    expect(
      inbox
        .all()
        .map((one) => ('number' in one ? one.number : one.request_id))
        .sort(),
    ).toEqual([1, 2, 'q'])
  }
})

test('hostile files in that layout are left out, and the rest is taken over', async () => {
  const hostile = mailboxOf(PAUSED)
  const put = (name: string, content: string) => writeFileSync(join(hostile, name), content)
  const outside = join(home, 'outside.json')
  writeFileSync(outside, '{"kind":"answer","request_id":"linked","payload":{},"at":"1"}')
  symlinkSync(outside, join(hostile, 'answer-linked.json'))
  symlinkSync('/dev/zero', join(hostile, 'answer-zero.json'))
  symlinkSync(hostile, join(hostile, 'message-circle.json'))
  rmSync(join(instancePaths(home, PAUSED).root, 'name.json'), { force: true })
  execFileSync('mkfifo', [join(hostile, 'answer-fifo.json'), join(instancePaths(home, PAUSED).root, 'name.json')])
  put('answer-torn.json', '{"kind":"answer","request_id":"torn"')
  put('answer-list.json', '[{"kind":"answer"}]')
  put('answer-null.json', 'null')
  put('answer-none.json', '{"kind":"answer","payload":{}}')
  put('answer-number.json', '{"kind":"answer","request_id":7,"payload":{}}')
  put('message-word.json', '{"kind":"message","number":"9","payload":{}}')
  put('message-far.json', '{"kind":"message","number":1e300,"payload":{}}')
  put('message-less.json', '{"kind":"message","number":-1,"payload":{}}')
  put('answer-deep.json', `{"kind":"answer","request_id":"deep","payload":${'['.repeat(200_000)}`)
  put('stop.json', '{"kind":"other","how":"stop"}')
  truncateSync(join(hostile, 'answer-torn.json'), 3 * 1024 ** 3)
  const expected = [1, 2, 'q']
  const whatIsThere = () =>
    readJournal(instancePaths(home, PAUSED).journal)
      .inbox.all()
      .map((one) => ('number' in one ? one.number : one.request_id))
      .sort()
  expect(whatIsThere()).toEqual(expected)
  expect(await platform.messages(PAUSED)).toHaveLength(2)
  await platform.rename(PAUSED, 'Renamed')
  expect(existsSync(hostile)).toBe(false)
  expect(whatIsThere()).toEqual(expected)
  expect(readFileSync(outside, 'utf8')).toContain('linked')
})

test('names of prototypes are names like others', async () => {
  const { journal } = instancePaths(home, PAUSED)
  const answer = '{"kind":"answer","request_id":"__proto__","payload":{"__proto__":{"polluted":true}},"at":"1"}'
  writeFileSync(join(mailboxOf(PAUSED), 'answer-__proto__.json'), answer)
  await platform.rename(PAUSED, '__proto__')
  const { inbox, story } = readJournal(journal)
  expect(inbox.answer('__proto__')).toMatchObject({ request_id: '__proto__' })
  expect(story.creation.name).toBe('__proto__')
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})
