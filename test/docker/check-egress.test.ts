/** The network of the build of a reality check, with a real engine: what a container in it reaches, and who removes it (threats B8; reliability F16). */
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startReaper } from '../../src/core/host/process/reaper.ts'
import { type CheckEgress, type CheckEgressPlan, openCheckEgress } from '../../src/core/worker/egress/check-egress.ts'
import type { Denial } from '../../src/core/worker/egress/egress-reports.ts'
import { openNetwork, removeNetwork } from '../../src/core/worker/egress/network.ts'
import { homeLabel } from '../../src/core/worker/engine/container-places.ts'
import { theEngine } from '../../src/core/worker/engine/engine.ts'
import { describeWithDocker, docker, testImage } from '../support/docker.ts'
import { temporaryHome } from '../support/instances.ts'

/** A registry of the operator, on this machine. */
const registry = createServer((message, response) => response.end(`package from ${message.headers.host}`))
const INSTANCE = '0c0e0c0e0c01'

describeWithDocker('the network of a check', { timeout: 90_000 }, () => {
  let home = ''
  let image = ''
  let port = 0
  const denials: Denial[] = []
  const open: CheckEgress[] = []
  const owner = () => ({ instance: INSTANCE, home: homeLabel(home) })

  beforeAll(async () => {
    image = testImage()
    home = temporaryHome()
    await new Promise<void>((done) => registry.listen(0, '127.0.0.1', done))
    port = (registry.address() as AddressInfo).port
  }, 300_000)
  afterEach(async () => {
    for (const egress of open.splice(0)) await egress.remove()
    await removeNetwork(theEngine(), owner())
    denials.length = 0
  })
  afterAll(() => {
    registry.close()
  })

  async function opened(changes: Partial<CheckEgressPlan> = {}): Promise<CheckEgress> {
    const egress = await openCheckEgress(theEngine(), {
      ...owner(),
      session: 'first',
      mode: 'mirrors',
      onDenied: (denial) => denials.push(denial),
      resolve: async (host) => [host === 'cloud.example.internal' ? '169.254.169.254' : '127.0.0.1'],
      env: { RESOLVE_CHECK_MIRRORS: `npm.example.internal:${port},cloud.example.internal` },
      ...changes,
    })
    open.push(egress)
    return egress
  }

  const containerIn = ({ networkMode, dns, dnsOptions, environment }: CheckEgress, ...more: string[]) => [
    ...['run', '--label', `resolve.home=${homeLabel(home)}`, '--network', networkMode, '--cap-drop', 'ALL'],
    ...dns.flatMap((address) => ['--dns', address]),
    ...dnsOptions.flatMap((option) => ['--dns-option', option]),
    ...Object.entries(environment).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
    ...[...more, '--user', '1000:1000', image, 'node', '-e'],
  ]

  /** What a program in a container gets from each address: its answer, or `closed`. */
  async function reached(egress: CheckEgress, ...urls: string[]): Promise<string[]> {
    const program = `const proxy = new URL(process.env.HTTPS_PROXY)
      const go = (url) => new Promise((done) => { const { host, hostname, port, pathname } = new URL(url); const target = hostname + ':' + (port || 443)
        require('node:http').request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: target, timeout: 10000 })
          .on('connect', (answer, socket) => { if (answer.statusCode !== 200) return done('answer ' + answer.statusCode)
            let said = ''; socket.on('data', (b) => { said += b }); socket.on('close', () => done(said.split('\\r\\n\\r\\n')[1] ?? 'closed'))
            socket.write('GET ' + pathname + ' HTTP/1.1\\r\\nHost: ' + host + '\\r\\nConnection: close\\r\\n\\r\\n') })
          .on('error', () => done('closed')).on('timeout', () => done('silent')).end() })
      Promise.all(${JSON.stringify(urls)}.map(go)).then((all) => { console.log(JSON.stringify(all)); process.exit() })`
    return JSON.parse(await docker(...containerIn(egress, '--rm'), program)) as string[]
  }

  const networks = async () =>
    await docker('network', 'ls', '--format', '{{.Name}}', '--filter', `label=resolve.instance=${INSTANCE}`)
  const rules = () => execFileSync('/usr/sbin/iptables', ['-w', '-S'], { encoding: 'utf8' })

  test('mirrors: the registry that the operator named, at its private address, and nothing else', async () => {
    const egress = await opened()
    expect(egress.guarded).toBe(true)
    const said = await reached(
      egress,
      `https://npm.example.internal:${port}/`,
      'https://cloud.example.internal/',
      'https://registry.npmjs.org/',
    )
    expect(said[0]).toContain(`package from npm.example.internal:${port}`)
    expect(said.slice(1)).toEqual(['closed', 'closed'])
    expect(denials).toHaveLength(2)
    expect(denials).toContainEqual({ host: 'cloud.example.internal', port: 443, reason: 'forbidden_address', count: 1 })
    expect(denials).toContainEqual({ host: 'registry.npmjs.org', port: 443, reason: 'not_allowed', count: 1 })
  })

  test('public: no private address but that of a mirror, and only the ports of the web', async () => {
    const egress = await opened({ mode: 'public' })
    const said = await reached(
      egress,
      `https://npm.example.internal:${port}/`,
      'https://rebound.example.org/',
      'https://mail.example.org:25/',
    )
    expect(said[0]).toContain('package from')
    expect(said.slice(1)).toEqual(['closed', 'closed'])
    expect(denials).toContainEqual({ host: 'rebound.example.org', port: 443, reason: 'forbidden_address', count: 1 })
    expect(denials).toContainEqual({ host: 'mail.example.org', port: 25, reason: 'not_allowed', count: 1 })
  })

  test('it stands beside the network of the worker, and its removal leaves that one', async () => {
    const worker = await openNetwork(theEngine(), owner())
    const egress = await opened()
    expect(egress.networkMode).not.toBe(worker.name)
    expect(rules()).toContain(`rc${INSTANCE}`)
    await egress.remove()
    await egress.remove()
    expect(await networks()).toBe(worker.name)
    expect(rules()).not.toContain(`rc${INSTANCE}`)
  })

  test('the next host of a check finds its network; another check gets none that programs of an earlier one are in', async () => {
    const first = await opened()
    await first.close()
    const again = await opened()
    expect(again.environment).toEqual(first.environment)
    await again.close()
    const name = `check-left-${process.pid}`
    await docker(...containerIn(again, '-d', '--name', name), 'setInterval(() => {}, 1000)')
    try {
      await expect(opened({ session: 'second' })).rejects.toMatchObject({ code: 'container_refused' })
    } finally {
      await docker('rm', '-f', name)
    }
    const second = await opened({ session: 'second' })
    const label = await docker('network', 'inspect', '-f', '{{index .Labels "resolve.session"}}', second.networkMode)
    expect(label).toBe('second')
  })

  test('what a killed host left is removed by the reaper, with its rules', async () => {
    const egress = await opened()
    await egress.close()
    open.length = 0
    const stop = startReaper(home, 200, 0)
    try {
      const deadline = Date.now() + 20_000
      while ((await networks()) !== '' && Date.now() < deadline) await sleep(100)
      expect(await networks()).toBe('')
      while (rules().includes(`rc${INSTANCE}`) && Date.now() < deadline) await sleep(100)
      expect(rules()).not.toContain(`rc${INSTANCE}`)
    } finally {
      stop()
    }
  })

  test('a list of mirrors that cannot be read opens nothing', async () => {
    const env = { RESOLVE_CHECK_MIRRORS: 'https://npm.example.internal' }
    await expect(opened({ env })).rejects.toMatchObject({ code: 'check_mirrors_invalid' })
    expect(await networks()).toBe('')
  })
})
