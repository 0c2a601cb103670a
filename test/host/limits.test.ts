/** The limits of the calls that a test has to sit through: initialize and stop (spec, Limits; R26). */
import { beforeAll, describe, test } from 'vitest'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { fixture } from '../support/fixtures.ts'
import { created, ranToEnd, storyOf, temporaryHome, until } from '../support/instances.ts'

let home: string
beforeAll(() => {
  home = temporaryHome()
})

describe.concurrent('limits', () => {
  test('a worker that never answers initialize fails after 30 s', { timeout: 90_000 }, async ({ expect }) => {
    const began = Date.now()
    const { story } = await ranToEnd(home, fixture('never-initializes'))
    expect(story).toMatchObject({ status: 'failed', error: { code: 'initialize_failed' } })
    expect(story.error?.detail).toContain('within 30 s')
    expect(Date.now() - began).toBeGreaterThan(29_000)
  })

  test('a worker that ignores its stop and SIGTERM is killed after 30 s and 10 s: cancelled, forced (R26, R57)', {
    timeout: 90_000,
  }, async ({ expect }) => {
    const id = await created(home, fixture('ignores-stop'))
    const hosts = new HostProcess(home)
    const host = await hosts.own(id)
    await until(home, id, (story) => story.status === 'running')
    const began = Date.now()
    host?.stop('stop', 'enough', false)
    await hosts.over(id)
    await hosts.close()
    expect(storyOf(home, id).history.at(-1)).toMatchObject({ status: 'cancelled', reason: 'enough', forced: true })
    expect(Date.now() - began).toBeGreaterThan(39_000)
  })
})
