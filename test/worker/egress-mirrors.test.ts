/** What the builds of reality checks reach: public hosts and the mirrors that an operator named (threats B8). */
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { isNamedAddress, isReceiverAddress } from '../../src/core/primitives/network-addresses.ts'
import { Admission } from '../../src/core/worker/egress/admission.ts'
import { checkMirrors } from '../../src/core/worker/egress/check-mirrors.ts'
import { type EgressOptions, type EgressProxy, openEgressProxy } from '../../src/core/worker/egress/egress-proxy.ts'
import type { Denial } from '../../src/core/worker/egress/egress-reports.ts'

const registry = createServer((socket) => socket.on('error', () => undefined).pipe(socket))
const open: EgressProxy[] = []
const denials: Denial[] = []
let at = 0

beforeAll(async () => {
  await new Promise<void>((done) => registry.listen(0, '127.0.0.1', done))
  at = (registry.address() as AddressInfo).port
})
afterEach(async () => {
  for (const proxy of open.splice(0)) await proxy.close()
  denials.length = 0
})
afterAll(() => {
  registry.close()
})

/** The first line of the answer to a CONNECT. */
async function asks(options: Partial<EgressOptions>, authority: string): Promise<string> {
  const onDenied = (denial: Denial) => denials.push(denial)
  const proxy = await openEgressProxy({ rules: [], address: '127.0.0.1', port: 0, onDenied, ...options })
  open.push(proxy)
  return await new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: proxy.port }, () => {
      socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
    })
    socket.on('data', (bytes) => {
      resolve(bytes.toString('latin1').split('\r\n')[0] as string)
      socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(''))
  })
}

const here = async () => ['127.0.0.1']

test('a mirror is reached at its private address, at the port that was named and no other', async () => {
  const mirrors = [`npm.example.internal:${at}`]
  expect(await asks({ mirrors, resolve: here }, `npm.example.internal:${at}`)).toMatch(/ 200 /)
  expect(await asks({ mirrors, resolve: here }, `npm.example.internal:${at + 1}`)).toMatch(/ 403 /)
  expect(await asks({ mirrors, resolve: here }, `other.example.internal:${at}`)).toMatch(/ 403 /)
  expect(await asks({ mirrors, resolve: here }, `x.npm.example.internal:${at}`)).toMatch(/ 403 /)
  expect(denials.map(({ reason }) => reason)).toEqual(['not_allowed', 'not_allowed', 'not_allowed'])
})

test('with public hosts, another name for the address of a mirror is refused', async () => {
  const options = { publicHosts: true, mirrors: ['npm.example.internal'], resolve: here }
  expect(await asks(options, 'rebound.example.org:443')).toMatch(/ 403 /)
  expect(denials).toEqual([{ host: 'rebound.example.org', port: 443, reason: 'forbidden_address', count: 1 }])
})

test.each([
  '169.254.169.254',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd20:ce::254',
  '::ffff:169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  'fe80::1',
  '0.0.0.0',
  '224.0.0.1',
])('a mirror whose name leads to %s is refused', async (address) => {
  const options = { mirrors: [`npm.example.internal:${at}`], resolve: async () => [address] }
  expect(await asks(options, `npm.example.internal:${at}`)).toMatch(/ 403 /)
  expect(denials.map(({ reason }) => reason)).toEqual(['forbidden_address'])
})

test('public hosts are open at the ports of the web, at public addresses', () => {
  const admission = new Admission({ rules: [], publicHosts: true })
  for (const port of [80, 443]) {
    const may = admission.addressesFor({ host: 'registry.npmjs.org', port })
    expect(may?.('104.16.0.1')).toBe(true)
    for (const address of ['10.0.0.1', '127.0.0.1', '169.254.169.254', '198.51.100.2', 'fd00::1']) {
      expect(may?.(address), address).toBe(false)
    }
  }
  for (const port of [22, 25, 8080])
    expect(admission.addressesFor({ host: 'registry.npmjs.org', port })).toBeUndefined()
  expect(new Admission({ rules: [] }).addressesFor({ host: 'registry.npmjs.org', port: 443 })).toBeUndefined()
})

test('networks of tests may hold a mirror, and no receiver', () => {
  for (const address of ['192.0.2.1', '198.51.100.2', '198.18.0.1', '203.0.113.1', '2001:db8::1']) {
    expect(isNamedAddress(address), address).toBe(true)
    expect(isReceiverAddress(address), address).toBe(false)
  }
})

test('RESOLVE_CHECK_MIRRORS: hosts with and without a port; nothing named is no mirror', () => {
  const mirrors = checkMirrors({ RESOLVE_CHECK_MIRRORS: ' npm.example.internal:4873, Verdaccio ,,' })
  expect(mirrors).toEqual(['npm.example.internal:4873', 'Verdaccio'])
  const admission = new Admission({ rules: [], mirrors })
  const isOpen = (host: string, port: number) => admission.addressesFor({ host, port }) !== undefined
  expect(isOpen('npm.example.internal', 4873)).toBe(true)
  expect(isOpen('npm.example.internal', 443)).toBe(false)
  expect(isOpen('verdaccio', 443)).toBe(true)
  expect(isOpen('verdaccio', 80)).toBe(true)
  expect(isOpen('verdaccio', 4873)).toBe(false)
  expect(checkMirrors({})).toEqual([])
})

test.each([
  ['https://npm.example.internal/', 'is an address of a page'],
  ['*.example.internal', 'has a star'],
  ['10.0.0.5:4873', 'is a network address'],
  ['[::1]:4873', 'is a network address'],
  ['npm.example.internal:0', 'is not host or host:port'],
  ['npm.example.internal:99999', 'is not host or host:port'],
  ['user@npm.example.internal', 'is not host or host:port'],
])('RESOLVE_CHECK_MIRRORS with %s is a fault that names it', (text, why) => {
  const read = () => checkMirrors({ RESOLVE_CHECK_MIRRORS: `good.example.internal,${text}` })
  expect(read).toThrow(`Can't read RESOLVE_CHECK_MIRRORS: ${JSON.stringify(text)} ${why}`)
  expect(read).not.toThrow('good.example')
})
