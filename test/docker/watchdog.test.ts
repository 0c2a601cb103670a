/** What the watchdog sees of a container, and memory that runs out in a child or in the resolver itself (spec, Limits; threats D7; reliability F20). */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { refuseRequests } from '../../src/core/host/process/control-socket.ts'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import {
  containersOf,
  createdInDocker,
  describeWithDocker,
  docker,
  removeContainersOf,
  testImage,
} from '../support/docker.ts'
import { eventsOf, storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

const ACTOR = { actor: 'tester', via: 'cli' } as const
const WAITS = `const { spawn } = await import('node:child_process'); me.emit('plain.up')
  const told = async (count) => { while (me.messages.length < count) await sleep(20) }
  await told(1)`

describeWithDocker('the watchdog of a container', { timeout: 90_000 }, () => {
  let home = ''
  beforeAll(() => {
    home = temporaryHome()
  })
  afterAll(() => removeContainersOf(home))

  const warnings = (id: string) =>
    eventsOf(home, id)
      .filter(({ event }) => event.event_type === 'platform.watchdog.warning')
      .map(({ event }) => event.data)

  /** Up, with less memory than the spec's 8 GiB: this machine need not have that much to lose. */
  async function up(behaviour: string, memory?: string) {
    const id = await createdInDocker(home, plainResolver(`${WAITS}\n${behaviour}`, { container: {} }))
    const hosts = new HostProcess(home, refuseRequests, { watchdogMs: 200 })
    await hosts.own(id)
    await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === 'plain.up'))
    const [container] = await containersOf(id)
    if (memory !== undefined) await docker('update', '--memory', memory, '--memory-swap', memory, container as string)
    return { id, hosts, tell: () => hosts.get(id)?.message('note', { text: 'go' }, ACTOR) }
  }

  test('more than 200 processes cause one warning, and the run goes on (S-LIM-03)', async () => {
    const { id, hosts, tell } = await up(`const all = Array.from({ length: 195 }, () => spawn('sleep', ['60']))
      await told(2); me.finish({ status: 'completed' })`)
    await tell()
    await until(home, id, () => warnings(id).length > 0)
    await tell()
    await hosts.over(id)
    await hosts.close()
    expect(storyOf(home, id).status).toBe('completed')
    expect(warnings(id)).toEqual([{ kind: 'processes', value: expect.any(Number), limit: 256 }])
    expect(warnings(id)[0]?.['value']).toBeLessThanOrEqual(256)
  })

  test('a child that ran out of memory is reported, and the resolver goes on to its end', async () => {
    const { id, hosts, tell } = await up(
      `const child = spawn('node', ['-e', 'const all = []; for (;;) all.push(Buffer.alloc(16e6, 1))'])
      const how = await new Promise((done) => child.on('exit', (code, signal) => done(signal)))
      await told(2); me.finish({ status: 'completed', output: 'the child ended on ' + how })`,
      '300m',
    )
    await tell()
    await until(home, id, () => warnings(id).some(({ kind }) => kind === 'oom'))
    await tell()
    await hosts.over(id)
    await hosts.close()
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'the child ended on SIGKILL', error: null })
    expect(warnings(id).filter(({ kind }) => kind === 'oom')).toHaveLength(1)
  })

  test('a resolver that ran out of memory itself is failed with that reason', async () => {
    const { id, hosts, tell } = await up(
      `const all = []; for (;;) { all.push(Buffer.alloc(16e6, 1)); await sleep(1) }`,
      '300m',
    )
    await tell()
    await hosts.over(id)
    await hosts.close()
    const { status, error } = storyOf(home, id)
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'out_of_memory' })
    expect(error?.detail).toContain('for want of memory')
  })
})
