/** The checker of a run's invariants finds nothing in a sound run, and in a tampered one what was tampered with (threats 5). */
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { HostProcess } from '../../src/core/host/host-process.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { created, eventsOf, temporaryHome, until } from '../support/instances.ts'
import { checkInvariants, type Run, soundInstance } from '../support/invariants.ts'
import type { Exchange } from '../support/invariants-http.ts'
import type { StreamConnection } from '../support/invariants-streams.ts'
import { plainResolver } from '../support/plain-resolver.ts'

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
  id = await created(home, plainResolver(behaviour), { a: 1 })
  const hosts = new HostProcess(home)
  const host = await hosts.own(id)
  await until(home, id, (story) => story.status === 'awaiting_input')
  host?.answer('q', { which: 'this' }, { key: 'k1', ...ACTOR })
  await until(home, id, (story) => story.requests[0]?.status === 'answered')
  await host?.message('note', { text: 'hurry' }, { key: 'k2', ...ACTOR })
  await hosts.over(id)
  await hosts.close()
})

/** Checks a copy of the run after `tamper` was at it; answers the ids of what does not hold. */
function idsAfter(tamper: (paths: ReturnType<typeof instancePaths>) => void, recorded: Omit<Run, 'home' | 'id'> = {}) {
  const copy = mkdtempSync(join(tmpdir(), 'resolve-tampered-'))
  const paths = instancePaths(copy, id)
  for (const part of ['journal', 'mailbox', 'project'] as const) {
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

/** Lines of a journal, numbered anew. */
const renumbered = (lines: string[]) => lines.map((line, index) => line.replace(/^\d+/, String(index)))
const journal = (change: (lines: string[]) => string[]) => (paths: Paths) =>
  edit(paths.journal, (lines) => renumbered(change(lines)))
const at = (lines: string[], part: string) => lines.findIndex((line) => line.includes(part))

test('a sound run has nothing to find', () => {
  soundInstance(home, id)
  expect(idsAfter(() => {})).toEqual([])
})

test('I1: lines of the source that are lost, doubled, changed, moved, invented or let through', () => {
  const tick = (lines: string[]) => at(lines, '{"n":7}')
  const cases: Record<string, (paths: Paths) => void> = {
    lost: journal((lines) => lines.toSpliced(tick(lines), 1)),
    doubled: journal((lines) => lines.toSpliced(tick(lines), 0, lines[tick(lines)] as string)),
    changed: journal((lines) => lines.map((line) => line.replace('{"n":7}', '{"n":8}'))),
    moved: journal((lines) =>
      lines.toSpliced(tick(lines), 2, lines[tick(lines) + 1] as string, lines[tick(lines)] as string),
    ),
    invented: journal((lines) => lines.map((line) => line.replace(/^(\d+)\t(\d+)\t(.*"n":7)/, '$1\t1\t$3'))),
    'never carried over': ({ project }) => {
      const path = join(project, '.resolve', 'events.jsonl')
      appendFileSync(path, `${readFileSync(path, 'utf8').split('\n')[0]}\n`)
    },
  }
  for (const [name, tamper] of Object.entries(cases))
    expect([name, idsAfter(tamper)]).toEqual([name, expect.arrayContaining(['I1'])])
})

test('I2: a number that is missing or comes twice', () => {
  expect(idsAfter(({ journal }) => edit(journal, (lines) => lines.toSpliced(5, 1)))).toEqual(['I2'])
  expect(idsAfter(({ journal }) => edit(journal, (lines) => lines.toSpliced(5, 0, lines[5] as string)))).toEqual(['I2'])
})

test('I3: what stands before its cause', () => {
  const swap = (part: string, to: number) =>
    journal((lines) => lines.toSpliced(at(lines, part), 1).toSpliced(to, 0, lines[at(lines, part)] as string))
  expect(idsAfter(swap('platform.worker.launched', 20))).toContain('I3')
  expect(idsAfter(swap('platform.input.answered', 2))).toContain('I3')
  expect(
    idsAfter(journal((lines) => lines.map((line) => line.replace('plain.tick', 'resolver:created')))),
  ).not.toContain('I3')
  expect(idsAfter(swap('platform.input.requested', 40))).toContain('I3')
})

test('I4: moves that are not in the table, or begin where the instance was not', () => {
  expect(
    idsAfter(journal((lines) => lines.map((line) => line.replace('"to":"awaiting_input"', '"to":"starting"')))),
  ).toContain('I4')
  expect(
    idsAfter(journal((lines) => lines.map((line) => line.replace('"from":"starting"', '"from":"created"')))),
  ).toEqual(['I4'])
})

test('I5: a second end, and news after the end', () => {
  const again = journal((lines) => [...lines, lines.at(-1) as string])
  expect(idsAfter(again)).toContain('I5')
  expect(idsAfter(journal((lines) => [...lines, lines[at(lines, 'platform.worker.ready')] as string]))).toEqual(['I5'])
})

test('I7: an answer or a message that is not the accepted one', () => {
  const spoil = (file: string) => (paths: Paths) => writeFileSync(join(paths.project, '.resolve', file), '{"other":1}')
  expect(idsAfter(spoil('input-requests/q.response.json'))).toEqual(['I7'])
  expect(idsAfter(spoil('messages/001.json'))).toEqual(['I7'])
  expect(idsAfter(({ project }) => rmSync(join(project, '.resolve/messages/001.json')))).toEqual(['I7'])
  expect(idsAfter(({ mailbox }) => rmSync(mailbox, { recursive: true }))).toEqual(['I7'])
})

test('I3 and I5 of streams: gaps, doubles, foreign frames, and ends that are none', () => {
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

test('I4, I6, I7 and I13 of answers', () => {
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
