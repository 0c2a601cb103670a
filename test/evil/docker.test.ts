/** Every mode of the evil resolver in a container: its run ends as it must, and nobody else is harmed (threats 5, 6). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { containersOf, describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { Arena } from '../support/evil-arena.ts'
import { type EvilMode, endure, evilModes } from '../support/evil-modes.ts'
import { eventsOf, temporaryHome } from '../support/instances.ts'

if (process.env['EVIL_IN_DOCKER'] === '1') process.env['RESOLVE_WORKER_IMAGE'] = testImage()

/** The limit of memory is lowered under the running worker: this machine need not have 8 GiB to lose. */
const starve: EvilMode['act'] = async ({ id, said, call }) => {
  await said('evil.up')
  const [container] = await containersOf(id)
  await docker('update', '--memory', '200m', '--memory-swap', '200m', container as string)
  await call('POST', '/messages', { message_type: 'note', payload: { text: 'go' } })
}

const ofContainers: readonly EvilMode[] = [
  { mode: 'oom-child', act: starve, also: ({ output }) => expect(output).toBe('SIGKILL') },
  { mode: 'oom-main', act: starve, ends: 'failed out_of_memory' },
]

/** Where a container makes a difference. */
const inside: Readonly<Record<string, Partial<EvilMode>>> = {
  mknod: {
    also: ({ id }, { home }) => {
      const made = eventsOf(home, id).find(({ event }) => event.event_type === 'evil.made')
      expect(made?.event.data).toEqual({ made: 0 })
    },
  },
}

/** It takes processes and memory that tests beside it need: EVIL_IN_DOCKER=1 runs it, alone. */
const describeAlone = process.env['EVIL_IN_DOCKER'] === '1' ? describeWithDocker : describe.skip

describeAlone('the evil resolver', () => {
  const arena = new Arena(temporaryHome(), 'docker', containersOf)
  beforeAll(() => arena.open())
  afterAll(async () => {
    try {
      await arena.close()
    } finally {
      await removeContainersOf(arena.home)
    }
  })

  const modes = [...evilModes, ...ofContainers].map((evil) => ({ ...evil, ...inside[evil.mode] }))

  // A question that kills who answers it may end others that were asked of it: these modes go first, alone.
  describe('asked in a container', { timeout: 60_000 }, () => {
    for (const evil of modes.filter(({ refusal }) => refusal !== undefined)) test(evil.mode, () => endure(arena, evil))
  })

  describe.concurrent('run in a container', { timeout: 90_000 }, () => {
    for (const evil of modes.filter(({ refusal }) => refusal === undefined)) test(evil.mode, () => endure(arena, evil))
  })
})
