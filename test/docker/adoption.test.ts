/** kill -9 of the host loses nothing of instances in containers: the next one adopts them, and no container is left at the end (reliability F2, F4). */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installedFile } from '../../src/core/files/installation.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { containersOf, createdInDocker, describeWithDocker, removeContainersOf, testImage } from '../support/docker.ts'
import { eventsOf, statusesOf, storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { askOwner } from '../support/platforms.ts'

const image = testImage()
/** More in a soak: DOCKER_KILLS=50 DOCKER_CONTAINERS=10. */
const KILLS = Number(process.env['DOCKER_KILLS'] ?? 20)
const CONTAINERS = Number(process.env['DOCKER_CONTAINERS'] ?? 4)
let home: string
beforeAll(() => {
  home = temporaryHome()
})

function startHost(id: string): ChildProcess {
  const env = { ...process.env, RESOLVE_WORKER_IMAGE: image }
  return spawn(process.execPath, [installedFile('host.js') as string, home, id], { stdio: 'inherit', env })
}

function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else child.once('exit', () => resolve())
  })
}

async function killed(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await ended(child)
}

/** The journaled lines of the resolver equal the worker's file (I1), numbered without a gap (I2). */
function expectFaithfulJournal(id: string): void {
  const source = readFileSync(join(instancePaths(home, id).project, '.resolve/events.jsonl'), 'utf8')
  const journal = eventsOf(home, id)
  expect(journal.map((line) => line.seq)).toEqual(journal.map((_, index) => index + 1))
  expect(journal.filter((line) => line.sourceEnd !== null).map((line) => line.text)).toEqual(
    source.split('\n').filter(Boolean),
  )
}

describeWithDocker('hosts of containers that are killed', () => {
  afterAll(() => removeContainersOf(home))

  test(`${KILLS} kills over ${CONTAINERS} containers: each event once, in order, each instance to its end, none left`, {
    timeout: 180_000 + KILLS * 10_000,
  }, async () => {
    const behaviour = `for (let n = 1; n <= 600; n += 1) { me.emit('plain.tick', { n, pad: 'é'.repeat(n % 50) }); if (n % 5 === 0) await sleep(20)
        while (n === 550 && !fs.existsSync(root + '/go-on')) await sleep(20) }
      const a = await me.ask('q', '?'); me.finish({ status: 'completed', output: a.x })`
    const resolver = plainResolver(behaviour, { container: {} })
    const ids = await Promise.all(Array.from({ length: CONTAINERS }, () => createdInDocker(home, resolver)))
    for (let kills = 0; kills < KILLS; kills += 1) {
      const id = ids[Math.floor(kills / 2) % ids.length] as string
      const host = startHost(id)
      // Every second is killed once it has launched or adopted, the others somewhere on their way there.
      const { incarnation, adoptions } = storyOf(home, id)
      if (kills % 2 === 0) await until(home, id, (now) => now.incarnation + now.adoptions > incarnation + adoptions)
      await sleep(Math.random() * 500)
      await killed(host)
    }
    for (const id of ids) {
      const host = startHost(id)
      await until(home, id, (story) => story.status === 'running' || story.status === 'awaiting_input')
      writeFileSync(join(instancePaths(home, id).project, '.resolve/go-on'), '')
      await until(home, id, (story) => story.status === 'awaiting_input')
      await askOwner(home, id, (owner) => owner.answer(id, 'q', { x: id }, { actor: 'tester', via: 'cli' }))
      await ended(host)
      expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: id, incarnation: 1 })
      expect(eventsOf(home, id).filter(({ event }) => event.event_type === 'plain.tick')).toHaveLength(600)
      expectFaithfulJournal(id)
      expect(await containersOf(id)).toEqual([])
    }
    expect(ids.reduce((sum, id) => sum + storyOf(home, id).adoptions, 0)).toBeGreaterThan(5)
  })

  test('a host killed at any moment of the start leaves one container at most, and the instance comes to its end (reliability F1)', {
    timeout: 120_000,
  }, async () => {
    const behaviour = `fs.writeFileSync(root + '/ran', 'x', { flag: 'a' }); await sleep(300); me.finish({ status: 'completed' })`
    const resolver = plainResolver(behaviour, { container: { setup_commands: ['sleep 0.2'] } })
    for (let wait = 150; wait <= 1_350; wait += 150) {
      const id = await createdInDocker(home, resolver)
      // A setup of its own each time, so that it is killed there too.
      writeFileSync(join(resolver.dir, 'stamp'), String(wait))
      const first = startHost(id)
      await sleep(wait)
      await killed(first)
      expect((await containersOf(id)).length).toBeLessThanOrEqual(1)
      await ended(startHost(id))
      expect(statusesOf(home, id)).toEqual(['created', 'starting', 'running', 'completed'])
      expect(readFileSync(join(instancePaths(home, id).project, '.resolve/ran'), 'utf8')).toBe('x')
      expect(await containersOf(id)).toEqual([])
    }
  })

  test('a result that came while the instance had no host is found (R21)', async () => {
    const behaviour = `me.emit('plain.up'); while (!fs.existsSync(root + '/go-on')) await sleep(10)
      me.emit('plain.late'); me.finish({ status: 'completed', output: 'alone' }); process.exit(0)`
    const id = await createdInDocker(home, plainResolver(behaviour, { container: {} }))
    const first = startHost(id)
    await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === 'plain.up'))
    await killed(first)
    const { project } = instancePaths(home, id)
    writeFileSync(join(project, '.resolve/go-on'), '')
    await expect.poll(() => existsSync(join(project, '.resolve/status.json'))).toBe(true)
    await ended(startHost(id))
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'alone' })
    expectFaithfulJournal(id)
    expect(await containersOf(id)).toEqual([])
  })
})
