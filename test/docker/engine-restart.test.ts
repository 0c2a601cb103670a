/** A restart of a real engine: with live-restore a worker lives through it, without it the instance fails and is never a success (reliability F4; threats D7). */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newInstanceId, pathsIn } from '../../src/core/store/home.ts'
import { DockerDriver } from '../../src/core/worker/docker/docker.ts'
import { Engine } from '../../src/core/worker/engine/engine.ts'
import type { Worker } from '../../src/core/worker/worker.ts'
import { describeWithDocker, testImage } from '../support/docker.ts'
import { PrivateEngine } from '../support/private-engine.ts'

const image = testImage()
process.env['RESOLVE_WORKER_IMAGE'] = image

/** Ticks, answers what it is sent, and ends politely on a SIGTERM. */
const CODE = `const say = (line) => require('node:fs').writeSync(1, line + '\\n')
  let n = 0; setInterval(() => say('tick ' + (n += 1)), 50); process.on('SIGTERM', () => process.exit(0))
  process.stdin.on('data', (bytes) => say('heard ' + String(bytes).trim()))`

describeWithDocker('an engine that is started again', { timeout: 180_000 }, () => {
  const engine = new PrivateEngine()
  const home = mkdtempSync(join(tmpdir(), 'resolve-restart-'))
  const source = join(home, 'source')
  let driver: DockerDriver
  let worker: Worker
  let lines: string[]

  beforeAll(async () => {
    mkdirSync(source)
    chmodSync(source, 0o755)
    await engine.start()
    engine.load(image)
  }, 120_000)

  afterAll(async () => {
    await engine.remove()
    rmSync(home, { recursive: true, force: true })
  }, 60_000)

  async function until(condition: () => boolean): Promise<void> {
    for (let tries = 0; !condition() && tries < 3_000; tries += 1) await sleep(10)
    expect(condition()).toBe(true)
  }

  async function startWorker(): Promise<void> {
    const root = join(home, 'instances', newInstanceId())
    mkdirSync(root, { recursive: true })
    driver = new DockerDriver(pathsIn(root), home, new Engine(engine.socket))
    const coordination = driver.openCoordination()
    const command = ['node', '-e', CODE]
    worker = await driver.start(coordination, { command, directory: source, environment: {}, incarnation: 1 })
    coordination.close()
    lines = []
    worker.channel.onLine((line) => lines.push(line))
    await until(() => lines.length > 10)
  }

  test('with live-restore the worker lives through a killed engine, and no line is lost', async () => {
    await startWorker()
    await engine.end('SIGKILL')
    await until(() => worker.condition.link === 'down')
    expect(worker.condition.engine).toBe('running')
    await engine.start()
    const before = lines.length
    await until(() => worker.condition.link === 'up' && lines.length > before + 20)
    worker.channel.send('hello')
    await until(() => lines.some((line) => line.endsWith('heard hello')))
    const ticks = lines.filter((line) => line.startsWith('tick ')).map((line) => Number(line.slice(5)))
    const once = ticks.filter((n, at) => n !== ticks[at - 1])
    expect(once).toEqual(once.map((_, at) => at + 1))
    await driver.sweep()
    await worker.ended
    worker.release()
  })

  test('without live-restore a worker that exits with 0 has ended, and without a result it has failed (R21)', async () => {
    await engine.end('SIGTERM')
    await engine.start(false)
    await startWorker()
    await engine.end('SIGTERM')
    await engine.start(false)
    await until(() => worker.condition.engine === 'exited')
    await worker.ended
    expect(worker.condition).toMatchObject({ engine: 'exited', exitCode: 0 })
    worker.release()
  })
})
