/** A full disk delays what a resolver writes, and neither loses nor glues anything (reliability F7). */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { EventLog } from '../../src/sdk/instance/event-log.ts'
import { RetryingDisk } from '../../src/sdk/instance/retry-while-disk-full.ts'
import { smallTmpfs } from '../support/small-disk.ts'
import { launchSample } from './harness.ts'

/** A file system of 128 KiB; undefined where this machine does not let us mount one. */
function smallDisk(): string | undefined {
  const disk = smallTmpfs('128k')
  if (disk !== undefined) onTestFinished(disk.close)
  return disk?.path
}

/** Takes all the room but `free` bytes. */
function fill(disk: string, free: number): void {
  let size = 128 * 1024
  for (; size > 0; size -= 4096) {
    try {
      writeFileSync(join(disk, 'ballast'), Buffer.alloc(size))
      break
    } catch {}
  }
  writeFileSync(join(disk, 'ballast'), Buffer.alloc(Math.max(0, size - free)))
}

const line = (number: number) => JSON.stringify({ number, text: 'x'.repeat(1_000) })

test('a line that does not fit is removed whole and written when there is space', async ({ skip }) => {
  const root = smallDisk()
  if (root === undefined) return skip('this machine does not let us mount a small disk')
  const path = join(root, 'events.jsonl')
  const log = new EventLog(path)
  log.append(line(0))
  fill(root, 8 * 1024)
  const disk = new RetryingDisk()
  for (let number = 1; number < 30; number++) disk.do(() => log.append(line(number)))
  expect(disk.isFull).toBe(true)
  expect(readFileSync(path, 'utf8')).toMatch(/}\n$/)
  rmSync(join(root, 'ballast'))
  for (const end = Date.now() + 10_000; disk.isFull && Date.now() < end; ) await sleep(10)
  const numbers = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => (JSON.parse(text) as { number: number }).number)
  expect(numbers).toEqual(Array.from({ length: 30 }, (_, number) => number))
})

test('a run survives a full disk: every event, the state and the result are written in order', async ({ skip }) => {
  const root = smallDisk()
  if (root === undefined) return skip('this machine does not let us mount a small disk')
  const dir = join(root, 'project/.resolve')
  mkdirSync(dir, { recursive: true })
  const resolver = launchSample('scenarios', { dir, params: { scenario: 'burst' } })
  await resolver.call('resolver.initialize', { config: resolver.config })
  fill(root, 8 * 1024)
  await resolver.call('resolver.run', { resume: false })
  await sleep(300)
  expect(resolver.notices('resolver.finished')).toEqual([])
  expect(resolver.read('events.jsonl')).toMatch(/}\n$/)
  rmSync(join(root, 'ballast'))
  await resolver.result()
  const numbers = resolver.events().filter(({ event_type }) => event_type === 'scenarios.numbered')
  expect(numbers.map(({ data }) => data['number'])).toEqual(Array.from({ length: 500 }, (_, number) => number))
  expect(resolver.types().at(-1)).toBe('resolver:completed')
})

test('a torn end that a crashed writer left is closed before the first event', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'resolve-torn-')), 'events.jsonl')
  onTestFinished(() => rmSync(join(path, '..'), { recursive: true }))
  writeFileSync(path, '{"number":0}\n{"numb')
  const log = new EventLog(path)
  log.append('{"number":2}')
  log.append('{"number":3}')
  expect(readFileSync(path, 'utf8')).toBe('{"number":0}\n{"numb\n{"number":2}\n{"number":3}\n')
})

test('an error other than a full disk is thrown at once', () => {
  const disk = new RetryingDisk()
  const fault = Object.assign(new Error('no such directory'), { code: 'ENOENT' })
  expect(() =>
    disk.do(() => {
      throw fault
    }),
  ).toThrow(fault)
  expect(disk.isFull).toBe(false)
})
