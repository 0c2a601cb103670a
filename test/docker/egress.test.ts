/** A resolver in a container on an allowlist, host after host, and on no network at all (threats B8; docs/manifest.md, The network). */
import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { refuseRequests } from '../../src/core/host/process/control-socket.ts'
import { HostProcess } from '../../src/core/host/process/host-process.ts'
import { startReaper } from '../../src/core/host/process/reaper.ts'
import { openNetwork, removeNetwork } from '../../src/core/worker/egress/network.ts'
import { homeLabel } from '../../src/core/worker/engine/container-places.ts'
import { theEngine } from '../../src/core/worker/engine/engine.ts'
import { newHome } from '../commands/cli.ts'
import { createdInDocker, describeWithDocker, docker, removeContainersOf, testImage } from '../support/docker.ts'
import { eventsOf, storyOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

const web = createServer((message, response) => response.end(`hello from ${message.headers.host}`))
const GET = `const get = (url) => new Promise((done) => import('node:http').then(({ get }) => get(url, { timeout: 20000 }, (r) => { let body = ''; r.on('data', (b) => { body += b }); r.on('end', () => done(r.statusCode + ' ' + body.trim())) }).on('error', (e) => done('error ' + e.code)).on('timeout', () => done('silent'))))`

describeWithDocker('the egress of a container', { timeout: 90_000 }, () => {
  let home = ''
  let port = 0
  const egress = { resolve: async () => ['127.0.0.1'], mayReach: () => true }
  const hosts = () => new HostProcess(home, refuseRequests, { egress })

  beforeAll(async () => {
    home = temporaryHome()
    await new Promise<void>((done) => web.listen(0, '127.0.0.1', done))
    port = (web.address() as AddressInfo).port
  })
  afterAll(async () => {
    web.close()
    await removeContainersOf(home)
  })

  const networks = async (id: string) => await docker('network', 'ls', '-q', '--filter', `label=resolve.instance=${id}`)
  const allowed = (behaviour: string) =>
    plainResolver(`${GET}; ${behaviour}`, {
      container: { network: 'allowlist', egress: [`good.example.org:${port}`] },
    })

  test('an allowlist permits the hosts it names, reports refused ones, and is removed with the instance', async () => {
    const resolver = allowed(`me.finish({ status: 'completed', output: JSON.stringify([
      await get('http://good.example.org:${port}/x'), await get('http://evil.example.org/'), await get('http://evil.example.org/'), await get('http://169.254.169.254/latest') ]) })`)
    const id = await createdInDocker(home, resolver)
    const host = hosts()
    await host.own(id)
    await host.over(id)
    await host.close()
    const story = storyOf(home, id)
    expect(story.error).toBe(null)
    const [good, evil, again, metadata] = JSON.parse(story.output as string) as string[]
    expect(good).toBe(`200 hello from good.example.org:${port}`)
    expect(evil).toMatch(/^403 /)
    expect(again).toMatch(/^403 /)
    expect(metadata).toMatch(/^400 /)
    const denied = eventsOf(home, id).filter(({ event }) => event.event_type === 'platform.egress.denied')
    expect(denied.map(({ event }) => event.data)).toEqual([
      { host: 'evil.example.org', port: 80, reason: 'not_allowed', count: 1 },
      { host: '169.254.169.254', port: 0, reason: 'malformed', count: 1 },
      { host: 'evil.example.org', port: 80, reason: 'not_allowed', count: 1 },
    ])
    expect(await networks(id)).toBe('')
  })

  test('the next host opens the egress again for the worker it adopts', async () => {
    const resolver = allowed(`me.emit('plain.first', { said: await get('http://good.example.org:${port}/') })
      while (!me.messages.length) await sleep(50)
      let said = ''
      for (let round = 0; round < 50 && !said.startsWith('200'); round += 1) { said = await get('http://good.example.org:${port}/'); await sleep(100) }
      me.finish({ status: 'completed', output: said })`)
    const id = await createdInDocker(home, resolver)
    const first = hosts()
    await first.own(id)
    await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === 'plain.first'))
    await first.close()
    expect(await networks(id)).not.toBe('')
    const next = hosts()
    await next.own(id)
    await until(home, id, () => eventsOf(home, id).some(({ event }) => event.event_type === 'platform.worker.adopted'))
    await next.get(id)?.message('note', { text: 'go on' }, { actor: 'tester', via: 'cli' })
    await next.over(id)
    await next.close()
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: `200 hello from good.example.org:${port}` })
    expect(await networks(id)).toBe('')
  })

  test('a network that a dead host left is removed by the next one, that of another home is not', async () => {
    const engine = theEngine()
    const ended = await createdInDocker(home, plainResolver(`me.finish({ status: 'completed' })`, { container: {} }))
    const host = hosts()
    await host.own(ended)
    await host.over(ended)
    const alive = await createdInDocker(home, allowed(`await me.stopped; me.finish({ status: 'cancelled' })`))
    await host.own(alive)
    await until(home, alive, (story) => story.status === 'running')
    const left = { instance: ended, home: homeLabel(home) }
    const foreign = { instance: '0c0c0c0c0c01', home: 'elsewhere' }
    await openNetwork(engine, left)
    await openNetwork(engine, foreign)
    const stop = startReaper(home, 200, 0)
    try {
      const deadline = Date.now() + 20_000
      while ((await networks(ended)) !== '' && Date.now() < deadline) await sleep(100)
      expect(await networks(ended)).toBe('')
      expect(await networks(alive)).not.toBe('')
      expect(await networks(foreign.instance)).not.toBe('')
    } finally {
      stop()
      await removeNetwork(engine, foreign)
      host.get(alive)?.stop('stop', 'enough', true)
      await host.over(alive)
      await host.close()
    }
    expect(await networks(alive)).toBe('')
  })

  test('a refused connection is told in the run and in explain, with the line of the manifest that would allow it', async () => {
    const cli = newHome()
    try {
      const resolver = plainResolver(
        `${GET}; me.finish({ status: 'completed', output: await get('http://evil.example.org/') + await get('http://evil.example.org:8443/') })`,
        { name: 'refused', container: { network: 'allowlist', egress: ['good.example.org'] } },
      )
      chmodSync(resolver.dir, 0o755)
      expect((await cli.run('resolver', 'add', resolver.dir)).code).toBe(0)
      const ran = await cli.run('run', 'refused')
      expect(ran.code, ran.stderr).toBe(0)
      const told = [
        'network: evil.example.org:80 was refused; to allow it: add "evil.example.org" to "container": {"egress": […]} of manifest.json',
        'network: evil.example.org:8443 was refused; to allow it: add "evil.example.org:8443" to "container": {"egress": […]} of manifest.json',
      ]
      for (const line of told) expect(ran.stderr).toContain(line)
      const listed = await cli.run('instance', 'list', '--all', '--json')
      const [{ instance_id: id }] = (JSON.parse(listed.stdout) as { instances: [{ instance_id: string }] }).instances
      const json = await cli.run('instance', 'explain', id, '--json')
      const denied = { host: 'evil.example.org', reason: 'not_allowed', count: 1 }
      expect(JSON.parse(json.stdout)).toMatchObject({
        denied: [
          { ...denied, port: 80, told: told[0] },
          { ...denied, port: 8443, told: told[1] },
        ],
      })
      const { stdout } = await cli.run('instance', 'explain', id)
      for (const line of told) expect(stdout).toContain(line)
    } finally {
      await cli.end()
      await removeContainersOf(cli.home)
    }
  })

  test('on an open network a worker reaches neither this machine nor metadata, under any host; nothing of it is left (reliability F16)', async () => {
    const cli = newHome()
    const open = createServer((_, response) => response.end('hello'))
    await new Promise<void>((done) => open.listen(0, '0.0.0.0', done))
    const { port: here } = open.address() as AddressInfo
    const address = Object.values(networkInterfaces())
      .flatMap((infos) => infos ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address
    const rules = () => execFileSync('/usr/sbin/iptables', ['-w', '-S'], { encoding: 'utf8' })
    try {
      const resolver = plainResolver(
        `${GET}; const tries = async () => [await get('http://${address}:${here}/'), await get('http://169.254.169.254/latest')].join(' ')
        me.emit('plain.first', { said: await tries() })
        while (!me.messages.length) await sleep(50)
        me.finish({ status: 'completed', output: await tries() })`,
        { name: 'open', container: {} },
      )
      chmodSync(resolver.dir, 0o755)
      expect((await cli.run('resolver', 'add', resolver.dir)).code).toBe(0)
      const run = cli.start({}, 'run', 'open', '--jsonl')
      await run.said('plain.first')
      run.kill('SIGKILL')
      const { stdout } = await run.ended
      expect(stdout).toContain('error ECONNREFUSED error ECONNREFUSED')
      const id = /"instance_id":"([0-9a-f]+)"/.exec(stdout)?.[1] as string
      expect(rules()).toContain(`RESOLVE-rs${id}-M`)
      // As after a start of the machine's firewall; the next host closes it again.
      execFileSync('/usr/sbin/iptables', ['-w', '-D', 'INPUT', '-i', `rs${id}`, '-j', `RESOLVE-rs${id}`])
      const watch = cli.start({}, 'instance', 'watch', id, '--json')
      while (!rules().includes(`-A INPUT -i rs${id}`)) await sleep(50)
      expect((await cli.run('instance', 'message', id, 'note', '-i', 'text=x')).code).toBe(0)
      expect(JSON.parse((await watch.ended).stdout)).toMatchObject({ output: 'error ECONNREFUSED error ECONNREFUSED' })
      expect(await networks(id)).toBe('')
      expect(rules()).not.toContain(id)
    } finally {
      open.close()
      await cli.end()
      await removeContainersOf(cli.home)
    }
  })

  test('with network none there is no egress', async () => {
    const resolver = plainResolver(
      `me.finish({ status: 'completed', output: me.fs.readdirSync('/sys/class/net').join(' ') })`,
      { container: { network: 'none' } },
    )
    const id = await createdInDocker(home, resolver)
    const host = hosts()
    await host.own(id)
    await host.over(id)
    await host.close()
    expect(storyOf(home, id)).toMatchObject({ status: 'completed', output: 'lo' })
  })
})
