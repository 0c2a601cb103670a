/** Workers in containers that are lost or lose their host, as a person meets them with the built program (R58; reliability F26, F2). */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { LogLine } from '../../src/core/protocol/log.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { type ServeProcess, startServe } from '../commands/serving.ts'
import { containersOf, describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { eventsOf, storyOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

/** Saves a checkpoint where its input says so, and works until it is stopped; resumed it completes. */
const PERSISTENT = `
  if (me.params.save !== 'no') write('checkpoint.json', JSON.stringify({ at: 7 }))
  if (me.resume) return me.finish({ status: 'completed', output: 'went on at ' + JSON.parse(fs.readFileSync(root + '/checkpoint.json', 'utf8')).at })
  me.emit('persistent.saved')
  me.finish({ status: 'cancelled', output: await me.stopped })`

/** Says 400 numbered lines on stderr, and fewer of the other kinds. */
const SPEAKS = `
  const log = (message) => print(JSON.stringify({ jsonrpc: '2.0', method: 'resolver.log', params: { level: 'info', message } }) + '\\n')
  for (let n = 1; n <= 400; n += 1) {
    fs.writeSync(2, 'stderr ' + n + '\\n'); if (n % 20 === 0) print('noise ' + n + '\\n'); if (n % 10 === 0) log('log ' + n)
    await sleep(5)
    // It waits where its hosts are killed, so that each has read a part, and the last lines come without any host.
    while (n % 90 === 0 && !fs.existsSync(root + '/go-on-' + n)) await sleep(20)
  }
  me.finish({ status: 'completed', output: 'done' })`

let place: Home
const servers: ServeProcess[] = []
beforeEach(() => {
  place = newHome()
})
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.kill('SIGKILL')
    await server.ended
  }
  await place.end()
  await removeContainersOf(place.home)
})

async function added(behaviour: string, manifest: Record<string, unknown> = {}): Promise<void> {
  const { dir } = plainResolver(behaviour, { name: 'boxed', container: {}, ...manifest })
  chmodSync(dir, 0o755)
  const { code, stderr } = await place.run('resolver', 'add', dir)
  expect(code, stderr).toBe(0)
}

async function detached(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await place.run('run', 'boxed', '--detach', ...args)
  expect(code, stderr).toBe(0)
  return stdout.trim()
}

const hasSaved = (id: string) => eventsOf(place.home, id).some(({ event }) => event.event_type === 'persistent.saved')

async function containerOf(id: string): Promise<string> {
  const [container = ''] = await containersOf(id)
  return container
}

function killHost(id: string): void {
  process.kill(readOwner(instancePaths(place.home, id).owners)?.process.pid ?? 0, 'SIGKILL')
}

describeWithDocker('a lost worker in a container', { timeout: 90_000 }, () => {
  // verifies: R58
  test('with a checkpoint pauses its instance; resumed, it goes on in a new container', async () => {
    await added(PERSISTENT, { supports_resume: true })
    const id = await detached()
    await until(place.home, id, () => hasSaved(id))
    const container = await containerOf(id)
    await docker('kill', container)
    const { history } = await until(place.home, id, (story) => story.status === 'paused')
    expect(history.at(-1)).toMatchObject({ status: 'paused', reason: 'worker_lost' })
    expect((await place.run('instance', 'explain', id)).stdout).toContain('Its worker was lost')
    expect(await containersOf(id)).not.toContain(container)
    expect(await place.run('instance', 'resume', id)).toMatchObject({ code: 0 })
    expect(storyOf(place.home, id)).toMatchObject({ status: 'completed', output: 'went on at 7', incarnation: 2 })
    expect(await containersOf(id)).toEqual([])
  })

  // verifies: R58
  test('without a checkpoint fails its instance', async () => {
    await added(PERSISTENT, { supports_resume: true })
    const id = await detached('-i', 'save=no')
    await until(place.home, id, () => hasSaved(id))
    await docker('kill', await containerOf(id))
    await until(place.home, id, (story) => story.status === 'failed')
    expect(storyOf(place.home, id).error).toMatchObject({ code: 'worker_exited' })
    expect(await containersOf(id)).toEqual([])
  })

  // verifies: R58 R58-RESUME
  test('and a lost host, as after a power failure: serve --resume-lost brings the instance to its end', async () => {
    await added(PERSISTENT, { supports_resume: true })
    const ids = [await detached(), await detached()]
    for (const id of ids) await until(place.home, id, () => hasSaved(id))
    for (const id of ids) killHost(id)
    // One container was killed, the other is gone without a trace.
    await docker('kill', await containerOf(ids[0] as string))
    await docker('rm', '-f', await containerOf(ids[1] as string))
    servers.push(await startServe(place.home, ['--resume-lost']))
    for (const id of ids) {
      await until(place.home, id, (story) => story.status === 'completed')
      const { output, history } = storyOf(place.home, id)
      expect(output).toBe('went on at 7')
      expect(history.map(({ status, reason }) => [status, reason])).toContainEqual(['paused', 'worker_lost'])
    }
    for (const id of ids) expect(await containersOf(id)).toEqual([])
  })

  // verifies: R40 R41 S-LOG-01
  test('keeps its log over hosts that are killed: each line once, in order, with those that came without a host', async () => {
    await added(SPEAKS)
    const id = await detached()
    for (const at of [90, 180, 270]) {
      const follower = place.start({}, 'instance', 'logs', id, '-f', '--raw')
      await follower.said(`stderr ${at}\n`)
      follower.kill('SIGKILL')
      await follower.ended
      const { adoptions } = storyOf(place.home, id)
      killHost(id)
      // Some lines come while no host reads.
      writeFileSync(join(instancePaths(place.home, id).project, '.resolve', `go-on-${at}`), '')
      await expect.poll(async () => await docker('logs', await containerOf(id))).toContain(`"log ${at + 20}"`)
      expect((await place.run('instance', 'message', id, '--list')).code).toBe(0)
      expect(storyOf(place.home, id).adoptions).toBeGreaterThan(adoptions)
    }
    writeFileSync(join(instancePaths(place.home, id).project, '.resolve', 'go-on-360'), '')
    expect((await place.run('instance', 'wait', id)).code).toBe(0)
    const { stdout } = await place.run('instance', 'logs', id, '--jsonl')
    const lines = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as LogLine)
    expect(lines.map(({ n }) => n)).toEqual(lines.map((_, at) => at + 1))
    const of = (source: string) => lines.filter((line) => line.source === source).map(({ text }) => text)
    const numbers = (word: string, step: number) =>
      Array.from({ length: 400 / step }, (_, at) => `${word} ${(at + 1) * step}`)
    expect(of('stderr')).toEqual(numbers('stderr', 1))
    expect(of('stdout')).toEqual(numbers('noise', 20))
    expect(of('resolver')).toEqual(numbers('log', 10))
  })
})
