/** A guarded open network with a real engine: what a container in it reaches, and what is left when it is removed (threats D11, WEB-3). */
import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openEgress } from '../../src/core/worker/egress/egress.ts'
import { networkedInstances, removeNetwork } from '../../src/core/worker/egress/network.ts'
import { sweepGuards } from '../../src/core/worker/egress/open-guard.ts'
import { theEngine } from '../../src/core/worker/engine/engine.ts'
import { describeWithDocker, docker, testImage } from '../support/docker.ts'
import { type Outside, openOutside } from '../support/outside.ts'

const HOME = `testopen${process.pid}`
const owner = { instance: '0e0e0e0e0e01', home: HOME }
const BRIDGE = 'rs0e0e0e0e0e01'
/** Listens on all addresses of this machine, as careless services do. */
const web = createServer((_, response) => response.end('hello'))

/** Those of this network: other tests have theirs at the same time. */
const rules = () =>
  ['iptables', 'ip6tables']
    .flatMap((program) => execFileSync(`/usr/sbin/${program}`, ['-S'], { encoding: 'utf8' }).split('\n'))
    .filter((line) => line.includes(BRIDGE))
    .join('\n')

describeWithDocker('an open network', { timeout: 90_000 }, () => {
  let image = ''
  let port = 0
  let outside: Outside
  /** This machine's address on a network, and on the engine's own. */
  let own: string[] = []

  beforeAll(async () => {
    image = testImage()
    outside = await openOutside()
    await new Promise<void>((done) => web.listen(0, '0.0.0.0', done))
    port = (web.address() as AddressInfo).port
    // Bridges and links of other tests come and go.
    const lasting = Object.entries(networkInterfaces()).filter(
      ([name]) => !/^(?:r[sgc][0-9a-f]{12}|br-|veth)/.test(name),
    )
    const found = lasting.flatMap(([, infos]) => infos ?? [])
    own = found.flatMap(({ family, internal, address }) => (family === 'IPv4' && !internal ? [address] : []))
  }, 300_000)
  afterEach(async () => {
    delete process.env['RESOLVE_OPEN_NETWORK']
    await removeNetwork(theEngine(), owner)
  })
  afterAll(async () => {
    web.close()
    await outside.close()
  })

  const opened = (isAdopted = false) =>
    openEgress(theEngine(), { ...owner, network: 'open', egress: [], onDenied: () => {}, isAdopted })

  const containerIn = (network: string, ...more: string[]) => [
    ...['run', '--rm', '--label', `resolve.home=${HOME}`, '--network', network, '--cap-drop', 'ALL'],
    ...['--user', '1000:1000', '--dns', outside.nameServer, ...more, image, 'node', '-e'],
  ]

  /** Whether each address answers: `hello`, or the code of the error. */
  async function reached(network: string, addresses: readonly (readonly [string, number])[]): Promise<string[]> {
    const program = `const go = ([host, port]) => new Promise((done) => require('node:http').get({ host, port, timeout: 5000 }, (r) => r.on('data', (b) => done(String(b))))
      .on('error', (e) => done(e.code)).on('timeout', () => done('silent')))
      Promise.all(${JSON.stringify(addresses)}.map(go)).then((all) => { console.log(JSON.stringify(all)); process.exit() })`
    return JSON.parse(await docker(...containerIn(network), program)) as string[]
  }

  test('the internet and its names are reached; metadata addresses and this machine are refused at once', async () => {
    const { networkMode, guarded } = await opened()
    expect(guarded).toBe(true)
    const gateway = await docker('network', 'inspect', '-f', '{{(index .IPAM.Config 0).Gateway}}', networkMode)
    expect(
      await reached(networkMode, [
        [outside.address, outside.port],
        ['a.name.example', outside.port],
      ]),
    ).toEqual(['hello', 'hello'])
    const closed: [string, number][] = [
      [outside.metadata, outside.port],
      ['169.254.169.254', 80],
      ['100.100.100.200', 80],
      ...[gateway, ...own].map((address): [string, number] => [address, port]),
    ]
    expect(await reached(networkMode, closed)).toEqual(closed.map(() => 'ECONNREFUSED'))
    const [v6] = await reached(networkMode, [['fd00:ec2::254', 80]])
    expect(v6).toMatch(/^E(NETUNREACH|ADDRNOTAVAIL|HOSTUNREACH)$/)
  })

  test('a container of others reaches what it reached before', async () => {
    await opened()
    const addresses: [string, number][] = [
      [outside.metadata, outside.port],
      ...own.map((one): [string, number] => [one, port]),
    ]
    expect(await reached('bridge', addresses)).toEqual(addresses.map(() => 'hello'))
  })

  test('this machine still connects to a port of the container', async () => {
    const { networkMode } = await opened()
    const name = `${HOME}-serves`
    const program = `require('node:http').createServer((_, r) => r.end('from inside')).listen(8080)`
    const started = docker(...containerIn(networkMode, '--name', name), program).catch(() => '')
    try {
      for (let said = ''; said !== 'from inside'; await sleep(100)) {
        const address = await docker(
          'inspect',
          '-f',
          '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}',
          name,
        ).catch(() => '')
        if (address === '') continue
        said = await fetch(`http://${address}:8080/`).then(
          (response) => response.text(),
          () => '',
        )
      }
    } finally {
      await docker('rm', '-f', name)
      await started
    }
  })

  test('RESOLVE_OPEN_NETWORK=host opens this machine, but not the metadata; engine is the engine’s network', async () => {
    process.env['RESOLVE_OPEN_NETWORK'] = 'host'
    const { networkMode } = await opened()
    const [machine, metadata] = await reached(networkMode, [
      [own[0] as string, port],
      [outside.metadata, outside.port],
    ])
    expect([machine, metadata]).toEqual(['hello', 'ECONNREFUSED'])
    await removeNetwork(theEngine(), owner)
    process.env['RESOLVE_OPEN_NETWORK'] = 'engine'
    expect(await opened()).toMatchObject({ networkMode: 'bridge', guarded: null })
    process.env['RESOLVE_OPEN_NETWORK'] = 'all'
    expect(await opened()).toMatchObject({ guarded: true })
  })

  test('the next host finds the network and closes a guard that is gone; it makes none for a worker without', async () => {
    expect(await opened(true)).toMatchObject({ networkMode: 'bridge', guarded: null })
    const { networkMode } = await opened()
    execFileSync('/usr/sbin/iptables', ['-D', 'INPUT', '-i', BRIDGE, '-j', `RESOLVE-${BRIDGE}`])
    expect(await reached(networkMode, [[own[0] as string, port]])).toEqual(['hello'])
    const before = rules().length
    expect(await opened(true)).toMatchObject({ networkMode, guarded: true })
    expect(await reached(networkMode, [[own[0] as string, port]])).toEqual(['ECONNREFUSED'])
    const after = rules().length
    await opened(true)
    expect(rules().length).toBe(after)
    expect(after).toBeGreaterThan(before)
  })

  test('removal deletes the network and its rules; rules whose network is gone are swept, others stay (reliability F16)', async () => {
    await opened()
    await removeNetwork(theEngine(), owner)
    await removeNetwork(theEngine(), owner)
    expect(await networkedInstances(theEngine(), HOME)).toEqual([])
    expect(rules()).not.toContain(BRIDGE)
    await opened()
    await sweepGuards()
    expect(rules()).toContain(`RESOLVE-${BRIDGE}-M`)
    // From here on the reaper of any host may remove them.
    await docker('network', 'rm', `resolve-${owner.instance}-egress`)
    await sweepGuards()
    expect(rules()).not.toContain(BRIDGE)
  })
})
