/** Programs that repeat refused connections, with real npm, and the look-ups of many connections at once (threats B8). */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type EgressOptions, type EgressProxy, openEgressProxy } from '../../src/core/worker/egress/egress-proxy.ts'
import type { Denial } from '../../src/core/worker/egress/egress-reports.ts'
import { RepeatedRefusals } from '../../src/core/worker/egress/repeated-refusals.ts'
import { SharedLookups } from '../../src/core/worker/egress/shared-lookups.ts'
import { temporaryHome } from '../support/instances.ts'

const echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket))
const open: EgressProxy[] = []
const denials: Denial[] = []
const refusals = () => denials.reduce((sum, { count }) => sum + count, 0)

beforeAll(() => new Promise<void>((done) => echo.listen(0, '127.0.0.1', done)))
afterEach(async () => {
  for (const proxy of open.splice(0)) await proxy.close()
  denials.length = 0
})
afterAll(() => {
  echo.close()
})

async function proxy(options: Partial<EgressOptions> = {}): Promise<EgressProxy> {
  const onDenied = (denial: Denial) => denials.push(denial)
  const opened = await openEgressProxy({
    rules: ['good.example.org'],
    address: '127.0.0.1',
    port: 0,
    onDenied,
    ...options,
  })
  open.push(opened)
  return opened
}

/** What the proxy says to a CONNECT, until it closes or lets it pass. */
function asks(port: number, authority: string): Promise<string> {
  return new Promise((resolve) => {
    let came = ''
    const socket = connect({ host: '127.0.0.1', port }, () => {
      socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
    })
    socket.on('data', (bytes) => {
      came += bytes.toString('latin1')
      if (/^HTTP\/1\.1 200 /.test(came)) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(came))
  })
}

/** `npm ci` of twenty packages through the proxy, as in a container whose registry is refused. */
async function npm(port: number, answer: 'install' | 'ci') {
  const at = temporaryHome()
  const names = Array.from({ length: 20 }, (_, index) => `package-${index}`)
  const dependencies = Object.fromEntries(names.map((name) => [name, '1.0.0']))
  const own = { name: 'software', version: '1.0.0', dependencies }
  const locked = (name: string) => {
    return {
      version: '1.0.0',
      resolved: `https://registry.example.org/${name}/-/${name}-1.0.0.tgz`,
      integrity: 'sha512-AAAA',
    }
  }
  const packages = { '': own, ...Object.fromEntries(names.map((name) => [`node_modules/${name}`, locked(name)])) }
  writeFileSync(join(at, 'package.json'), JSON.stringify(own))
  if (answer === 'ci') {
    writeFileSync(
      join(at, 'package-lock.json'),
      JSON.stringify({ ...own, lockfileVersion: 3, requires: true, packages }),
    )
  }
  const url = `http://127.0.0.1:${port}`
  const env = {
    PATH: process.env['PATH'],
    HOME: at,
    HTTPS_PROXY: url,
    HTTP_PROXY: url,
    NODE_USE_ENV_PROXY: '1',
    npm_config_fetch_retries: '0',
    npm_config_registry: 'https://registry.example.org/',
  }
  const began = Date.now()
  const child = spawn('npm', [answer, '--no-audit', '--no-fund'], { cwd: at, env, detached: true, stdio: 'ignore' })
  const limit = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), 45_000)
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  clearTimeout(limit)
  return { code, seconds: (Date.now() - began) / 1000 }
}

test.each([
  ['sentence', 'ci'],
  ['sentence', 'install'],
  ['close', 'ci'],
  ['close', 'install'],
] as const)(
  'with refusals told by %s, npm %s ends in seconds, after few connections',
  async (answers, command) => {
    const { port, close } = await proxy({ answers })
    const { code, seconds } = await npm(port, command)
    await close()
    open.length = 0
    expect(code).toBe(1)
    expect(seconds).toBeLessThan(30)
    expect(denials[0]).toEqual({ host: 'registry.example.org', port: 443, reason: 'not_allowed', count: 1 })
    expect(refusals()).toBeGreaterThan(0)
    expect(refusals()).toBeLessThan(1_000)
  },
  60_000,
)

test('the first refusals of a target are answered with a sentence, repetitions only closed; each is counted', async () => {
  const { port, close } = await proxy()
  for (let round = 0; round < 3; round += 1) {
    expect(await asks(port, 'evil.example.org:443')).toContain('may not reach evil.example.org:443')
  }
  for (let round = 0; round < 5; round += 1) expect(await asks(port, 'evil.example.org:443')).toBe('')
  expect(await asks(port, 'evil.example.org:8443')).toMatch(/^HTTP\/1\.1 403 /)
  expect(await asks(port, 'other.example.org:443')).toMatch(/^HTTP\/1\.1 403 /)
  await close()
  open.length = 0
  expect(denials).toContainEqual({ host: 'evil.example.org', port: 443, reason: 'not_allowed', count: 7 })
  expect(refusals()).toBe(10)
})

test('a name that cannot be resolved is answered and closed in the same way; it is not reported', async () => {
  const { port } = await proxy({ resolve: async () => [] })
  for (let round = 0; round < 3; round += 1)
    expect(await asks(port, 'good.example.org:443')).toMatch(/^HTTP\/1\.1 502 /)
  expect(await asks(port, 'good.example.org:443')).toBe('')
  expect(denials).toEqual([])
})

test('with answers: close, no refused CONNECT gets an answer, and an allowed one passes', async () => {
  const { port: at } = echo.address() as AddressInfo
  const { port } = await proxy({
    rules: [`good.example.org:${at}`],
    answers: 'close',
    resolve: async () => ['127.0.0.1'],
    mayReach: () => true,
  })
  expect(await asks(port, 'evil.example.org:443')).toBe('')
  expect(await asks(port, '127.0.0.1:443')).toBe('')
  expect(await asks(port, `good.example.org:${at}`)).toMatch(/^HTTP\/1\.1 200 /)
  expect(denials.map(({ reason }) => reason)).toEqual(['not_allowed', 'malformed'])
})

test('refusals are counted by client and target, within ten seconds, for a bounded number of them', () => {
  let now = 0
  const repeated = new RepeatedRefusals(() => now)
  const answers = (times: number, client = 'a', target = 'x:443') =>
    Array.from({ length: times }, () => repeated.mayAnswer(client, target))
  expect(answers(5)).toEqual([true, true, true, false, false])
  expect(answers(1, 'b')).toEqual([true])
  expect(answers(1, 'a', 'y:443')).toEqual([true])
  now += 9_999
  expect(answers(1)).toEqual([false])
  now += 10_000
  expect(answers(4)).toEqual([true, true, true, false])
  for (let at = 0; at < 1_000; at += 1) answers(1, 'c', `n${at}:443`)
  expect(answers(1)).toEqual([true])
})

test('connections at once share one look-up, and later ones its answer; each is checked', async () => {
  const { port: at } = echo.address() as AddressInfo
  let asked = 0
  let mayReach = true
  const { port } = await proxy({
    rules: [`good.example.org:${at}`],
    resolve: async () => {
      asked += 1
      return await new Promise((resolve) => setTimeout(resolve, 100, ['127.0.0.1']))
    },
    mayReach: () => mayReach,
  })
  const authority = `good.example.org:${at}`
  const answers = await Promise.all(Array.from({ length: 20 }, () => asks(port, authority)))
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  mayReach = false
  expect(await asks(port, authority)).toMatch(/^HTTP\/1\.1 403 /)
  expect(asked).toBe(1)
})

test('an answer is kept for seconds, a failure for fewer, and a bounded number of both', async () => {
  let now = 0
  const asked: string[] = []
  const lookups = new SharedLookups(
    async (host) => {
      asked.push(host)
      if (host.startsWith('bad')) throw new Error('SERVFAIL')
      return [`192.0.2.${asked.length}`]
    },
    () => now,
  )
  expect(await lookups.addressesOf('good.example.org')).toEqual(['192.0.2.1'])
  expect(await lookups.addressesOf('bad.example.org')).toEqual([])
  now += 1_999
  expect(await lookups.addressesOf('good.example.org')).toEqual(['192.0.2.1'])
  expect(await lookups.addressesOf('bad.example.org')).toEqual([])
  expect(asked).toHaveLength(2)
  now += 1
  await lookups.addressesOf('bad.example.org')
  expect(asked).toHaveLength(3)
  now += 3_000
  expect(await lookups.addressesOf('good.example.org')).toEqual(['192.0.2.4'])
  for (let at = 0; at < 1_000; at += 1) await lookups.addressesOf(`n${at}.example.org`)
  expect(await lookups.addressesOf('good.example.org')).toEqual([`192.0.2.${asked.length}`])
  expect(asked).toHaveLength(1_005)
})

test('look-ups that never end are bounded, and another connection does not begin a second one of the name', async () => {
  const asked: string[] = []
  const lookups = new SharedLookups((host) => {
    asked.push(host)
    return new Promise(() => {})
  })
  for (let at = 0; at < 128; at += 1) {
    void lookups.addressesOf(`n${at}.example.org`)
    void lookups.addressesOf(`n${at}.example.org`)
  }
  expect(await lookups.addressesOf('one.more.example.org')).toEqual([])
  expect(asked).toHaveLength(128)
})
