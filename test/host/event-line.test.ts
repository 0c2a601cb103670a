import { afterEach, expect, test, vi } from 'vitest'
import { judgeChunk, judgeLine } from '../../src/core/host/ingest/event-line.ts'
import { EVENT_LINE_MAX_BYTES } from '../../src/core/limits.ts'
import { LineSplitter } from '../../src/core/rpc/lines.ts'

const ID = 'abcdef012345'
const envelope = (data: unknown, more: Record<string, unknown> = {}) =>
  JSON.stringify({
    schema_version: 1,
    event_type: 'a.b',
    instance_id: ID,
    data,
    timestamp: '2026-01-01T00:00:00Z',
    ...more,
  })

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
const LINES: readonly Buffer[] = [
  ...['', ' ', '\r', '{', '[]', '7', 'null', '{}', '\ufeff{}', '{"type":"done"}'].map((text) => Buffer.from(text)),
  ...[{}, { ü: '😀\u2028' }, [], null, 'text', { n: 1e300, deep: [[[{}]]] }].map((data) => Buffer.from(envelope(data))),
  Buffer.from(`${envelope({ n: 1 })}\r`),
  Buffer.from(envelope({ n: 1 }).replace('"data":', ' \t"data" :\r ')),
  Buffer.from(envelope({}, { type: 'done' })),
  Buffer.from(envelope({}, { more: 1 })),
  Buffer.from(envelope({}, { schema_version: 2 })),
  Buffer.from(envelope({}, { event_type: 'platform.x' })),
  Buffer.from(envelope({}, { event_type: '' })),
  Buffer.from(envelope({}, { instance_id: 'other' })),
  Buffer.from(envelope({}, { timestamp: 'now' })),
  Buffer.from(envelope({}, { timestamp: undefined })),
  Buffer.from(envelope({}).replace('{"schema', '{"__proto__":{},"schema')),
  Buffer.from(envelope({}).replace('"data":{}', '"data":{},"data":[]')),
  Buffer.from(envelope(0).replace('"data":0', `"data":${deep(63)}`)),
  Buffer.from(envelope(0).replace('"data":0', `"data":${deep(64)}`)),
  Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xc0]), Buffer.from('"}')]),
  Buffer.from(envelope({ pad: 'x'.repeat(300_000) })),
  Buffer.from(envelope({ pad: 'x'.repeat(EVENT_LINE_MAX_BYTES) })),
]

/** As a line is judged alone. */
const alone = (line: Buffer) => {
  if (line.length === 0) return undefined
  return line.length > EVENT_LINE_MAX_BYTES ? { reason: 'too_long' } : judgeLine(line, ID)
}

afterEach(() => void vi.useRealTimers())

test('lines read together are judged like single lines, wherever the bytes are cut (R14, R16)', () => {
  vi.useFakeTimers({ now: Date.parse('2026-02-02T02:02:02.222Z'), toFake: ['Date'] })
  // With and without one that is not UTF-8, which is what decides how the others of its chunk are read.
  for (const lines of [LINES, LINES.filter((line) => !line.includes(0xff))]) {
    const bytes = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]))
    for (const size of [bytes.length, 256 * 1024, 4_001, 613]) {
      const splitter = new LineSplitter(EVENT_LINE_MAX_BYTES)
      const judged = []
      for (let at = 0; at < bytes.length; at += size)
        judged.push(...judgeChunk(splitter, bytes.subarray(at, at + size), ID))
      expect(judged.map(({ verdict }) => verdict)).toEqual(lines.map(alone))
      expect(judged.map(({ size: taken }) => taken)).toEqual(lines.map((line) => line.length + 1))
    }
  }
})

test('an accepted line is forwarded byte for byte, with blanks in place of CR (R16)', () => {
  const [line] = judgeChunk(new LineSplitter(EVENT_LINE_MAX_BYTES), Buffer.from(`${envelope({ ü: '😀' })}\r\n`), ID)
  expect(line?.verdict).toMatchObject({ text: `${envelope({ ü: '😀' })} ` })
})

test('an unfinished line waits for its end, and counts as pending', () => {
  const splitter = new LineSplitter(EVENT_LINE_MAX_BYTES)
  const text = envelope({ n: 1 })
  expect(judgeChunk(splitter, Buffer.from(`\n${text.slice(0, 40)}`), ID)).toEqual([{ verdict: undefined, size: 1 }])
  expect(splitter.pendingBytes).toBe(40)
  expect(judgeChunk(splitter, Buffer.from(text.slice(40)), ID)).toEqual([])
  expect(judgeChunk(splitter, Buffer.from('\n'), ID)).toMatchObject([{ verdict: { text }, size: text.length + 1 }])
})

test('further fields are forwarded untouched; an event whose type or event_type is the end marker is not (R14, R16)', () => {
  const text = envelope({ n: 1 }, { phase: 'planning', big: 1, trace: { a: [null] } }).replace(
    '"big":1',
    '"big": 1.0e2',
  )
  expect(judgeLine(Buffer.from(text), ID)).toMatchObject({ text, event: { phase: 'planning', big: 100 } })
  for (const mark of [{ type: 'done' }, { event_type: 'done' }]) {
    expect(judgeLine(Buffer.from(envelope({}, mark)), ID)).toEqual({ reason: 'done_marker' })
  }
})

test.each([
  ['missing', undefined],
  ['naive', '2026-01-01T00:00:00.123456'],
  ['of no day', '2026-13-41T99:99:99Z'],
  ['a number', 1_767_225_600],
  ['null', null],
  ['empty', ''],
  ['a date in words', 'Thu, 01 Jan 2026 00:00:00 GMT'],
  ['of endless digits', `2026-01-01T00:00:00.${'1'.repeat(1_000)}Z`],
])('a timestamp that is %s is replaced by the time of the host, and the line is kept (R14)', (_, timestamp) => {
  vi.useFakeTimers({ now: Date.parse('2026-02-02T02:02:02.222Z'), toFake: ['Date'] })
  const verdict = judgeLine(Buffer.from(envelope({ n: 1 }, { timestamp, phase: 'x' })), ID)
  const whole = { ...JSON.parse(envelope({ n: 1 }, { phase: 'x' })), timestamp: '2026-02-02T02:02:02.222Z' }
  expect(verdict).toMatchObject({ event: whole })
  expect(JSON.parse((verdict as { text: string }).text)).toEqual(whole)
})

test.each(['2026-01-01T00:00:00Z', '2026-01-01T02:00:00.123456+02:00', '2026-01-01T00:00:00.123456789-0130'])(
  'the timestamp %s is forwarded as it is (R14)',
  (timestamp) => {
    const text = envelope({}, { timestamp })
    expect(judgeLine(Buffer.from(text), ID)).toMatchObject({ text })
  },
)
