import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { identify, isSameProcess } from '../../src/core/files/process-identity.ts'
import { pathsIn } from '../../src/core/store/home.ts'
import { LocalDriver } from '../../src/core/worker/local/local.ts'
import type { CoordinationDirectory, Worker } from '../../src/core/worker/worker.ts'
import { root as repository } from '../house/source-files.ts'
import { driverContract } from './contract.ts'

describe('as a process', () => {
  driverContract(async () => {
    const root = mkdtempSync(join(tmpdir(), 'resolve-worker-'))
    return {
      driver: () => new LocalDriver(pathsIn(root)),
      directory: root,
      node: process.execPath,
      writeHalfFrame: async (text) => {
        const fifo = openSync(pathsIn(root).stdin, 'r+')
        writeFileSync(fifo, text)
      },
      clear: async () => rmSync(root, { recursive: true, force: true }),
    }
  })
})

let root: string
let driver: LocalDriver
let coordination: CoordinationDirectory

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'resolve-worker-'))
  driver = new LocalDriver(pathsIn(root))
  coordination = driver.openCoordination()
})

afterEach(async () => {
  await driver.sweep()
  coordination.close()
})

// What a program prints goes to stderr here; the channel itself is descriptor 1.
const ECHO = `process.stdin.on('data', (bytes) => require('node:fs').writeSync(1, bytes))`

async function start(code: string, incarnation = 1): Promise<Worker> {
  const command = [process.execPath, '-e', code]
  return await driver.start(coordination, { command, directory: root, environment: { MINE: 'yes' }, incarnation })
}

function linesOf(worker: Worker): { lines: string[]; until: (count: number) => Promise<string[]> } {
  const lines: string[] = []
  worker.channel.onLine((line) => lines.push(line))
  const until = async (count: number) => {
    await expect.poll(() => lines.length).toBeGreaterThanOrEqual(count)
    return lines
  }
  return { lines, until }
}

test('the compiled code of a resolver is kept, for the process that the host started and none below it', async () => {
  const compileCache = join(root, 'compiled')
  driver = new LocalDriver(pathsIn(root), { compileCache })
  const code = `import { writeSync } from 'node:fs'
    const seen: string = String(process.env['RESOLVE_COMPILE_CACHE'])
    writeSync(1, seen + '\\n')
    process.exit(0)`
  writeFileSync(join(root, 'resolver.ts'), code)
  const command = [process.execPath, join(root, 'resolver.ts')]
  const worker = await driver.start(coordination, { command, directory: root, environment: {}, incarnation: 1 })
  expect(await linesOf(worker).until(1)).toEqual(['undefined'])
  await worker.ended
  const [version = ''] = readdirSync(compileCache)
  expect(readdirSync(join(compileCache, version)).length).toBeGreaterThan(0)
})

test('a host knows the exit code of its own worker, and of an adopted one only the end', async () => {
  const own = await start(`process.exit(7)`)
  linesOf(own)
  await own.ended
  expect(own.condition).toMatchObject({ engine: 'exited', exitCode: 7 })
  const adopted = (await driver.adopt(coordination, 1)) as Worker
  linesOf(adopted)
  await adopted.ended
  expect(adopted.condition).toMatchObject({ engine: 'exited', exitCode: null })
})

// R20, R26: grandchildren that left session and parent, and ignore SIGTERM
test('the whole tree ends, with grandchildren in sessions of their own that ignore SIGTERM', async () => {
  const ready = mkdtempSync(join(root, 'ready-'))
  const grandchild = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); require('node:fs').writeFileSync('${ready}/' + process.pid, '')`
  const child = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { detached: true, stdio: 'ignore' }).unref()`
  const worker = await start(`${child}; setTimeout(() => { ${child} }, 50); setInterval(() => {}, 1000)`)
  await expect.poll(() => readdirSync(ready).length).toBe(2)
  expect(worker.signal('SIGTERM')).toBe(3)
  await worker.ended
  expect(await worker.isGone()).toBe(false)
  await driver.sweep()
  expect(await worker.isGone()).toBe(true)
})

/** Starts a process without environment in a session of its own, through one that ends, and writes down which. */
const ESCAPES = `const inner = "const c = require('node:child_process').spawn('sleep', ['60'], { detached: true, stdio: 'ignore', env: {} }); c.unref(); process.stdout.write(String(c.pid))"
require('node:fs').writeFileSync(process.env.RESOLVE_DIR + '/escaped', require('node:child_process').execFileSync(process.execPath, ['-e', inner]))`

// R20, R26
test.runIf(process.platform === 'linux')(
  'a process that left session, environment and parent is ended with its worker',
  async () => {
    const worker = await start(ESCAPES)
    linesOf(worker)
    await worker.ended
    const escaped = Number(readFileSync(join(coordination.seen.resolve, 'escaped'), 'utf8'))
    expect([await worker.isGone(), identify(escaped)?.pid]).toEqual([false, escaped])
    expect(worker.signal('SIGTERM')).toBe(1)
    await expect.poll(() => worker.isGone()).toBe(true)
    expect(identify(escaped)).toBeUndefined()
  },
)

test.runIf(process.platform === 'linux')('the next host finds a process that escaped from an earlier one', async () => {
  const worker = await start(ESCAPES)
  linesOf(worker)
  await worker.ended
  worker.release()
  const escaped = Number(readFileSync(join(coordination.seen.resolve, 'escaped'), 'utf8'))
  await new LocalDriver(pathsIn(root)).sweep()
  expect(identify(escaped)).toBeUndefined()
})

test.each([
  ['removed', () => rmSync(pathsIn(root).lifeline)],
  [
    'replaced',
    () => {
      rmSync(pathsIn(root).lifeline)
      writeFileSync(pathsIn(root).lifeline, '')
    },
  ],
  ['written to', () => writeFileSync(pathsIn(root).lifeline, 'noise', { flag: 'r+' })],
])('the end of an adopted worker whose lifeline was %s is noticed by the sweep', async (_, spoil) => {
  const first = await start(ECHO)
  first.release()
  spoil()
  const adopted = (await driver.adopt(coordination, 1)) as Worker
  linesOf(adopted)
  expect(adopted.signal('SIGKILL')).toBe(1)
  await adopted.ended
  expect(adopted.condition.engine).toBe('exited')
  adopted.release()
})

test('an adopted worker that closes its lifeline goes on', async () => {
  const first = await start(`require('node:fs').closeSync(40); ${ECHO}`)
  first.release()
  const adopted = (await driver.adopt(coordination, 1)) as Worker
  const { until } = linesOf(adopted)
  adopted.channel.send('still here')
  expect(await until(1)).toContain('still here')
  expect(adopted.condition.engine).toBe('running')
  adopted.release()
})

test('a sweep signals no other process', async () => {
  const bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  await start(ECHO)
  await driver.sweep()
  expect(bystander.exitCode).toBeNull()
  bystander.kill('SIGKILL')
})

test('a worker gets an allow-list of the environment and its directory (R43, R45)', async () => {
  process.env['A_SECRET_OF_THE_HOST'] = 'hidden'
  const worker = await start(`require('node:fs').writeSync(1, JSON.stringify(process.env) + '\\n')`)
  const { until } = linesOf(worker)
  const environment = JSON.parse((await until(1))[0] as string)
  expect(environment).toMatchObject({ RESOLVE_DIR: coordination.seen.resolve, MINE: 'yes', HOME: process.env['HOME'] })
  expect(JSON.stringify(environment)).not.toContain('hidden')
})

test('what a worker wrote before its output has a reader is delivered', async () => {
  const worker = await start(`require('node:fs').writeSync(1, 'early\\n')`)
  await worker.ended
  expect(await linesOf(worker).until(1)).toEqual(['early'])
})

test('worker.json tells a worker from a later process with its pid', async () => {
  await start(ECHO)
  const saved = JSON.parse(readFileSync(pathsIn(root).worker, 'utf8'))
  expect(isSameProcess(saved.process)).toBe(true)
  expect(isSameProcess({ ...saved.process, startTime: '12' })).toBe(false)
})

test('a foreign process with the pid of an ended worker is never signalled', async () => {
  const worker = await start(`process.exit(0)`)
  linesOf(worker)
  await worker.ended
  const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore', detached: true })
  const saved = JSON.parse(readFileSync(pathsIn(root).worker, 'utf8'))
  writeFileSync(pathsIn(root).worker, JSON.stringify({ ...saved, process: { ...saved.process, pid: stranger.pid } }))
  const adopted = (await driver.adopt(coordination, 1)) as Worker
  linesOf(adopted)
  expect(adopted.signal('SIGTERM')).toBe(0)
  expect(await adopted.isGone()).toBe(true)
  await driver.sweep()
  await sleep(200)
  expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
  stranger.kill('SIGKILL')
})

test('stderr of a worker is kept', async () => {
  const worker = await start(`process.stderr.write('because'); process.exit(1)`)
  linesOf(worker)
  await worker.ended
  expect(driver.stderrTail(100)).toBe('because')
})

test.runIf(process.platform === 'linux')(
  'a host without free file descriptors takes no worker for ended, and its sweep leaves none behind',
  { timeout: 90_000 },
  async () => {
    const program = `
    const { openSync, closeSync, readFileSync } = await import('node:fs')
    const { LocalDriver } = await import(${JSON.stringify(join(repository, 'src/core/worker/local/local.ts'))})
    const { pathsIn } = await import(${JSON.stringify(join(repository, 'src/core/store/home.ts'))})
    const { identify } = await import(${JSON.stringify(join(repository, 'src/core/files/process-identity.ts'))})
    const [directory] = process.argv.slice(1)
    const places = pathsIn(directory)
    const driver = new LocalDriver(places)
    const command = [process.execPath, '-e', 'setInterval(() => {}, 1000)']
    const worker = await driver.start(driver.openCoordination(), { command, directory, environment: {}, incarnation: 1 })
    const { pid } = JSON.parse(readFileSync(places.worker, 'utf8')).process
    const opened = []
    const exhaust = () => { try { for (;;) opened.push(openSync('/dev/null')) } catch {} }
    exhaust()
    // Several looks after it.
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const seen = [worker.condition.engine, await Promise.race([worker.isGone(), new Promise((resolve) => setTimeout(resolve, 200, 'asking'))])]
    exhaust()
    const sweep = driver.sweep()
    await new Promise((resolve) => setTimeout(resolve, 200))
    for (const fd of opened) closeSync(fd)
    await sweep
    console.log(...seen, identify(pid) === undefined ? 'swept' : 'left')
    process.exit()`
    const words = [process.execPath, '--input-type=module', '-e', program, root]
    const host = spawn('/bin/sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...words], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [text] = (await once(host.stdout, 'data')) as [Buffer]
    expect(text.toString()).toBe('running asking swept\n')
  },
)
