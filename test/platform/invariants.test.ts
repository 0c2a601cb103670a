/** The checker of a run's invariants finds nothing in a sound run, and in a tampered one what was tampered with (reliability, Invariants). */
import {
  appendFileSync,
  chmodSync,
  cpSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { judgeLine } from '../../src/core/host/ingest/event-line.ts'
import { EVENT_LINE_MAX_BYTES } from '../../src/core/limits.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readStory } from '../../src/core/store/journal-projection.ts'
import { toRecord } from '../../src/core/store/record.ts'
import { visibleStory } from '../../src/server/access/visibility.ts'
import { createdOn, eventsOf, temporaryHome, until } from '../support/instances.ts'
import { checkInvariants, type Run, soundInstance } from '../support/invariants.ts'
import { fingerprint } from '../support/invariants-canaries.ts'
import type { Held, HostUse } from '../support/invariants-host.ts'
import type { Exchange } from '../support/invariants-http.ts'
import type { Holdings } from '../support/invariants-processes.ts'
import type { StreamConnection } from '../support/invariants-streams.ts'
import { belongsInJournal } from '../support/line-judge.ts'
import { heldBy } from '../support/measured-server.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'
import { feelPulse, type Lateness } from '../support/pulse.ts'

const ACTOR = { actor: 'tester', via: 'cli' } as const

let home: string
let id: string

/** A run with events, a line that is rejected, an answer and a message. */
beforeAll(async () => {
  home = temporaryHome()
  const behaviour = `
    for (let n = 0; n < 20; n += 1) me.emit('plain.tick', { n })
    me.fs.appendFileSync(root + '/events.jsonl', 'no event\\n')
    me.emit('plain.late')
    const answer = await me.ask('q', 'Which?')
    me.emit('plain.answered', answer)
    while (me.messages.length === 0) await sleep(10)
    me.finish({ status: 'completed', output: 'ok' })`
  const platform = await platformOn(home)
  id = await createdOn(platform, plainResolver(behaviour), { input: { a: 1 } })
  await until(home, id, (story) => story.status === 'awaiting_input')
  await platform.answer(id, 'q', { which: 'this' }, { key: 'k1', ...ACTOR })
  await until(home, id, (story) => story.requests[0]?.status === 'answered')
  await platform.message(id, 'note', { text: 'hurry' }, { key: 'k2', ...ACTOR })
  await platform.over(id)
  await platform.close()
})

/** Checks a copy of the run after `tamper` was at it; answers the ids of what does not hold. */
function idsAfter(tamper: (paths: ReturnType<typeof instancePaths>) => void, recorded: Omit<Run, 'home' | 'id'> = {}) {
  const copy = mkdtempSync(join(tmpdir(), 'resolve-tampered-'))
  const paths = instancePaths(copy, id)
  for (const part of ['journal', 'project'] as const) {
    cpSync(instancePaths(home, id)[part], paths[part], { recursive: true })
  }
  tamper(paths)
  const found = checkInvariants({ home: copy, id, ...recorded })
  rmSync(copy, { recursive: true })
  return [...new Set(found.map((violation) => violation.id))]
}

type Paths = ReturnType<typeof instancePaths>

function edit(path: string, change: (lines: string[]) => string[]): void {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  writeFileSync(path, `${change(lines).join('\n')}\n`)
}

/** Lines of a journal, numbered anew; private ones have no number. */
const renumbered = (lines: string[]) => {
  let seq = 0
  return lines.map((line) => (line.startsWith('p\t') ? line : line.replace(/^\d+/, () => String(seq++))))
}
const journal = (change: (lines: string[]) => string[]) => (paths: Paths) =>
  edit(paths.journal, (lines) => renumbered(change(lines)))
const at = (lines: string[], part: string) => lines.findIndex((line) => line.includes(part))

test('the checker finds nothing in a sound run', () => {
  soundInstance(home, id)
  expect(idsAfter(() => {})).toEqual([])
})

test('I1 finds lines of the source that are lost, doubled, changed, moved, invented or wrongly accepted', () => {
  const tick = (lines: string[]) => at(lines, '{"n":7}')
  const cases: Record<string, (paths: Paths) => void> = {
    lost: journal((lines) => lines.toSpliced(tick(lines), 1)),
    doubled: journal((lines) => lines.toSpliced(tick(lines), 0, lines[tick(lines)] as string)),
    changed: journal((lines) => lines.map((line) => line.replace('{"n":7}', '{"n":8}'))),
    moved: journal((lines) => {
      const [one, next] = [tick(lines), at(lines, '{"n":8}')]
      return lines.with(one, lines[next] as string).with(next, lines[one] as string)
    }),
    invented: journal((lines) => lines.map((line) => line.replace(/^(\d+)\t(\d+)\t(.*"n":7)/, '$1\t1\t$3'))),
    'never carried over': ({ project }) => {
      const path = join(project, '.resolve', 'events.jsonl')
      appendFileSync(path, `${readFileSync(path, 'utf8').split('\n')[0]}\n`)
    },
  }
  for (const [name, tamper] of Object.entries(cases))
    expect([name, idsAfter(tamper)]).toEqual([name, expect.arrayContaining(['I1'])])
})

test('the checker judges lines with code of its own, and gives the same verdicts as the host (R14, R16)', () => {
  const whole = { schema_version: 1, event_type: 'a.b', instance_id: id, data: {}, timestamp: '2026-01-01T00:00:00Z' }
  const field = fc.constantFrom(
    ...['schema_version', 'event_type', 'instance_id', 'data', 'timestamp', 'type', '__proto__', 'phase'],
  )
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('platform', 'platform.x', 'platforms.x', '', 'done', id, 1, 2, '1', [], null, {}),
    fc.constantFrom(
      '2026-01-01T00:00:00.123456+0200',
      '2026-01-01 00:00:00Z',
      '2026-13-41T99:99:99Z',
      '2026-01-01T00:00:00',
    ),
    fc
      .integer({ min: 60, max: 66 })
      .map((depth) => JSON.parse(`${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`)),
  )
  const line = fc
    .tuple(fc.dictionary(field, odd, { maxKeys: 2 }), fc.constantFrom('', ' ', '\r', '\ufeff', ','))
    .map(([change, end]) => Buffer.from(JSON.stringify({ ...whole, ...change }) + end))
  const bytes = fc.oneof(
    line,
    fc.uint8Array().map((some) => Buffer.from(some)),
    fc.json().map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(bytes, (one) => {
      const isCarried = one.length > 0 && 'event' in judgeLine(one, id)
      expect([one.toString(), belongsInJournal(one, id)]).toEqual([one.toString(), isCarried])
    }),
    { numRuns: 2_000 },
  )
  const long = (length: number) => Buffer.from(JSON.stringify({ ...whole, data: { pad: 'x'.repeat(length) } }))
  expect(belongsInJournal(long(EVENT_LINE_MAX_BYTES - long(0).length), id)).toBe(true)
  expect(belongsInJournal(long(EVENT_LINE_MAX_BYTES - long(0).length + 1), id)).toBe(false)
})

test('I2 finds a missing and a repeated sequence number', () => {
  expect(idsAfter(({ journal }) => edit(journal, (lines) => lines.toSpliced(2, 1)))).toEqual(['I2'])
  expect(idsAfter(({ journal }) => edit(journal, (lines) => lines.toSpliced(2, 0, lines[2] as string)))).toEqual(['I2'])
})

test('I3 finds an event before its cause', () => {
  const swap = (part: string, to: number) =>
    journal((lines) => lines.toSpliced(at(lines, part), 1).toSpliced(to, 0, lines[at(lines, part)] as string))
  expect(idsAfter(swap('platform.worker.launched', 20))).toContain('I3')
  expect(idsAfter(swap('platform.input.answered', 2))).toContain('I3')
  expect(
    idsAfter(journal((lines) => lines.map((line) => line.replace('plain.tick', 'resolver:created')))),
  ).not.toContain('I3')
  expect(idsAfter(swap('platform.input.requested', 40))).toContain('I3')
})

test('I4 finds moves that are not in the table, or start from another status', () => {
  expect(
    idsAfter(journal((lines) => lines.map((line) => line.replace('"to":"awaiting_input"', '"to":"starting"')))),
  ).toContain('I4')
  expect(
    idsAfter(journal((lines) => lines.map((line) => line.replace('"from":"starting"', '"from":"created"')))),
  ).toEqual(['I4'])
})

test('I5 finds a second end, and events after the end', () => {
  const again = journal((lines) => [...lines, lines.at(-1) as string])
  expect(idsAfter(again)).toContain('I5')
  expect(idsAfter(journal((lines) => [...lines, lines[at(lines, 'platform.worker.ready')] as string]))).toEqual(['I5'])
})

test('I7 finds an answer or a message that is not the accepted one', () => {
  const spoil = (file: string) => (paths: Paths) => writeFileSync(join(paths.project, '.resolve', file), '{"other":1}')
  expect(idsAfter(spoil('input-requests/q.response.json'))).toEqual(['I7'])
  expect(idsAfter(spoil('messages/001.json'))).toEqual(['I7'])
  expect(idsAfter(({ project }) => rmSync(join(project, '.resolve/messages/001.json')))).toEqual(['I7'])
  const privately = (change: (lines: string[]) => string[]) => (paths: Paths) => edit(paths.journal, change)
  const of = (kind: string) => (line: string) => line.startsWith(`p\t${kind}\t`)
  for (const kind of ['answer', 'message', 'delivered']) {
    const twice = (lines: string[]) => lines.flatMap((line) => (of(kind)(line) ? [line, line] : [line]))
    expect([kind, idsAfter(privately(twice))]).toEqual([kind, ['I7']])
    const without = (lines: string[]) => lines.filter((line) => !of(kind)(line))
    expect([kind, idsAfter(privately(without))]).toEqual([kind, kind === 'delivered' ? [] : ['I7']])
  }
  const late = (lines: string[]) => {
    const answer = lines.findIndex(of('answer'))
    return lines.toSpliced(answer, 2, lines[answer + 1] as string, lines[answer] as string)
  }
  expect(idsAfter(privately(late))).toEqual(['I7'])
  const untold = (lines: string[]) => [
    ...lines.slice(0, 3),
    'p\tanswer\t{"request_id":"r","payload":{}}',
    ...lines.slice(3),
  ]
  expect(idsAfter(privately(untold))).toEqual(['I7'])
  expect(idsAfter(privately((lines) => [...lines, 'p\trun\t{"incarnation":2}']))).toEqual(['I5'])
  expect(idsAfter(privately((lines) => [...lines, 'p\tname\t{"name":"New"}']))).toEqual([])
  expect(idsAfter(privately((lines) => ['p\tname\t{"name":"New"}', ...lines]))).toEqual(['I2'])
  expect(idsAfter(privately((lines) => [...lines, 'p\tunknown\t{}']))).toEqual(['I2'])
})

test('I3 and I5 find gaps, doubles, foreign frames and false ends in streams', () => {
  const all = eventsOf(home, id).map(({ seq, text }) => ({ id: String(seq), data: text }))
  const done = { data: '{"type":"done"}' }
  const whole = (frames: StreamConnection['frames'], after = 0): StreamConnection => ({ after, frames, isWhole: true })
  const cut = (frames: StreamConnection['frames'], after = 0): StreamConnection => ({ after, frames, isWhole: false })
  const check = (...connections: StreamConnection[]) => idsAfter(() => {}, { streams: [connections] })
  expect(check(whole([...all, done]))).toEqual([])
  expect(check(cut(all.slice(0, 9)), cut([], 9), whole([...all.slice(9), done], 9))).toEqual([])
  // Cut before the client had noted its last number: it is sent again.
  expect(check(cut(all.slice(0, 9)), whole([...all.slice(5), done], 5))).toEqual([])
  expect(check(whole([...all.toSpliced(4, 1), done]))).toContain('I3')
  expect(check(whole([...all.toSpliced(4, 0, all[4] as (typeof all)[0]), done]))).toContain('I3')
  expect(check(whole([...all.with(4, { id: '5', data: '{}' }), done]))).toContain('I3')
  expect(check(cut(all.slice(0, 9)), whole([...all.slice(12), done], 12))).toEqual(['I3'])
  expect(check(whole([...all.slice(0, 9), done]))).toEqual(['I3'])
  expect(check(whole(all))).toEqual(['I5'])
  expect(check(whole([...all, done, done]))).toEqual(['I5'])
  expect(check(whole([...all, { ...done, id: '99' }]))).toEqual(['I5'])
  expect(check(whole([...all, done]), whole([done], all.length))).toEqual(['I5'])
})

test('I4, I6, I7 and I13 find wrong HTTP answers', () => {
  const moment = (part: string) => {
    const event = eventsOf(home, id).find(({ text }) => text.includes(part))?.event
    return Date.parse(event?.timestamp as string)
  }
  const ended = moment('"to":"completed"')
  const exchange = (method: string, path: string, status: number, more: Partial<Exchange> = {}): Exchange => ({
    ...{ method, path, status, from: ended, to: ended },
    ...more,
  })
  const own = `/api/instances/${id}`
  const check = (...answers: Exchange[]) => idsAfter(() => {}, { answers })
  const answered = exchange('POST', `${own}/input-requests/q`, 204, { sent: { which: 'this' } })
  const born = exchange('POST', '/api/instances', 202, {
    sent: { resolver: 'plain', input: { a: 1 } },
    body: { instance_id: id },
  })
  const note = exchange('POST', `${own}/messages`, 202, { sent: {}, key: 'one' })
  const refusal = { detail: 'Validation failed', errors: ['Say something.'] }
  expect(
    check(
      born,
      answered,
      note,
      note,
      exchange('GET', own, 200, { body: { status: 'completed' }, from: ended - 1 }),
      exchange('GET', `${own}?x`, 200, { body: { status: 'created' }, from: 0, to: ended }),
      exchange('POST', `${own}/messages`, 422, { body: refusal }),
      exchange('GET', `${own}/data/x`, 404, { body: { detail: 'There is no file "x".', code: 'data_missing' } }),
      exchange('POST', `${own}/stop`, 200),
    ),
  ).toEqual([])
  expect(
    check(exchange('GET', own, 200, { body: { status: 'created' }, from: ended + 60_000, to: ended + 60_000 })),
  ).toContain('I4')
  expect(check({ ...born, sent: { resolver: 'plain', input: { a: 2 } } })).toEqual(['I6'])
  expect(check(exchange('POST', `${own}/input-requests/other`, 204, { sent: {} }))).toContain('I6')
  expect(check(note, { ...note, key: 'two' })).toEqual(['I6'])
  expect(check(answered, answered)).toEqual(['I7'])
  expect(check({ ...answered, sent: { which: 'that' } })).toEqual(['I7'])
  for (const [status, body] of [
    [500, { detail: 'The server has a fault.', code: 'bug' }],
    [404, 'Not Found'],
    [404, { detail: 'Not there.' }],
    [400, { detail: 'No: at Object.open (node:internal/fs:1)', code: 'x' }],
    [422, { ...refusal, code: 'form_invalid' }],
    [422, { detail: 'Validation failed', errors: [] }],
  ] as const) {
    expect([status, check(exchange('GET', '/api/x', status, { body }))]).toEqual([status, ['I13']])
  }
})

test('I8 finds two workers, a missing worker, leftovers and harm to foreign processes', () => {
  const began = Date.parse(eventsOf(home, id).at(0)?.event.timestamp as string)
  // The run is drawn out to ten seconds, so that there is time to look into.
  const drawnOut = journal((lines) =>
    lines.map((line) =>
      line.includes('plain.answered') || line.includes('"to":"completed"')
        ? line.replace(/"timestamp":"[^"]+"/, `"timestamp":"${new Date(began + 10_000).toISOString()}"`)
        : line,
    ),
  )
  const sound: Holdings = {
    workers: [1, 1, 1].map((count, index) => ({ at: began + 4_000 + index * 500, count })),
    left: [],
    foreign: { before: { 'a process': '12 of 3' }, after: { 'a process': '12 of 3' } },
  }
  const check = (holdings: Partial<Holdings>) =>
    idsAfter(drawnOut, { holdings: { ...sound, ...holdings } }).filter((found) => found === 'I8')
  expect(check({})).toEqual([])
  expect(check({ workers: sound.workers.map((look) => ({ ...look, count: 2 })) })).toEqual(['I8'])
  expect(check({ workers: sound.workers.map((look) => ({ ...look, count: 0 })) })).toEqual(['I8'])
  expect(check({ left: [4711] })).toEqual(['I8'])
  expect(check({ foreign: { ...sound.foreign, after: {} } })).toEqual(['I8'])
  expect(check({ foreign: { ...sound.foreign, after: { 'a process': '99 of 3' } } })).toEqual(['I8'])
})

test('I9 finds a changed file outside, and a secret in what readers can get', () => {
  const outside = mkdtempSync(join(tmpdir(), 'resolve-outside-'))
  writeFileSync(join(outside, 'file'), 'mine')
  const before = fingerprint(outside)
  const check = (said: string | Buffer) =>
    idsAfter(() => {}, {
      canaries: { before, after: fingerprint(outside), unheard: ['s3cret'], outputs: [['stderr', said]] },
    })
  expect(check('nothing')).toEqual([])
  expect(check(Buffer.from('\xffs3cret', 'latin1'))).toEqual(['I9'])
  for (const touch of [
    () => writeFileSync(join(outside, 'file'), 'yours'),
    () => chmodSync(join(outside, 'file'), 0o777),
    () => linkSync(join(outside, 'file'), join(tmpdir(), `resolve-link-${id}`)),
    () => writeFileSync(join(outside, 'new'), ''),
  ]) {
    const untouched = fingerprint(outside)
    touch()
    expect(fingerprint(outside)).not.toBe(untouched)
    expect(check('nothing')).toEqual(['I9'])
  }
  rmSync(join(tmpdir(), `resolve-link-${id}`))
  rmSync(outside, { recursive: true })
})

test('I10 finds a host that grows, keeps resources, or stops responding', async () => {
  const before = heldBy(process.pid)
  const over = feelPulse()
  await sleep(50)
  const spun = process.threadCpuUsage()
  while (process.threadCpuUsage(spun).user < 600_000);
  await sleep(50)
  const lateness = over()
  const calm: Lateness = { delayP99Ms: 5, feltP99Ms: 5, beats: 1_000, computedMaxMs: 20 }
  const check = (host: Partial<HostUse>) =>
    idsAfter(() => {}, { host: { before, peak: before, after: before, ...calm, ...host } })
  expect(check({})).toEqual([])
  expect(check(lateness)).toEqual(['I10'])
  expect(check({ delayP99Ms: 250 })).toEqual(['I10'])
  for (const [what, more] of Object.entries({
    ...{ rssBytes: 2 ** 30, fds: 1_000, threads: 100, inotifyInstances: 100, inotifyWatches: 1_000 },
  })) {
    expect([what, check({ peak: { ...before, [what]: before[what as keyof Held] + more } })]).toEqual([what, ['I10']])
  }
  expect(check({ peak: { ...before, fds: before.fds + 20 }, limits: { fds: 10 } })).toEqual(['I10'])
  expect(check({ after: { ...before, fds: before.fds + 100 } })).toEqual(['I10'])
  const watching = watch(tmpdir())
  expect(heldBy(process.pid).inotifyWatches).toBe(before.inotifyWatches + 1)
  watching.close()
})

test('I11 finds an acknowledged stop without an end in time', () => {
  const stop = { method: 'POST', path: `/api/instances/${id}/stop`, status: 202, from: 0, to: Date.now() }
  const check = (more: Partial<Exchange> = {}, tamper: (paths: Paths) => void = () => {}) =>
    idsAfter(tamper, { answers: [{ ...stop, ...more }] })
  expect(check()).toEqual([])
  expect(check({ method: 'DELETE', path: `/api/instances/${id}` })).toEqual([])
  expect(check({ to: 0 })).toEqual(['I11'])
  const endless = journal((lines) => lines.filter((line) => !line.includes('"to":"completed"')))
  expect(check({}, endless)).toContain('I11')
  expect(check({ status: 409 }, endless)).not.toContain('I11')
})

test('I12 finds a record or a story that differs from the journal', () => {
  const ended = { from: Date.now(), to: Date.now(), status: 200, method: 'GET' }
  const own = `/api/instances/${id}`
  const { journal: path } = instancePaths(home, id)
  const record = { ...toRecord(readStory(path)), resolver_state: { any: 1 } }
  const story = visibleStory(readStory(path), false)
  const check = (path: string, body: unknown) => idsAfter(() => {}, { answers: [{ ...ended, path, body }] })
  expect(check(own, record)).toEqual([])
  expect(check(own, { ...record, output: 'another' })).toEqual(['I12'])
  expect(check(`${own}/story`, story)).toEqual([])
  expect(check(`${own}/story`, { ...story, rejected: 7 })).toEqual(['I12'])
  const cached = ({ record: cache, journal: of }: Paths) => {
    writeFileSync(cache, JSON.stringify({ journal_bytes: readFileSync(of).length, record: toRecord(readStory(of)) }))
  }
  expect(idsAfter(cached)).toEqual([])
  const rewritten = (paths: Paths) => {
    cached(paths)
    edit(paths.record, (all) => all)
  }
  expect(idsAfter(rewritten)).toEqual([])
  const stale = (paths: Paths) => {
    cached(paths)
    writeFileSync(paths.record, readFileSync(paths.record, 'utf8').replace('"output":"ok"', '"output":"ko"'))
  }
  expect(idsAfter(stale)).toEqual(['I12'])
})

test('I13 finds a refusal that does not list every failing message in order', () => {
  const checks = ['/a', '/b'].map((path) => ({
    condition: { call: 'required', args: [{ path }] },
    message: `${path} is missing.`,
  }))
  const schema = { type: 'form', components: [{ type: 'text', id: 'a', checks }] }
  const types = {
    ...{ method: 'GET', path: `/api/instances/${id}/message-types`, status: 200, from: 0, to: 0 },
    body: [{ name: 'note', label: 'Note', description: '', schema }],
  }
  const asks = journal((lines) =>
    lines.map((line) =>
      line.includes('platform.input.requested')
        ? line.replace('{"type":"form","components":[]}', JSON.stringify(schema))
        : line,
    ),
  )
  const refused = (path: string, sent: unknown, errors: string[], status = 422) =>
    idsAfter(asks, {
      answers: [
        types,
        {
          ...{ method: 'POST', path: `/api/instances/${id}/${path}`, sent, status, from: 0, to: 0 },
          body: { detail: 'Validation failed', errors },
        },
      ],
    }).filter((found) => found === 'I13')
  const both = ['/a is missing.', '/b is missing.']
  for (const [path, sent] of [
    ['input-requests/q', {}],
    ['messages', { message_type: 'note', payload: {} }],
  ] as const) {
    expect(refused(path, sent, both)).toEqual([])
    expect(refused(path, sent, both.slice(1))).toEqual(['I13'])
    expect(refused(path, sent, both.toReversed())).toEqual(['I13'])
    expect(refused(path, sent, [], 202)).toEqual(['I13'])
  }
})
