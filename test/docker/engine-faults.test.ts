/** An engine that is away or hangs is not a worker that ended: it is waited for, and nothing a worker said meanwhile is lost (reliability F4; threats D15). */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newInstanceId, pathsIn } from '../../src/core/store/home.ts'
import { DockerDriver } from '../../src/core/worker/docker/docker.ts'
import { Engine } from '../../src/core/worker/engine/engine.ts'
import type { CoordinationDirectory, Worker } from '../../src/core/worker/worker.ts'
import { containersOf, describeWithDocker, docker, testImage } from '../support/docker.ts'
import { EngineProxy } from '../support/engine-proxy.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

const TICKS = `let n = 0; setInterval(() => require('node:fs').writeSync(1, 'tick ' + (n += 1) + '\\n'), 20)
  process.stdin.on('data', (bytes) => { if (String(bytes).includes('end')) process.exit(5) })`

/** About 3,000 lines a second. */
const FAST = `const say = (text) => require('node:fs').writeSync(1, text + '\\n')
  let n = 0; const timer = setInterval(() => { for (let i = 0; i < 3; i += 1) say('tick ' + (n += 1)) }, 1)
  process.stdin.on('data', (bytes) => {
    if (String(bytes).includes('hush')) clearInterval(timer)
    if (!String(bytes).includes('end')) return
    for (let i = 0; i < 100; i += 1) say('tick ' + (n += 1))
    say('last')
    process.exit(5)
  })`

describeWithDocker('an engine in trouble', { timeout: 60_000 }, () => {
  let home: string
  let id: string
  let proxy: EngineProxy
  let driver: DockerDriver
  let coordination: CoordinationDirectory
  let worker: Worker | undefined

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'resolve-faults-'))
    id = newInstanceId()
    mkdirSync(join(home, 'instances', id), { recursive: true })
    mkdirSync(join(home, 'source'))
    chmodSync(join(home, 'source'), 0o755)
    proxy = new EngineProxy()
    await proxy.start()
    driver = new DockerDriver(pathsIn(join(home, 'instances', id)), home, new Engine(proxy.socket))
    coordination = driver.openCoordination()
  })

  afterEach(async () => {
    worker?.release()
    coordination.close()
    proxy.thaw()
    await proxy.cut().catch(() => undefined)
    for (const left of await containersOf(id)) await docker('rm', '-f', left)
    rmSync(home, { recursive: true, force: true })
  })

  async function start(code = TICKS): Promise<{ lines: string[]; worker: Worker }> {
    const started = await driver.start(coordination, {
      ...{ command: ['node', '-e', code], directory: join(home, 'source'), environment: {}, incarnation: 1 },
    })
    worker = started
    const lines: string[] = []
    started.channel.onLine((line) => lines.push(line))
    await until(() => lines.length > 5)
    return { lines, worker: started }
  }

  async function until(condition: () => boolean, limitMs = 20_000): Promise<void> {
    for (const deadline = Date.now() + limitMs; !condition() && Date.now() < deadline; ) await sleep(10)
    expect(condition()).toBe(true)
  }

  test('while the engine is away the worker counts as running; when it is back its output is complete, once and in order', async () => {
    const { lines, worker: ticking } = await start()
    for (let times = 0; times < 3; times += 1) {
      await proxy.cut()
      await until(() => ticking.condition.link === 'down')
      expect(ticking.condition.engine).toBe('running')
      const before = lines.length
      await sleep(300)
      expect(lines.length).toBe(before)
      await proxy.start()
      await until(() => ticking.condition.link === 'up')
      await until(() => lines.length > before + 20)
    }
    expect(lines).toEqual(lines.map((_, at) => `tick ${at + 1}`))
  })

  test('a host that takes over reads each line once, also those that are printed while it connects, and after a silence', async () => {
    const { worker: first } = await start(FAST)
    first.release()
    for (let times = 0; times < 12; times += 1) {
      const adopted = (await driver.adopt(coordination, 1)) as Worker
      worker = adopted
      const lines: string[] = []
      adopted.channel.onLine((line) => lines.push(line))
      const printed = Number(
        (await docker('logs', '--tail', '1', (await containersOf(id))[0] ?? '')).slice('tick '.length),
      )
      await until(() => lines.length > printed + 50)
      if (times === 11) {
        adopted.channel.send('hush')
        // The engine's stream takes over from its log.
        await sleep(1_600)
        adopted.channel.send('end')
        await adopted.ended
        expect(lines.at(-1)).toBe('last')
        lines.pop()
      }
      expect(lines).toEqual(lines.map((_, at) => `tick ${at + 1}`))
      adopted.release()
    }
  })

  test('lines sent while the engine is away arrive when it is back', async () => {
    const { worker: ticking } = await start()
    await proxy.cut()
    await until(() => ticking.condition.link === 'down')
    ticking.channel.send('end')
    await proxy.start()
    await ticking.ended
    expect(ticking.condition).toMatchObject({ engine: 'exited', exitCode: 5 })
  })

  test('a worker that ended while the engine was away is found ended, with its exit code', async () => {
    const { worker: ticking } = await start(`${TICKS}; setTimeout(() => process.exit(6), 1000)`)
    await proxy.cut()
    const [container = ''] = await containersOf(id)
    const isRunning = () => docker('inspect', '--format', '{{.State.Running}}', container)
    await expect.poll(isRunning).toBe('false')
    expect(ticking.condition.engine).toBe('running')
    await proxy.start()
    await ticking.ended
    expect(ticking.condition).toMatchObject({ engine: 'exited', exitCode: 6 })
  })

  test('a host that starts while the engine is away adopts the worker when it is back', async () => {
    const { worker: ticking } = await start()
    ticking.release()
    await proxy.cut()
    const adopted = (await driver.adopt(coordination, 1)) as Worker
    worker = adopted
    const lines: string[] = []
    adopted.channel.onLine((line) => lines.push(line))
    expect(adopted.condition).toMatchObject({ engine: 'running', link: 'down' })
    await proxy.start()
    await until(() => lines.length > 20)
    expect(lines.slice(0, 3)).toEqual(['tick 1', 'tick 2', 'tick 3'])
  })

  test('ending a worker waits for the engine and then removes its container (R20)', async () => {
    await start()
    await proxy.cut()
    let isSwept = false
    const sweeping = driver.sweep().then(() => {
      isSwept = true
    })
    // Without the engine it neither ends nor fails.
    await sleep(300)
    expect(isSwept).toBe(false)
    await proxy.start()
    await sweeping
    expect(await containersOf(id)).toEqual([])
  })

  test('an engine that hangs makes the link down and a start fail in time, while the worker counts as running', async () => {
    const { worker: ticking } = await start()
    proxy.freeze()
    await until(() => ticking.condition.link === 'down', 30_000)
    expect(ticking.condition.engine).toBe('running')
    proxy.thaw()
    await until(() => ticking.condition.link === 'up', 30_000)
    proxy.freeze()
    const plan = { command: ['node'], directory: join(home, 'source'), environment: {}, incarnation: 2 }
    await expect(driver.start(coordination, plan)).rejects.toMatchObject({ code: 'docker_unreachable' })
  })
})
