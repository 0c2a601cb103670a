/** An instance's own network with a real engine: what a container in it reaches, and what is left when it is removed (threats B8, D11, WEB-3). */
import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Egress, type EgressPlan, openEgress } from '../../src/core/worker/egress/egress.ts'
import type { Denial } from '../../src/core/worker/egress/egress-reports.ts'
import { networkedInstances, openNetwork, removeNetwork } from '../../src/core/worker/egress/network.ts'
import { theEngine } from '../../src/core/worker/engine/engine.ts'
import { describeWithDocker, docker, testImage } from '../support/docker.ts'

const run = promisify(execFile)
const HOME = `test${process.pid}`
/** Listens on all addresses of this machine, as careless services do. */
const web = createServer((message, response) => response.end(`hello from ${message.headers.host}`))
const used = ['0a0a0a0a0a01', '0a0a0a0a0a02', '0a0a0a0a0a03']
const owner = (at: number) => ({ instance: used[at] as string, home: HOME })

describeWithDocker('an allowlist', () => {
  let image = ''
  let port = 0
  let denials: Denial[] = []
  const open: Egress[] = []

  beforeAll(async () => {
    image = testImage()
    await new Promise<void>((done) => web.listen(0, '0.0.0.0', done))
    port = (web.address() as AddressInfo).port
  }, 300_000)
  afterEach(async () => {
    for (const egress of open.splice(0)) await egress.close()
    for (const at of used.keys()) await removeNetwork(theEngine(), owner(at))
    denials = []
  })
  afterAll(() => {
    web.close()
  })

  async function opened(at: number, changes: Partial<EgressPlan> = {}): Promise<Egress> {
    const egress = await openEgress(theEngine(), {
      ...owner(at),
      network: 'allowlist',
      egress: [`good.example.org:${port}`],
      onDenied: (denial) => denials.push(denial),
      resolve: async () => ['127.0.0.1'],
      mayReach: () => true,
      ...changes,
    })
    open.push(egress)
    return egress
  }

  /** What a program in a container prints; its environment and network as the driver would set them. */
  async function inside(egress: Egress, program: string, environment = egress.environment): Promise<string> {
    const set = Object.entries(environment).flatMap(([name, value]) => ['-e', `${name}=${value}`])
    const options = egress.dnsOptions.flatMap((option) => ['--dns-option', option])
    const dns = [...egress.dns.flatMap((address) => ['--dns', address]), ...options]
    const flags = [
      '--rm',
      '--label',
      `resolve.home=${HOME}`,
      '--network',
      egress.networkMode,
      '--cap-drop',
      'ALL',
      '--user',
      '1000:1000',
    ]
    return await docker(
      'run',
      ...flags,
      ...dns,
      ...set,
      image,
      'node',
      '-e',
      `(async () => { ${program} })().catch((error) => console.log(error.cause?.message ?? error.message))`,
    )
  }

  const fetches = (url: string) =>
    `require('node:http').get('${url}', { timeout: 5000 }, (r) => r.on('data', (b) => console.log(r.statusCode, String(b).trim()))).on('error', (e) => console.log(e.code)).on('timeout', () => process.exit(1))`

  const tunnels = (url: string) =>
    `const r = await fetch('${url}', { signal: AbortSignal.timeout(5000) }); console.log(r.status, (await r.text()).trim())`

  test('a listed host is reached through the proxy, any other is refused and reported', async () => {
    const egress = await opened(0)
    expect(await inside(egress, fetches(`http://good.example.org:${port}/`))).toBe(
      `200 hello from good.example.org:${port}`,
    )
    expect(await inside(egress, fetches('http://evil.example.org/'))).toMatch(/^403 .*evil\.example\.org:80/)
    expect(await inside(egress, fetches('http://169.254.169.254/latest/meta-data'))).toMatch(/^400 /)
    expect(await inside(egress, tunnels(`http://good.example.org:${port}/`))).toContain('200 hello')
    expect(await inside(egress, tunnels('http://worse.example.org/'))).not.toContain('hello')
    expect(denials).toEqual([
      { host: 'evil.example.org', port: 80, reason: 'not_allowed', count: 1 },
      { host: '169.254.169.254', port: 0, reason: 'malformed', count: 1 },
      { host: 'worse.example.org', port: 80, reason: 'not_allowed', count: 1 },
    ])
  }, 60_000)

  test('without the proxy no address, name server or service of this machine is reachable', async () => {
    const egress = await opened(0)
    expect(egress.guarded).toBe(true)
    const gateway = egress.dns[0] as string
    const tries = `const net = require('node:net')
      const go = (host, port) => new Promise((done) => { const s = net.connect({ host, port, timeout: 3000 }, () => { done('open'); s.destroy() }); s.on('error', (e) => done(e.code)); s.on('timeout', () => { done('silent'); s.destroy() }) })
      const names = await require('node:dns').promises.lookup('example.org').then(() => 'found', (e) => e.code)
      console.log(JSON.stringify([await go('${gateway}', ${port}), await go('${gateway}', 22), await go('172.17.0.1', ${port}), await go('1.1.1.1', 443), await go('169.254.169.254', 80), names]))`
    const said = JSON.parse(await inside(egress, tries, {})) as string[]
    expect(said).toHaveLength(6)
    for (const one of said) expect(one).not.toMatch(/open|found/)
  }, 60_000)

  test('a worker of another instance, on its own network or none of ours, can’t use the proxy', async () => {
    const first = await opened(0)
    const second = await opened(1)
    const proxy = first.environment['HTTP_PROXY'] as string
    const asks = fetches(`http://good.example.org:${port}/`)
    const foreign = { ...first.environment, HTTP_PROXY: proxy, http_proxy: proxy }
    expect(await inside(second, asks, foreign)).not.toContain('hello')
    const bridge = {
      networkMode: 'bridge',
      dns: [],
      dnsOptions: [],
      environment: {},
      guarded: null,
      close: async () => undefined,
    }
    expect(await inside(bridge, asks, foreign)).not.toContain('hello')
    expect(await inside(first, asks)).toContain('hello')
  }, 60_000)

  test('the next host opens the same egress at the same address', async () => {
    const first = await opened(0)
    const before = { ...first }
    await first.close()
    const again = await opened(0)
    expect(again.environment).toEqual(before.environment)
    expect(again.networkMode).toBe(before.networkMode)
    expect(await inside(again, fetches(`http://good.example.org:${port}/`))).toContain('hello')
  }, 60_000)

  test('each instance has its own /28 of the range, made at once or one after the other', async () => {
    const networks = await Promise.all([0, 1, 2].map((at) => openNetwork(theEngine(), owner(at))))
    expect(new Set(networks.map(({ subnet }) => subnet)).size).toBe(3)
    for (const { subnet, gateway } of networks) {
      expect(subnet).toMatch(/^10\.201\.\d+\.\d+\/28$/)
      expect(gateway).toMatch(/^10\.201\./)
    }
    expect(await openNetwork(theEngine(), owner(1))).toEqual(networks[1])
    expect((await networkedInstances(theEngine(), HOME)).toSorted()).toEqual(used)
  })

  test('removal deletes the network and its firewall rules, nothing of others, and may be repeated', async () => {
    await openNetwork(theEngine(), owner(0))
    const foreign = `resolve-${used[0]}-egressx`
    await docker('network', 'create', '--internal', '--label', `resolve.home=${HOME}`, foreign)
    try {
      expect((await run('/usr/sbin/iptables', ['-S', 'INPUT'])).stdout.match(/rs0a0a0a0a0a01/g)).toHaveLength(2)
      await removeNetwork(theEngine(), owner(0))
      await removeNetwork(theEngine(), owner(0))
      expect(await docker('network', 'ls', '--format', '{{.Name}}')).not.toContain(`resolve-${used[0]}-egress\n`)
      expect(await networkedInstances(theEngine(), HOME)).toEqual([])
      expect((await run('/usr/sbin/iptables', ['-S', 'INPUT'])).stdout).not.toContain('rs0a0a0a0a0a01')
      expect(await docker('network', 'inspect', '--format', '{{.Name}}', foreign)).toBe(foreign)
    } finally {
      await docker('network', 'rm', foreign)
    }
  })

  test('none means no network', async () => {
    expect(await opened(0, { network: 'none' })).toMatchObject({ networkMode: 'none', environment: {}, guarded: null })
    expect(await networkedInstances(theEngine(), HOME)).toEqual([])
  })
})
