import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { JOURNAL_SYNC_MS } from '../../src/core/limits.ts'
import type { CreationRecord } from '../../src/core/protocol/journal.ts'
import { creationLine, parseLine } from '../../src/core/store/journal-line.ts'
import {
  JournalReader,
  offsetAfter,
  type PlacedPrivate,
  readCreationRecord,
  readPlace,
} from '../../src/core/store/journal-reader.ts'
import { JournalWriter } from '../../src/core/store/journal-writer.ts'

let path: string
const creation = {
  schema: 'resolve.journal/1',
  instance_id: '0123456789ab',
  input: { name: 'Ada' },
} as unknown as CreationRecord

beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'resolve-journal-')), 'journal')
  writeFileSync(path, creationLine(creation))
})

function readAll(after = 0): { seq: number; sourceEnd: number | null; text: string }[] {
  const reader = new JournalReader(path, after)
  const lines = []
  for (let more = reader.read(); more.length > 0; more = reader.read()) lines.push(...more)
  reader.close()
  return lines
}

const fill = (writer: JournalWriter, count: number, size = 20) => {
  for (let n = 0; n < count; n += 1) {
    const data = { n: writer.seq + 1, pad: 'é'.repeat(Math.floor(Math.random() * size)) }
    const text = JSON.stringify({ event_type: 'a.b', data, timestamp: '2026-01-01T00:00:00.000Z' })
    writer.append([{ text, sourceEnd: n % 3 === 0 ? null : (writer.seq + 1) * 100 }])
  }
}

test('events are numbered from 1 without gaps, and the creation record has no number (R15)', () => {
  const writer = JournalWriter.open(path)
  fill(writer, 50)
  writer.close()
  expect(readAll().map((line) => line.seq)).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
  expect(readCreationRecord(path)).toEqual(creation)
})

test('reading after any number begins with the next one, however long the lines are', () => {
  const writer = JournalWriter.open(path)
  fill(writer, 400, 3_000)
  writer.close()
  for (const after of [0, 1, 2, 57, 199, 200, 398, 399]) expect(readAll(after)[0]?.seq).toBe(after + 1)
  expect(readAll(400)).toEqual([])
  expect(readAll(9_999)).toEqual([])
})

test('a reopened journal continues with the next number and knows how far the source was read', () => {
  const first = JournalWriter.open(path)
  first.append([{ text: '{"a":1}', sourceEnd: 10 }])
  first.append([{ text: '{"b":2}', sourceEnd: null }])
  first.close()
  const again = JournalWriter.open(path)
  expect([again.seq, again.sourceEnd]).toEqual([2, 10])
  again.close()
})

test('a journal cut at any byte of its last lines opens with every whole line and continues', () => {
  const writer = JournalWriter.open(path)
  writer.append([{ text: '{"a":"é"}', sourceEnd: 10 }])
  writer.append([{ text: '{"b":2}', sourceEnd: 20 }])
  writer.close()
  const whole = readFileSync(path)
  const from = whole.indexOf('\n') + 1
  for (let cut = from; cut <= whole.length; cut += 1) {
    writeFileSync(path, whole.subarray(0, cut))
    const expected = whole.subarray(0, cut).toString('latin1').split('\n').length - 2
    const again = JournalWriter.open(path)
    expect(again.seq).toBe(expected)
    again.append([{ text: '{"c":3}', sourceEnd: 30 }])
    again.close()
    expect(readAll().at(-1)).toMatchObject({ seq: expected + 1, text: '{"c":3}' })
  }
})

test('an unreadable whole line ends the trusted part: the file is kept frozen beside a new one', () => {
  const writer = JournalWriter.open(path)
  fill(writer, 5)
  writer.close()
  appendFileSync(path, 'not a line\n')
  const again = JournalWriter.open(path)
  expect(again.seq).toBe(5)
  again.close()
  expect(readdirSync(join(path, '..')).filter((name) => name.includes('frozen'))).toHaveLength(1)
})

const answer = (request_id: string, pad = '') =>
  ({ kind: 'answer', request_id, payload: { pad }, actor: 'ada', via: 'http', at: '' }) as const

test('private lines have no number and are shown to no reader, wherever a reader begins', () => {
  const writer = JournalWriter.open(path)
  for (let n = 1; n <= 120; n += 1) {
    const pad = 'é'.repeat((n * 7_919) % 9_000)
    if (n % 3 === 0) writer.appendPrivate(answer(`lone ${n}`, pad))
    const text = JSON.stringify({ event_type: 'a.b', data: { n }, timestamp: '2026-01-01T00:00:00.000Z' })
    if (n % 5 === 0) writer.appendPrivate(answer(`with ${n}`, pad), [{ text, sourceEnd: null }])
    else writer.append([{ text, sourceEnd: n * 10 }])
    if (n % 7 === 0) writer.appendPrivate({ kind: 'run', incarnation: n })
  }
  for (let n = 0; n < 40; n += 1) writer.appendPrivate(answer(`last ${n}`, 'x'.repeat(20_000)))
  writer.close()
  expect(readCreationRecord(path)).toEqual(creation)
  for (let after = 0; after < 120; after += 1) expect(readAll(after)[0]?.seq).toBe(after + 1)
  expect(readAll(120)).toEqual([])
  expect(readAll().map(({ seq }) => seq)).toEqual(Array.from({ length: 120 }, (_, index) => index + 1))
  expect(readAll().some(({ text }) => text.includes('payload'))).toBe(false)
  const fd = openSync(path, 'r')
  for (const seq of [0, 1, 50, 119, 120]) expect(offsetAfter(fd, seq)).toBeTypeOf('number')
  expect(offsetAfter(fd, 121)).toBeUndefined()
  closeSync(fd)
})

test('a journal that ends in private lines goes on with its number and its place in the source', () => {
  const writer = JournalWriter.open(path)
  writer.append([{ text: '{"a":1}', sourceEnd: 10 }])
  const { first, place } = writer.appendPrivate(answer('q', 'ü'), [{ text: '{"b":2}', sourceEnd: null }])
  expect(first).toBe(2)
  expect(readPlace(place)).toMatchObject({ request_id: 'q', payload: { pad: 'ü' } })
  for (let n = 0; n < 300; n += 1) writer.appendPrivate(answer(`q${n}`, 'x'.repeat(20_000)))
  writer.close()
  const again = JournalWriter.open(path)
  expect([again.seq, again.sourceEnd]).toEqual([2, 10])
  again.close()
})

test('private lines behind a damage are taken over: what was accepted stays accepted', () => {
  const writer = JournalWriter.open(path)
  fill(writer, 3)
  writer.appendPrivate(answer('before'))
  writer.close()
  appendFileSync(path, 'not a line\np\tanswer\t{"half\n')
  appendFileSync(path, '4\t-\t{"lost":1}\np\tanswer\t{"request_id":"behind","payload":{}}\n')
  const again = JournalWriter.open(path)
  expect(again.seq).toBe(3)
  again.close()
  const kept = readFileSync(path, 'utf8').split('\n')
  expect(kept.filter((line) => line.startsWith('p')).map((line) => /"request_id":"(\w+)"/.exec(line)?.[1])).toEqual([
    'before',
    'behind',
  ])
})

test('a host that has let go, or lost the instance, appends nothing', () => {
  const [one, other] = [JournalWriter.open(path), JournalWriter.open(path)]
  one.appendPrivate(answer('q'))
  expect(() => other.appendPrivate(answer('r'))).toThrow(expect.objectContaining({ code: 'ownership_lost' }))
  one.close()
  expect(() => one.append([{ text: '{}', sourceEnd: null }])).toThrow(
    expect.objectContaining({ code: 'ownership_lost' }),
  )
  other.close()
})

test('a reader never gives half a line, and reads on when the line is whole', () => {
  const reader = new JournalReader(path, 0)
  appendFileSync(path, '1\t5\t{"a"')
  expect(reader.read()).toEqual([])
  appendFileSync(path, ':1}\n')
  expect(reader.read()).toEqual([{ seq: 1, sourceEnd: 5, text: '{"a":1}' }])
  appendFileSync(path, '2\t9\t{"torn')
  expect(reader.read()).toEqual([])
  truncateSync(path, readFileSync(path).lastIndexOf('\n') + 1)
  appendFileSync(path, '2\t9\t{}\n')
  expect(reader.read()).toEqual([{ seq: 2, sourceEnd: 9, text: '{}' }])
  reader.close()
})

test('every written line is read back unchanged', () => {
  fc.assert(
    fc.property(fc.nat(), fc.option(fc.nat()), fc.dictionary(fc.string(), fc.string()), (seq, sourceEnd, value) => {
      const text = JSON.stringify(value)
      expect(parseLine(`${seq}\t${sourceEnd ?? '-'}\t${text}`)).toEqual({ seq, sourceEnd, text })
    }),
  )
})

test('a journal closed at any moment of a background sync keeps all lines and closes its file', async () => {
  for (let n = 0; n < 12; n += 1) {
    const writer = JournalWriter.open(path)
    writer.append([{ text: '{"n":1}', sourceEnd: null }])
    // The sync begins after JOURNAL_SYNC_MS.
    await sleep(JOURNAL_SYNC_MS - 4 + n)
    const { seq } = writer
    writer.append([{ text: '{"n":2}', sourceEnd: null }])
    writer.close()
    writer.close()
    expect(parseLine(readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) as string)?.seq).toBe(seq + 1)
  }
  await vi.waitFor(() => expect(openFiles()).not.toContain(path), { timeout: 5_000 })
})

function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
}

test('a damaged byte in one line does not move the places of the payloads after it', () => {
  const writer = JournalWriter.open(path)
  fill(writer, 1, 0)
  writer.appendPrivate({ kind: 'answer', request_id: 'q', payload: { is: 'whole' }, actor: 'ada', via: 'cli', at: '' })
  writer.close()
  const bytes = readFileSync(path)
  bytes[bytes.indexOf('pad') + 1] = 0xff
  writeFileSync(path, bytes)
  const reader = new JournalReader(path, 0)
  const found = reader.readAll().find((line) => 'kind' in line)
  reader.close()
  expect(readPlace((found as PlacedPrivate).place)).toMatchObject({ payload: { is: 'whole' } })
})

test('a damaged private line is left out, and the events after it stay', () => {
  const writer = JournalWriter.open(path)
  fill(writer, 3)
  writer.close()
  appendFileSync(path, 'p\tanswer\t{"half\n')
  fill(JournalWriter.open(path), 2)
  appendFileSync(path, `p\n${'x'.repeat(40 * 1024 * 1024)}\np\tanswer\t{"request_id":"behind","payload":{}}\n`)
  const again = JournalWriter.open(path)
  expect(again.seq).toBe(5)
  again.close()
  expect(readAll().map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
  const kept = readFileSync(path, 'utf8').split('\n')
  expect(kept.filter((line) => line.startsWith('p'))).toEqual(['p\tanswer\t{"request_id":"behind","payload":{}}'])
})

test('a line longer than any that a host writes is told as a broken journal, and not read into memory', () => {
  appendFileSync(path, '1\t-\t{')
  truncateSync(path, 2 ** 34)
  const reader = new JournalReader(path, 0, Buffer.byteLength(creationLine(creation)))
  expect(() => reader.read()).toThrow(expect.objectContaining({ code: 'journal_broken' }))
  reader.close()
})

test('a private line that was damaged after it was found is told as a broken journal', () => {
  const writer = JournalWriter.open(path)
  const { place } = writer.appendPrivate({ kind: 'name', name: 'Bob', at: '' })
  writer.close()
  writeFileSync(path, readFileSync(path, 'latin1').replace('"Bob"', '"Bob '), 'latin1')
  expect(() => readPlace(place)).toThrow(expect.objectContaining({ code: 'journal_broken' }))
})
