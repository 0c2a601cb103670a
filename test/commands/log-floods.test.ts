/** Floods of every kind of output: the log keeps its limit, its host answers, and nothing is left out without a note (R40, R41, threats FS-12). */
import { readFileSync, statSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { LogLine } from '../../src/core/protocol/log.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Home, newHome } from './cli.ts'

const MIB = 1024 * 1024
const BEHAVIOUR = `
  const all = (fd, text) => { const bytes = Buffer.from(text); for (let done = 0; done < bytes.length;) done += fs.writeSync(fd, bytes, done) }
  const frame = (message) => JSON.stringify({ jsonrpc: '2.0', method: 'resolver.log', params: { level: 'info', message } }) + '\\n'
  const { kind } = me.params
  if (kind === 'newlines') { all(2, '\\n'.repeat(4_000_000)); all(2, 'the last line\\n') }
  if (kind === 'empty messages') all(1, frame('').repeat(120_000) + frame('the last message'))
  if (kind === 'messages') { const block = frame('x'.repeat(900)).repeat(1_000); for (let n = 0; n < 60; n += 1) all(1, block); all(1, frame('the last message')) }
  if (kind === 'stderr') {
    const block = ('x'.repeat(99) + '\\n').repeat(10_000)
    for (let n = 0; n < 20; n += 1) all(2, block)
    all(2, 'LASTWORDS\\n')
    // Until its host has cut the file.
    for (let n = 0; n < 3_000 && fs.fstatSync(2).size > 10_000_000; n += 1) await sleep(10)
  }
  me.finish({ status: 'completed', output: 'done' })`

let place: Home

beforeAll(async () => {
  place = newHome()
  const { dir } = plainResolver(BEHAVIOUR, { name: 'floods' })
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
})

afterAll(() => place.end())

async function flood(kind: string): Promise<{ id: string; texts: string[]; notes: string[]; bytes: number }> {
  const ran = await place.with({ stdin: JSON.stringify({ kind }) }, 'run', 'floods', '--input-file', '-', '--json')
  const { instance_id: id, status } = JSON.parse(ran.stdout) as { instance_id: string; status: string }
  expect(status).toBe('completed')
  const { stdout } = await place.run('instance', 'logs', id, '--jsonl')
  const lines = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as LogLine)
  const notes = lines.filter(({ source }) => source === 'platform').map(({ text }) => text)
  const { log } = instancePaths(place.home, id)
  const sizes = [log, `${log}.1`].map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(8 * MIB)
  const bytes = sizes.reduce((sum, one) => sum + one, 0)
  return { id, texts: lines.map(({ text }) => text), notes, bytes }
}

// verifies: S-LOG-05
test.each([
  ['newlines', 'the last line'],
  ['empty messages', 'the last message'],
])('a flood of %s costs what its lines take in the file', { timeout: 60_000 }, async (kind, last) => {
  const { texts, notes, bytes } = await flood(kind)
  // A burst, and the rate: far less than the limit of the files.
  expect(bytes).toBeLessThan(12 * MIB)
  expect(texts.at(-1)).toBe(last)
  expect(notes).toContainEqual(expect.stringMatching(/were left out/))
})

// verifies: S-LOG-05
test('messages that are left behind at the end of a worker are read to the last, or a note tells how many are not', async () => {
  const { texts, notes } = await flood('messages')
  expect(texts.at(-1)).toBe('the last message')
  expect(notes).toContainEqual(expect.stringMatching(/left out/))
}, 60_000)

test('the file of stderr keeps its end when it is cut', async () => {
  const { id } = await flood('stderr')
  const { stderr } = instancePaths(place.home, id)
  expect(readFileSync(stderr, 'utf8').endsWith('x\nLASTWORDS\n')).toBe(true)
}, 60_000)
