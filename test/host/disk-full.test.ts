/** A full disk refuses before it acknowledges, keeps nothing half, and lets go on when there is room again (reliability F7). */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { instancePaths, instancesDirectory, prepareHome } from '../../src/core/store/home.ts'
import { created, eventsOf, storyOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { smallTmpfs } from '../support/small-disk.ts'

const ACTOR = { actor: 'tester', via: 'cli' } as const
const disk = smallTmpfs('4m')
const canMount = disk !== undefined
const home = disk?.path ?? tmpdir()
const fillUp = () => disk?.fill()
const makeRoom = () => disk?.makeRoom()

beforeAll(() => {
  if (canMount) prepareHome(home)
})

afterAll(() => disk?.close())

test.skipIf(!canMount)('on a full disk creation is refused, and leaves no files', async () => {
  const resolver = plainResolver('')
  // Registered and asked while there is room: only the creation itself meets the full disk.
  const before = await created(home, resolver)
  fillUp()
  await expect(created(home, resolver)).rejects.toMatchObject({
    ...{ code: 'disk_full', message: expect.stringContaining('the new instance') },
  })
  expect(readdirSync(instancesDirectory(home))).toEqual([before])
  makeRoom()
})

test.skipIf(!canMount)(
  'an answer is refused while the disk is full, and accepted when there is space again',
  async () => {
    const id = await created(
      home,
      plainResolver(`const a = await me.ask('q', '?'); me.finish({ status: 'completed', output: a.x })`),
    )
    const hosts = new HostProcess(home)
    const host = await hosts.own(id)
    await until(home, id, (story) => story.status === 'awaiting_input')
    fillUp()
    expect(() => host?.answer('q', { x: 'y'.repeat(20_000) }, ACTOR)).toThrow(/No space left/)
    expect(host?.ledger.inbox.answer('q')).toBeUndefined()
    expect(readFileSync(instancePaths(home, id).journal, 'utf8')).not.toContain('\tanswer\t')
    expect(storyOf(home, id).status).toBe('awaiting_input')
    makeRoom()
    host?.answer('q', { x: 'there is room' }, ACTOR)
    await hosts.over(id)
    await hosts.close()
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'there is room' })
  },
)

test.skipIf(!canMount)(
  'events and the end of a run wait for disk space: no line is lost, doubled or torn',
  async () => {
    const outside = mkdtempSync(join(tmpdir(), 'resolve-outside-'))
    const behaviour = `me.emit('plain.before'); while (!fs.existsSync('${outside}/go')) await sleep(20)
    for (let n = 0; n < 200; n += 1) { try { me.emit('plain.tick', { n, pad: 'x'.repeat(400) }) } catch { n -= 1; await sleep(20)
      const text = fs.readFileSync(root + '/events.jsonl'); fs.truncateSync(root + '/events.jsonl', text.lastIndexOf(10) + 1) } }
    for (;;) { try { me.finish({ status: 'completed', output: 'all there' }); break } catch { await sleep(50) } }`
    const id = await created(home, plainResolver(behaviour))
    const hosts = new HostProcess(home)
    await hosts.own(id)
    await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === 'plain.before'))
    fillUp()
    writeFileSync(join(outside, 'go'), '')
    // The run neither goes on nor ends while there is no room.
    await sleep(400)
    expect(storyOf(home, id).status).toBe('running')
    makeRoom()
    await hosts.over(id)
    await hosts.close()
    const ticks = eventsOf(home, id).filter(({ event }) => event.event_type === 'plain.tick')
    expect(ticks.map(({ event }) => event.data['n'])).toEqual(Array.from({ length: 200 }, (_, n) => n))
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'all there' })
  },
)
