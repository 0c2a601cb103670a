/** The lifeline of a local worker: it ends with the last process that inherited it, and names those that still hold it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { holdersOf, isLifelineHeld, stdioWithLifeline, watchLifeline } from '../../src/core/worker/local/lifeline.ts'

let directory: string
let line: string
const children: ChildProcess[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'resolve-lifeline-'))
  line = join(directory, 'lifeline')
  execFileSync('mkfifo', [line])
})

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  rmSync(directory, { recursive: true, force: true })
})

/** A program that inherits the lifeline; what it prints comes back line by line. */
async function started(code: string): Promise<{ child: ChildProcess; said: string }> {
  const out = join(directory, 'out')
  const fds = [openSync('/dev/null', 'r'), openSync(out, 'w'), openSync('/dev/null', 'w')] as const
  const held = openSync(line, constants.O_RDWR)
  const child = spawn(process.execPath, ['-e', code], { stdio: stdioWithLifeline(fds, held) })
  children.push(child)
  for (const fd of [...fds, held]) closeSync(fd)
  await expect.poll(() => readFileSync(out, 'utf8')).toMatch(/\n/)
  return { child, said: readFileSync(out, 'utf8').trim() }
}

function watched(): { ends: number; stop: () => void } {
  const seen = { ends: 0, stop: () => {} }
  seen.stop = watchLifeline(line, () => {
    seen.ends += 1
  })
  return seen
}

const WAITS = `console.log('up'); setInterval(() => {}, 1000)`
/** Starts a process without environment in a session of its own, through one that ends: only the lifeline leads to it. */
const ESCAPES = `const { spawn, execFileSync } = require('node:child_process')
const inner = "const c = require('node:child_process').spawn('sleep', ['60'], { detached: true, stdio: 'ignore', env: {} }); c.unref(); console.log(c.pid)"
console.log(String(execFileSync(process.execPath, ['-e', inner])).trim()); setInterval(() => {}, 1000)`

test('the end of a lifeline is reported when the process that inherited it has ended', async () => {
  const { child } = await started(WAITS)
  const seen = watched()
  expect([isLifelineHeld(line), holdersOf(line, false)]).toEqual([true, [child.pid]])
  child.kill('SIGKILL')
  await expect.poll(() => seen.ends, { interval: 1 }).toBe(1)
  expect([isLifelineHeld(line), holdersOf(line, true)]).toEqual([false, []])
})

test('a lifeline does not end while a process holds it that left session, environment and parent', async () => {
  const { child, said } = await started(ESCAPES)
  const escaped = Number(said)
  const seen = watched()
  expect(holdersOf(line, false).toSorted()).toEqual([child.pid as number, escaped].toSorted())
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect([seen.ends, isLifelineHeld(line), holdersOf(line, false)]).toEqual([0, true, [escaped]])
  process.kill(escaped, 'SIGKILL')
  await expect.poll(() => seen.ends).toBe(1)
})

test('a holder is found where it moved the lifeline to another descriptor', async () => {
  const shell = `exec 7>&40 40>&-; echo up; exec sleep 60`
  const { child } = await started(
    `require('node:child_process').spawn('bash', ['-c', ${JSON.stringify(shell)}], { stdio: ['ignore', 1, 2] }).unref()`,
  )
  if (child.exitCode === null) await once(child, 'exit')
  expect(holdersOf(line, false)).toEqual([])
  const [moved, ...others] = holdersOf(line, true)
  expect(others).toEqual([])
  process.kill(moved as number, 'SIGKILL')
  await expect.poll(() => isLifelineHeld(line)).toBe(false)
})

test('a process that opened the lifeline by itself, as a host does, is no holder', async () => {
  const code = `require('node:fs').openSync(process.argv[1], 'r+'); ${WAITS}`
  const stranger = spawn(process.execPath, ['-e', code, line], { stdio: ['ignore', 'pipe', 'ignore'] })
  children.push(stranger)
  await once(stranger.stdout, 'data')
  expect([isLifelineHeld(line), holdersOf(line, true)]).toEqual([true, []])
})

test('bytes written to the lifeline do not disturb its reader, and do not hide its holders', async () => {
  const { child } = await started(`const { writeSync } = require('node:fs'); ${WAITS}
    setImmediate(() => { for (;;) writeSync(40, Buffer.alloc(65536)) })`)
  const seen = watched()
  await sleep(200)
  expect([isLifelineHeld(line), seen.ends]).toEqual([true, 0])
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(isLifelineHeld(line)).toBe(false)
  seen.stop()
})

test('bytes left by a writer that ended are no holder', () => {
  const reader = openSync(line, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(line, 'w')
  writeSync(writer, 'left')
  closeSync(writer)
  expect(isLifelineHeld(line)).toBe(false)
  closeSync(reader)
})

test('where there is none, or another kind of file has its name, nothing is told and nothing fails', () => {
  rmSync(line)
  for (const place of [() => {}, () => writeFileSync(line, 'no FIFO')]) {
    place()
    const seen = watched()
    expect([isLifelineHeld(line), holdersOf(line, true), seen.ends]).toEqual([false, [], 0])
    seen.stop()
  }
})
