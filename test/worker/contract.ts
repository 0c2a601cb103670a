/** What every driver of workers must do, whatever a worker is: one suite, run by the test of each driver. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { CoordinationDirectory, Driver, Worker } from '../../src/core/worker/worker.ts'

/** One worker's surroundings, fresh for each test. */
export interface DriverStage {
  /** A driver of the same instance; each call is another host. */
  driver: () => Driver
  /** Where the resolver's files are, on this machine. */
  directory: string
  /** What `node` is called where the worker runs. */
  node: string
  /** Half a frame from a host that died while it wrote. */
  writeHalfFrame: (text: string) => Promise<void>
  /** Takes away all of it. */
  clear: () => Promise<void>
}

// What a program prints goes to stderr; the channel itself is descriptor 1.
// Whole lines only: half a line in the stdout of a container is delivered only when its end has come.
const ECHO = `let rest = ''; process.stdin.on('data', (bytes) => { const lines = (rest + bytes).split('\\n'); rest = lines.pop()
  for (const line of lines) require('node:fs').writeSync(1, line + '\\n') })`

export function driverContract(open: () => Promise<DriverStage>): void {
  let stage: DriverStage
  let driver: Driver
  let coordination: CoordinationDirectory
  const held: Worker[] = []

  beforeEach(async () => {
    stage = await open()
    driver = stage.driver()
    coordination = driver.openCoordination()
  })

  afterEach(async () => {
    for (const worker of held.splice(0)) worker.release()
    await driver.sweep()
    coordination.close()
    await stage.clear()
  })

  async function start(code: string, incarnation = 1): Promise<Worker> {
    const command = [stage.node, '-e', code]
    const worker = await driver.start(coordination, {
      command,
      directory: stage.directory,
      environment: { MINE: 'yes' },
      incarnation,
    })
    held.push(worker)
    return worker
  }

  async function adopt(incarnation = 1): Promise<Worker | undefined> {
    const worker = await stage.driver().adopt(coordination, incarnation)
    if (worker !== undefined) held.push(worker)
    return worker
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

  test('lines are sent to a worker and received from it', async () => {
    const worker = await start(ECHO)
    const { until } = linesOf(worker)
    worker.channel.send('one')
    worker.channel.send('zwei é')
    expect(await until(2)).toEqual(['one', 'zwei é'])
  })

  test('more bytes than a pipe holds arrive complete and in order, even if the worker reads late', async () => {
    const worker = await start(`setTimeout(() => { ${ECHO} }, 300)`)
    const { until } = linesOf(worker)
    const sent = Array.from({ length: 50 }, (_, n) => `${n}:${'x'.repeat(10_000)}`)
    for (const line of sent) worker.channel.send(line)
    expect(await until(50)).toEqual(sent)
  })

  test('a released worker lives on; the next host sends and receives, also after half a frame of the dead host', async () => {
    const first = await start(ECHO)
    const before = linesOf(first)
    first.channel.send('before')
    await before.until(1)
    first.release()
    await stage.writeHalfFrame('{"half a fra')
    const second = (await adopt()) as Worker
    const { until } = linesOf(second)
    second.channel.send('after')
    expect((await until(3)).filter((line) => line !== '')).toEqual(['before', '{"half a fra', 'after'])
    expect(second.condition).toMatchObject({ engine: 'running', link: 'up' })
  })

  test('the output of a worker without a host is kept for the next host', async () => {
    const first = await start(
      `const fs = require('node:fs'); let n = 0
       setInterval(() => { fs.writeSync(1, 'tick ' + (n += 1) + '\\n'); if (n === 30)
         { fs.mkdirSync(process.env.RESOLVE_DIR + '/data', { recursive: true }); fs.writeFileSync(process.env.RESOLVE_DIR + '/data/thirty', '') } }, 20)`,
    )
    await linesOf(first).until(3)
    first.release()
    await expect.poll(async () => (await coordination.list('data', 10)).length).toBe(1)
    const { until } = linesOf((await adopt()) as Worker)
    const lines = await until(30)
    expect(lines.slice(0, 30)).toEqual(Array.from({ length: 30 }, (_, n) => `tick ${n + 1}`))
  })

  test('no worker is adopted for an incarnation that was never started', async () => {
    await start(ECHO, 1)
    expect(await adopt(2)).toBeUndefined()
  })

  test('a host knows the exit code of its own worker', async () => {
    const worker = await start(`process.exit(7)`)
    linesOf(worker)
    await worker.ended
    expect(worker.condition).toMatchObject({ engine: 'exited', exitCode: 7 })
    expect(await worker.isGone()).toBe(true)
  })

  test('a worker that ended while it had no host is found ended', async () => {
    const mark = `const data = process.env.RESOLVE_DIR + '/data'; require('node:fs').mkdirSync(data, { recursive: true })
      require('node:fs').writeFileSync(data + '/ending', '')`
    const first = await start(`setTimeout(() => { ${mark}; process.exit(3) }, 200)`)
    first.release()
    await expect.poll(async () => (await coordination.list('data', 10)).length).toBe(1)
    // From its last file to its end.
    await sleep(200)
    const second = (await adopt()) as Worker
    linesOf(second)
    await second.ended
    expect(second.condition.engine).toBe('exited')
  })

  test('the last output before the end of a worker is read', async () => {
    const worker = await start(`require('node:fs').writeSync(1, 'last word\\n')`)
    const { lines } = linesOf(worker)
    await worker.ended
    // It may have ended before its output had a reader.
    await worker.channel.drain?.(() => {})
    expect(lines).toEqual(['last word'])
  })

  // R20, R26: grandchildren that left session and parent, and ignore SIGTERM
  test('the whole tree ends, with grandchildren in sessions of their own that ignore SIGTERM', async () => {
    const grandchild = `process.on('SIGTERM', () => {}); require('node:fs').writeFileSync(process.env.RESOLVE_DIR + '/data/alive-' + process.pid, ''); setInterval(() => {}, 1000)`
    const child = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(grandchild)}], { detached: true, stdio: 'ignore' }).unref()`
    const data = `require('node:fs').mkdirSync(process.env.RESOLVE_DIR + '/data', { recursive: true })`
    const worker = await start(`${data}; ${child}; setTimeout(() => { ${child} }, 50); setInterval(() => {}, 1000)`)
    await expect.poll(() => coordination.list('data', 10)).toHaveLength(2)
    expect(await worker.isGone()).toBe(false)
    expect(worker.signal('SIGTERM')).toBeGreaterThan(0)
    await worker.ended
    await driver.sweep()
    expect(await worker.isGone()).toBe(true)
  })

  test('a worker that ignores SIGTERM is ended by a sweep', async () => {
    const worker = await start(
      `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); require('node:fs').writeSync(1, 'up\\n')`,
    )
    await linesOf(worker).until(1)
    worker.signal('SIGTERM')
    await sleep(300)
    expect(await worker.isGone()).toBe(false)
    await driver.sweep()
    await worker.ended
    expect(await worker.isGone()).toBe(true)
  })

  test('a worker sees its directories at the given paths, may write them, and can read its config (R43)', async () => {
    coordination.put('config.json', '{"a":1}', { mode: 0o600 })
    const code = `const fs = require('node:fs'); const dir = process.env.RESOLVE_DIR
      fs.mkdirSync(dir + '/data', { recursive: true }); fs.writeFileSync(dir + '/data/out.txt', fs.readFileSync(dir + '/config.json', 'utf8') + process.env.MINE)
      fs.mkdirSync(${JSON.stringify('WORKSPACE')} + '/repo'); fs.writeSync(1, dir + '\\n')`.replace(
      '"WORKSPACE"',
      JSON.stringify(coordination.seen.workspace),
    )
    const worker = await start(code)
    const { until } = linesOf(worker)
    expect(await until(1)).toEqual([coordination.seen.resolve])
    expect(coordination.read('data/out.txt', 100)?.toString()).toBe('{"a":1}yes')
  })

  test('the environment is an allow-list: nothing of the host is in it (R45)', async () => {
    process.env['A_SECRET_OF_THE_HOST'] = 'hidden'
    const worker = await start(`require('node:fs').writeSync(1, JSON.stringify(process.env) + '\\n')`)
    const environment = JSON.parse((await linesOf(worker).until(1))[0] as string)
    expect(environment).toMatchObject({ RESOLVE_DIR: coordination.seen.resolve, RESOLVE_CHANNEL: '1', MINE: 'yes' })
    expect(JSON.stringify(environment)).not.toContain('hidden')
  })

  test('a missing program fails the launch with its name', async () => {
    const plan = { command: ['no-such-program'], directory: stage.directory, environment: {}, incarnation: 1 }
    // Where only the engine can tell, the worker ends at once and says so.
    const why = await driver.start(coordination, plan).then(
      async (worker) => {
        held.push(worker)
        await worker.ended
        return `${worker.condition.exitCode}: ${driver.stderrTail(1_000)}`
      },
      (error: Error) => error.message,
    )
    expect(why).toMatch(
      /^Can't start "no-such-program": the program or its directory does not exist|^127: .*exec no-such-program failed/,
    )
  })

  test('stderr of a worker is kept', async () => {
    const worker = await start(`process.stderr.write('because'); process.exit(1)`)
    linesOf(worker)
    await worker.ended
    expect(driver.stderrTail(100)).toBe('because')
  })

  test('a second start leaves one worker', async () => {
    const first = await start(`setInterval(() => {}, 1000)`)
    const second = await start(ECHO, 2)
    await first.ended
    const { until } = linesOf(second)
    second.channel.send('x')
    expect(await until(1)).toEqual(['x'])
    expect(await adopt(1)).toBeUndefined()
  })
}
