/** The record of an instance: it is never older than the journal, whichever process wrote it and whatever the clock says. */
import { appendFileSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import { type InstancePaths, instancePaths } from '../../src/core/store/home.ts'
import { readStory } from '../../src/core/store/journal-projection.ts'
import { JournalWriter } from '../../src/core/store/journal-writer.ts'
import { readRecord, toRecord } from '../../src/core/store/record.ts'
import { created, temporaryHome } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let id: string
let paths: InstancePaths

/** An instance whose record was written before its first event, as its creation leaves it. */
beforeEach(async () => {
  const home = temporaryHome()
  id = await created(home, plainResolver(''))
  paths = instancePaths(home, id)
})

function append(event_type: string, data: Record<string, unknown>, sourceEnd: number | null = null): void {
  const timestamp = new Date(Date.parse('2026-01-01T00:00:00Z') + statSync(paths.journal).size).toISOString()
  const writer = JournalWriter.open(paths.journal)
  const text = JSON.stringify({ schema_version: 1, event_type, instance_id: id, data, timestamp })
  writer.append([{ text, sourceEnd }])
  writer.close()
}

const move = (from: string, to: string) => append('platform.instance.status_changed', { from, to })
const toldByJournal = () => toRecord(readStory(paths.journal))

// A host that is killed between a line of the journal and the record leaves the record behind.
test.each([0, -10_000, 3_600_000])(
  'a move that the record does not have is shown, with the journal written %i ms from now',
  (ms) => {
    move('created', 'starting')
    const at = new Date(Date.now() + ms)
    utimesSync(paths.journal, at, at)
    expect(readRecord(paths)).toMatchObject({ status: 'starting' })
    expect(readRecord(paths)).toEqual(toldByJournal())
  },
)

test('lines of a resolver that the record does not have: its phase and time are shown, the whole journal is not read', () => {
  const { journal_bytes: behind, record } = JSON.parse(readFileSync(paths.record, 'utf8'))
  // What only the record says shows that it was the record that was brought up to date.
  writeFileSync(paths.record, JSON.stringify({ journal_bytes: behind, record: { ...record, name: 'only here' } }))
  append('plain.tick', {}, 10)
  append('resolver:phase', { name: 'one' }, 20)
  append('resolver:phase', { phase: 'two' }, 30)
  append('resolver:phase', { odd: true }, 40)
  append('plain.tick', { says: 'resolver:phase' }, 50)
  append('platform.worker.adopted', { epoch: 2 })
  expect(toldByJournal()).toMatchObject({ phase: 'two' })
  expect(readRecord(paths)).toEqual({ ...toldByJournal(), name: 'only here' })
  append('plain.tick', {}, 60)
  expect(readRecord(paths)).toEqual({ ...toldByJournal(), name: 'only here' })
})

test('a name that the record does not have is told, and other private lines are passed over', () => {
  const notes = [
    'p\trun\t{"incarnation":1}',
    'p\tname\t{"name":"First"}',
    'p\tname\t{"name":"Second"}',
    'p\tlater\t{"n":1}',
  ]
  for (const note of notes) {
    appendFileSync(paths.journal, `${note}\n`)
    expect(readRecord(paths)).toEqual(toldByJournal())
  }
  expect(readRecord(paths)).toMatchObject({ name: 'Second' })
  append('plain.tick', {}, 70)
  appendFileSync(paths.journal, 'p\tname\t{"name":null}\n')
  expect(readRecord(paths)).toEqual({ ...toldByJournal(), name: null })
})

test.each([
  ['is not JSON', 'p\tname\t{"name":}'],
  ['was cut', 'p\tname\t{"name":"Fir'],
  ['has no kind', 'p'],
])('where the line of a name %s, the record says what the whole journal says', (_, damaged) => {
  appendFileSync(paths.journal, `${damaged}\n`)
  expect(readRecord(paths)).toEqual(toldByJournal())
})

test('a line of no kind at all is told as a broken journal', () => {
  appendFileSync(paths.journal, 'q\tname\t{"name":"Other"}\n')
  expect(() => readRecord(paths)).toThrow(expect.objectContaining({ code: 'journal_broken' }))
})

test.each(['{"name":7}', '{"name":{}}', '{}'])('a name that is no name is passed over: %s', (mark) => {
  appendFileSync(paths.journal, `p\tname\t{"name":"Good"}\np\tname\t${mark}\n`)
  expect(readRecord(paths)).toMatchObject({ name: 'Good' })
  expect(readRecord(paths)).toEqual(toldByJournal())
})

test('a request that the record does not have is counted', () => {
  append('platform.input.requested', { request_id: 'q', prompt: '?', schema: { type: 'form', components: [] } })
  expect(readRecord(paths)).toMatchObject({ pending_inputs: 1 })
  append('platform.input.answered', { request_id: 'q', actor: 'ada', via: 'cli' })
  expect(readRecord(paths)).toMatchObject({ pending_inputs: 0 })
})

test('a line that is not whole yet is not told, and more lines than are read at once are', () => {
  for (let n = 0; n < 200; n += 1) append('plain.tick', { pad: 'x'.repeat(5_000) }, n)
  append('resolver:phase', { name: 'late' }, 300)
  const whole = toldByJournal()
  appendFileSync(paths.journal, '202\t-\t{"schema_version":1,"event_type":"platform.instance.stat')
  expect(readRecord(paths)).toEqual(whole)
  expect(whole).toMatchObject({ phase: 'late' })
})

test.each([0, -1, 1.5, 7, '12', null, 1e15])('a record that names %s bytes of journal is not believed', (bytes) => {
  move('created', 'starting')
  const { record } = JSON.parse(readFileSync(paths.record, 'utf8'))
  writeFileSync(paths.record, JSON.stringify({ journal_bytes: bytes, record: { ...record, status: 'completed' } }))
  expect(readRecord(paths)).toEqual(toldByJournal())
  rmSync(paths.record)
  expect(readRecord(paths)).toEqual(toldByJournal())
})
