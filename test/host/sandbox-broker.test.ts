/** Sandboxes with a real engine, from the SDK's end of the channel to the engine and back (spec, Optional containers; R40; threats B11). */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { ResolverCalls } from '../../src/core/host/launch/resolver-calls.ts'
import { SandboxBroker, type SandboxBrokerOptions } from '../../src/core/host/resources/sandbox-broker.ts'
import { pairedChannels } from '../../src/core/rpc/channel.ts'
import { Peer } from '../../src/core/rpc/peer.ts'
import { theEngine } from '../../src/core/worker/engine/engine.ts'
import { NO_NETWORK } from '../../src/core/worker/sandbox-network.ts'
import { Sandboxes } from '../../src/sdk/instance/sandbox.ts'
import { containersOf, describeWithDocker, docker, testImage } from '../support/docker.ts'

const INSTANCE = '0b0b0b0b0b01'
const HOME = `test${process.pid}`
const TOKEN = 'f'.repeat(64)

describeWithDocker('sub-containers', () => {
  let image = ''
  let used = false
  const open: SandboxBroker[] = []

  beforeAll(() => {
    image = testImage()
  }, 300_000)
  afterEach(async () => {
    used = true
    for (const one of open.splice(0)) await one.end()
    const left = await containersOf(INSTANCE)
    if (left.length > 0) await docker('rm', '-f', ...left)
    used = false
    expect(left).toEqual([])
  })

  /** A host with its broker and a resolver with the SDK, joined by a channel. */
  function joined(changes: Partial<SandboxBrokerOptions> = {}) {
    const [hostEnd, resolverEnd] = pairedChannels()
    const calls = new ResolverCalls(hostEnd, { epoch: 1 })
    const broker = new SandboxBroker({
      owner: { instance: INSTANCE, home: HOME },
      token: TOKEN,
      epoch: 1,
      images: [image],
      network: () => NO_NETWORK,
      engine: theEngine,
      use: {
        note: () => {
          used = true
        },
        isNoted: () => used,
      },
      ...changes,
    })
    broker.serve(calls)
    open.push(broker)
    const peer = new Peer(resolverEnd)
    return { broker, peer, sandboxes: new Sandboxes(peer, TOKEN, 1) }
  }

  test('a command runs with its input, its directory and its environment, and says how it ended', async () => {
    const { sandboxes } = joined()
    const box = await sandboxes.create({ environment: { FROM: 'the box' } })
    const script = 'cat; echo "$FROM $OWN" >&2; pwd; exit 7'
    const done = await box.exec(['sh', '-c', script], { stdin: 'in ü\n', cwd: '/usr', environment: { OWN: 'own' } })
    expect(done).toEqual({
      exitCode: 7,
      stdout: 'in ü\n/usr\n',
      stderr: 'the box own\n',
      truncated: false,
      timedOut: false,
    })
    expect(await box.exec(['true'])).toMatchObject({ exitCode: 0, stdout: '' })
    await box.write('/tmp/deep/file.txt', 'written\n')
    expect((await box.exec(['cat', '/tmp/deep/file.txt'])).stdout).toBe('written\n')
    await expect(box.write('/etc/passwd', 'x')).rejects.toThrow(/can't write \/etc\/passwd/i)
    await box.remove()
    await expect(box.exec(['true'])).rejects.toThrow(/there is no sandbox/)
  }, 60_000)

  test('a sandbox has no network, no capabilities and no files of the machine, and only /tmp is writable', async () => {
    const { sandboxes } = joined()
    const box = await sandboxes.create()
    const look =
      'id -u; grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status; ls /sys/class/net; ls -d /project /var/run/docker.sock 2>&1; touch /x 2>&1; touch /tmp/y && echo fine; mknod /tmp/dev c 1 5 2>&1; env'
    const { stdout } = await box.exec(['sh', '-c', look])
    const lines = stdout.split('\n')
    expect(lines[0]).toBe('1000')
    expect(stdout).toMatch(/CapEff:\s+0{16}\n/)
    expect(stdout).toMatch(/CapBnd:\s+0{16}\n/)
    expect(stdout).toMatch(/NoNewPrivs:\s+1\n/)
    expect(stdout).toMatch(/\nlo\n/)
    expect(stdout).not.toContain('eth0')
    expect(stdout.match(/No such file/g)).toHaveLength(2)
    expect(stdout).toMatch(/Read-only file system/)
    expect(stdout).toMatch(/fine/)
    expect(stdout).toMatch(/mknod.*not permitted/)
    expect(stdout).not.toContain(TOKEN)
    const [id] = await containersOf(INSTANCE)
    const seen = JSON.parse(await docker('inspect', id as string))[0] as {
      HostConfig: Record<string, unknown>
      Mounts: unknown[]
    }
    expect(seen.Mounts).toEqual([])
    expect(seen.HostConfig).toMatchObject({
      Memory: 2 ** 31,
      MemorySwap: 2 ** 31,
      PidsLimit: 256,
      NanoCpus: 1e9,
      NetworkMode: 'none',
      Binds: null,
    })
    expect(JSON.stringify(seen)).not.toContain(TOKEN)
  }, 60_000)

  test('at most four sandboxes exist at once; a removed one makes room for another', async () => {
    const { sandboxes } = joined()
    const made = await Promise.allSettled(Array.from({ length: 6 }, () => sandboxes.create()))
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
    const reasons = made.filter((one) => one.status === 'rejected').map((one) => String(one.reason))
    for (const reason of reasons) expect(reason).toMatch(/limit is 4/)
    const first = made.find((one) => one.status === 'fulfilled')
    if (first?.status === 'fulfilled') await first.value.remove()
    expect((await sandboxes.create()).id).toMatch(/^[0-9a-f]{12}$/)
    expect(await containersOf(INSTANCE)).toHaveLength(4)
  }, 90_000)

  test('a command over its time limit is ended with its child processes, and the sandbox goes on', async () => {
    const { sandboxes } = joined()
    const box = await sandboxes.create()
    const began = Date.now()
    const done = await box.exec(['sh', '-c', 'echo before; (setsid sleep 300 &) ; sleep 300; echo after'], {
      timeoutMs: 1_000,
    })
    expect(done).toMatchObject({ exitCode: null, timedOut: true, stdout: 'before\n' })
    expect(Date.now() - began).toBeLessThan(20_000)
    const { stdout } = await box.exec(['sh', '-c', 'for p in /proc/[0-9]*/cmdline; do tr "\\0" " " <$p; echo; done'])
    expect(stdout).not.toContain('sleep 300')
  }, 60_000)

  test('of too much output only the end is kept, and the result says so', async () => {
    const { sandboxes } = joined()
    const box = await sandboxes.create()
    const done = await box.exec(['sh', '-c', 'head -c 20000000 /dev/zero | tr "\\0" x; echo the end'])
    expect(done).toMatchObject({ exitCode: 0, truncated: true })
    expect(done.stdout).toHaveLength(256 * 1024)
    expect(done.stdout.endsWith('xthe end\n')).toBe(true)
  }, 60_000)

  test('a command that uses all memory is ended, and its sandbox and other containers go on', async () => {
    const { sandboxes } = joined()
    const box = await sandboxes.create()
    const done = await box.exec(['node', '-e', 'const all = []; for (;;) all.push(Buffer.alloc(64e6, 1))'])
    expect(done.exitCode).not.toBe(0)
    expect(done.timedOut).toBe(false)
    expect((await box.exec(['echo', 'still here'])).stdout).toBe('still here\n')
  }, 120_000)

  test('a wrong or missing token, a missing epoch and an image that is not allowed are refused, and create no container', async () => {
    const { peer, sandboxes } = joined()
    const create = (params: Record<string, unknown>) =>
      peer.call('platform.createSubContainer', { key: 'abcdefgh', epoch: 1, ...params }, 5_000)
    for (const token of [undefined, '', 'f'.repeat(63), 'e'.repeat(64), null, ['f'.repeat(64)]]) {
      await expect(create({ token })).rejects.toThrow(/token is not/)
    }
    await expect(create({ token: TOKEN, epoch: undefined })).rejects.toThrow(/"epoch" is missing/)
    await expect(sandboxes.create({ image: 'debian:12' })).rejects.toThrow(/not one an operator allows/)
    await expect(create({ token: TOKEN, privileged: true })).rejects.toThrow(/is not an option/)
    expect(await containersOf(INSTANCE)).toEqual([])
  })

  test('a container that is not a sandbox of this instance can be neither used nor removed', async () => {
    const foreign = await docker(
      'run',
      '-d',
      '--network',
      'none',
      '--label',
      'resolve.instance=0b0b0b0b0b02',
      '--label',
      `resolve.home=${HOME}`,
      '--label',
      'resolve.role=sandbox',
      image,
      'sleep',
      '60',
    )
    const worker = await docker(
      'run',
      '-d',
      '--network',
      'none',
      '--label',
      `resolve.instance=${INSTANCE}`,
      '--label',
      `resolve.home=${HOME}`,
      '--label',
      'resolve.role=worker',
      image,
      'sleep',
      '60',
    )
    try {
      const { peer } = joined()
      for (const id of [foreign, worker]) {
        const params = { token: TOKEN, epoch: 1, container_id: id.slice(0, 12) }
        await expect(peer.call('platform.exec', { ...params, command: ['true'] }, 10_000)).rejects.toThrow(
          /there is no sandbox/,
        )
        expect(await peer.call('platform.removeSubContainer', params, 10_000)).toEqual({ removed: false })
      }
      expect(await docker('inspect', '--format', '{{.State.Running}}', foreign)).toBe('true')
      expect(await docker('inspect', '--format', '{{.State.Running}}', worker)).toBe('true')
    } finally {
      await docker('rm', '-f', foreign, worker)
    }
  }, 60_000)

  test('a call to an earlier host is not carried out; a pending creation is sent again to the next host, a command is not', async () => {
    const first = joined()
    const box = await first.sandboxes.create()
    const running = box.exec(['sleep', '60']).catch((error: Error) => error)
    await expect.poll(() => docker('top', box.id)).toContain('sleep 60')
    first.broker.close()
    // The next host hears all that was ever said to the first, and answers none of it.
    const next = joined({ epoch: 2 })
    let answered = 0
    for (const method of ['platform.createSubContainer', 'platform.exec', 'platform.removeSubContainer']) {
      const old = { token: TOKEN, epoch: 1, key: 'abcdefgh', container_id: box.id, command: ['true'] }
      void next.peer.call(method, old, 0).then(
        () => {
          answered += 1
        },
        () => {
          answered += 1
        },
      )
    }
    // An answer would be here at once.
    await sleep(300)
    expect(answered).toBe(0)
    expect(await containersOf(INSTANCE)).toHaveLength(1)
    first.sandboxes.adopted(2)
    expect(await running).toMatchObject({ code: 'sandbox_lost' })
    // The sandbox itself is still there for the new host.
    const again = new Sandboxes(next.peer, TOKEN, 2)
    expect((await (await again.create()).exec(['echo', 'on'])).stdout).toBe('on\n')
    expect(await containersOf(INSTANCE)).toHaveLength(2)
  }, 60_000)

  test('two calls with one key make one sandbox', async () => {
    const { peer } = joined()
    const wish = { token: TOKEN, epoch: 1, key: 'the-same-key' }
    const first = await peer.call('platform.createSubContainer', wish, 30_000)
    expect(await peer.call('platform.createSubContainer', wish, 30_000)).toEqual(first)
    expect(await containersOf(INSTANCE)).toHaveLength(1)
  }, 60_000)

  test('at the end of the instance all sandboxes are removed, their commands ended, and further calls refused', async () => {
    const { broker, sandboxes } = joined()
    const boxes = [await sandboxes.create(), await sandboxes.create()]
    void boxes[0]?.exec(['sleep', '60']).catch(() => undefined)
    await sleep(300)
    await broker.end()
    expect(await containersOf(INSTANCE)).toEqual([])
    await expect(sandboxes.create()).rejects.toThrow(/is ending/)
  }, 60_000)
})

test('without an engine a call is refused with the reason, and the host goes on', async () => {
  const [hostEnd, resolverEnd] = pairedChannels()
  const { Engine } = await import('../../src/core/worker/engine/engine.ts')
  const broker = new SandboxBroker({
    owner: { instance: INSTANCE, home: HOME },
    token: TOKEN,
    epoch: 1,
    images: ['any'],
    network: () => NO_NETWORK,
    engine: () => new Engine('/nowhere/docker.sock'),
    use: { note: () => undefined, isNoted: () => true },
  })
  broker.serve(new ResolverCalls(hostEnd, { epoch: 1 }))
  const sandboxes = new Sandboxes(new Peer(resolverEnd), TOKEN, 1)
  await expect(sandboxes.create()).rejects.toThrow(/Can't reach Docker/)
  await broker.end()
})
