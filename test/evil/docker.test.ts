/** Every mode of the evil resolver in a container: its run ends as it must, and no other instance is harmed (reliability, The evil resolver). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { containersOf, describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { Arena } from '../support/evil-arena.ts'
import { type EvilMode, endure, evilModes, modesOfContainers } from '../support/evil-modes.ts'
import { eventsOf, temporaryHome } from '../support/instances.ts'

if (process.env['EVIL_IN_DOCKER'] === '1') process.env['RESOLVE_WORKER_IMAGE'] = testImage()

/** Where a container makes a difference. */
const inside: Readonly<Record<string, Partial<EvilMode>>> = {
  'hard-link': {
    also: ({ id }, { home }) => {
      const linked = eventsOf(home, id).find(({ event }) => event.event_type === 'evil.linked')
      expect(['EXDEV', 'EPERM']).toContain(linked?.event.data['refused'])
    },
  },
  mknod: {
    also: ({ id }, { home }) => {
      const made = eventsOf(home, id).find(({ event }) => event.event_type === 'evil.made')
      expect(made?.event.data).toEqual({ made: 0 })
    },
  },
}

const foreign = `resolve-0123456789ab-${process.pid}`

/** How many containers run a worker of each instance. */
async function workersNow(): Promise<Map<string, number>> {
  const format = '{{.Label "resolve.instance"}}'
  const listed = await docker('ps', '--filter', 'label=resolve.role=worker', '--format', format)
  const counts = new Map<string, number>()
  for (const id of listed.split('\n').filter(Boolean)) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

/** Containers, networks and volumes of an instance. */
async function leftOf(id: string): Promise<string[]> {
  const filter = ['-q', '--filter', `label=resolve.instance=${id}`]
  const others = [await docker('network', 'ls', ...filter), await docker('volume', 'ls', ...filter)]
  return [...(await containersOf(id)), ...others.join('\n').split('\n').filter(Boolean)]
}

/** It takes processes and memory that tests beside it need: EVIL_IN_DOCKER=1 runs it, alone. */
const describeAlone = process.env['EVIL_IN_DOCKER'] === '1' ? describeWithDocker : describe.skip

describeAlone('the evil resolver', () => {
  const arena = new Arena(temporaryHome(), {
    executor: 'docker',
    workers: workersNow,
    left: leftOf,
    foreign: async () => ({
      'a container': await docker('inspect', '--format', '{{.State.Status}} {{.RestartCount}}', foreign).catch(
        () => 'gone',
      ),
      'a network': await docker('network', 'ls', '-q', '--filter', `name=${foreign}`),
    }),
  })
  beforeAll(async () => {
    // Named as ours are, with none of our labels.
    await docker('run', '-d', '--network', 'none', '--name', foreign, testImage(), 'sleep', '3600')
    await docker('network', 'create', foreign)
    await arena.open()
  }, 60_000)
  afterAll(async () => {
    try {
      await arena.close()
    } finally {
      await docker('rm', '-f', foreign)
      await docker('network', 'rm', foreign)
      await removeContainersOf(arena.home)
    }
  })

  const modes = [...evilModes, ...modesOfContainers].map((evil) => ({ ...evil, ...inside[evil.mode] }))

  describe.concurrent('in a container', { timeout: 90_000 }, () => {
    for (const evil of modes.filter(({ isAlone }) => !isAlone)) test(evil.mode, () => endure(arena, evil))
  })

  describe('alone in a container', { timeout: 90_000 }, () => {
    for (const evil of modes.filter(({ isAlone }) => isAlone)) test(evil.mode, () => endure(arena, evil))
  })
})
