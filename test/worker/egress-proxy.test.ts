/** The door out of a worker, with real sockets on loopback: what passes, what does not, and what a hostile worker sends (threats B8). */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { isPublicAddress } from '../../src/core/primitives/network-addresses.ts'
import { type EgressOptions, type EgressProxy, openEgressProxy } from '../../src/core/worker/egress/egress-proxy.ts'
import { type Denial, EgressReports } from '../../src/core/worker/egress/egress-reports.ts'

interface Seen {
  line: string
  headers: IncomingMessage['headers']
  body: string
}

const seen: Seen[] = []
/** An ordinary web server. */
const web = createServer((message, response) => {
  let body = ''
  message.on('data', (bytes: Buffer) => {
    body += bytes.toString()
  })
  message.on('end', () => {
    seen.push({ line: `${message.method} ${message.url}`, headers: message.headers, body })
    if (message.url === '/moved') response.writeHead(302, { location: 'http://169.254.169.254/latest' })
    response.end(`hello from ${message.headers.host}`)
  })
})
/** Says back what it is told, as a TLS server would once it is tunnelled to. */
const echo = createTcpServer((socket) => socket.on('error', () => undefined).pipe(socket))
const silent = createTcpServer((socket) => socket.on('error', () => undefined))

const portOf = (server: Server) => (server.address() as AddressInfo).port
const open: EgressProxy[] = []
let denials: Denial[] = []

beforeAll(async () => {
  for (const server of [web, echo, silent]) await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
})
afterEach(async () => {
  for (const proxy of open.splice(0)) await proxy.close()
  denials = []
  seen.length = 0
})
afterAll(() => {
  web.closeAllConnections()
  for (const server of [web, echo, silent]) server.close()
})

const LOOPBACK: Partial<EgressOptions> = {
  resolve: async () => ['127.0.0.1'],
  mayReach: (address) => address === '127.0.0.1',
}

async function proxy(rules: string[], options: Partial<EgressOptions> = LOOPBACK): Promise<EgressProxy> {
  const opened = await openEgressProxy({
    rules,
    address: '127.0.0.1',
    port: 0,
    onDenied: (denial) => denials.push(denial),
    ...options,
  })
  open.push(opened)
  return opened
}

/** Sends bytes, and gives what came back until the other side closed or `until` was in it. */
function say(port: number, bytes: string | Buffer, until?: string): Promise<string> {
  return new Promise((resolve) => {
    let came = ''
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(bytes))
    const end = () => {
      clearTimeout(limit)
      socket.destroy()
      resolve(came)
    }
    const limit = setTimeout(end, 5_000)
    socket.on('data', (chunk) => {
      came += chunk.toString('latin1')
      if (until !== undefined && came.includes(until)) end()
    })
    socket.on('close', end)
    socket.on('error', end)
  })
}

const connectTo = (authority: string) => `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`

test('CONNECT to a listed host opens a tunnel in both directions, with bytes that were sent at once', async () => {
  const { port } = await proxy([`api.example.org:${portOf(echo)}`])
  const answer = await say(port, `${connectTo(`api.example.org:${portOf(echo)}`)}first bytes`, 'first bytes')
  expect(answer).toBe('HTTP/1.1 200 Connection established\r\n\r\nfirst bytes')
  expect(denials).toEqual([])
})

test('CONNECT to any other host, port or subdomain is refused and reported', async () => {
  const { port } = await proxy(['api.example.org', '*.wide.example.org:8443'])
  for (const authority of [
    'example.org:443',
    'evil.org:443',
    'api.example.org:22',
    'x.api.example.org:443',
    'api.example.org.evil.org:443',
    'notapi.example.org:443',
    'wide.example.org:8443',
    'a.wide.example.org:443',
    'evilwide.example.org:8443',
  ]) {
    expect(await say(port, connectTo(authority)), authority).toMatch(/^HTTP\/1\.1 403 /)
  }
  expect(denials).toHaveLength(9)
  expect(denials[0]).toEqual({ host: 'example.org', port: 443, reason: 'not_allowed', count: 1 })
})

test('a subdomain of a wildcard is reached, in any case and with a final dot', async () => {
  const { port } = await proxy([`*.example.org:${portOf(echo)}`])
  for (const name of ['a.example.org', 'a.b.EXAMPLE.org', 'a.example.org.']) {
    expect(await say(port, `${connectTo(`${name}:${portOf(echo)}`)}x`, '\r\n\r\nx'), name).toMatch(/^HTTP\/1\.1 200 /)
  }
})

const HOSTILE: [string, string][] = [
  ['a user', 'user@api.example.org:443'],
  ['a user with the good host as name', 'api.example.org:443@evil.org:443'],
  ['loopback', '127.0.0.1:443'],
  ['a decimal address', '2130706433:443'],
  ['an octal address', '0177.0.0.1:443'],
  ['a hexadecimal address', '0x7f000001:443'],
  ['a hexadecimal part', '0x7f.1:443'],
  ['a short address', '127.1:443'],
  ['a metadata address', '169.254.169.254:80'],
  ['an IPv6 address', '[::1]:443'],
  ['a mapped address', '[::ffff:127.0.0.1]:443'],
  ['an IPv6 zone', '[fe80::1%25eth0]:443'],
  ['an IPv6 address without brackets', '::1:443'],
  ['port 0', 'api.example.org:0'],
  ['port 65536', 'api.example.org:65536'],
  ['a port with a zero before it', 'api.example.org:0443'],
  ['a port with a sign', 'api.example.org:+443'],
  ['no port', 'api.example.org'],
  ['an empty port', 'api.example.org:'],
  ['two ports', 'api.example.org:443:443'],
  ['no host', ':443'],
  ['only a dot', '.:443'],
  ['two final dots', 'api.example.org..:443'],
  ['an empty label', 'api..example.org:443'],
  ['a dot before', '.api.example.org:443'],
  ['an escape', 'api%2eexample.org:443'],
  ['a NUL by escape', 'api.example.org%00.evil.org:443'],
  ['a path', 'api.example.org:443/x'],
  ['a backslash', 'evil.org\\api.example.org:443'],
  ['a scheme', 'https://api.example.org:443'],
  ['a label of 64', `${'a'.repeat(64)}.example.org:443`],
  ['a name of 260', `${'a.'.repeat(130)}org:443`],
  ['letters outside ASCII', 'äpi.example.org:443'],
  ['a full-width dot', 'api。example.org:443'],
  ['a star', '*.example.org:443'],
  ['localhost', 'localhost:443'],
]

test.each(HOSTILE)('CONNECT with %s connects to nothing', async (_, authority) => {
  const asked: string[] = []
  const { port } = await proxy(['api.example.org', '*.example.org'], {
    resolve: async (host) => {
      asked.push(host)
      return ['127.0.0.1']
    },
    mayReach: () => true,
  })
  const answer = await say(port, connectTo(authority))
  expect(answer).toMatch(/^HTTP\/1\.1 40[03] /)
  expect(asked).toEqual([])
  expect(denials).toHaveLength(1)
  expect(['malformed', 'not_allowed']).toContain(denials[0]?.reason)
})

const BROKEN: [string, string][] = [
  ['CR LF in the target', 'CONNECT api.example.org:443\r\nX: y HTTP/1.1\r\n\r\n'],
  ['a bare LF as line end', `CONNECT api.example.org:443 HTTP/1.1\nHost: api.example.org\n\n`],
  ['a NUL in a header', 'CONNECT api.example.org:443 HTTP/1.1\r\nHost: a\0b\r\n\r\n'],
  ['a head without end', `GET http://api.example.org/ HTTP/1.1\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`],
  [
    'both length and chunks',
    'POST http://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ],
  [
    'two lengths',
    'POST http://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd',
  ],
  [
    'an obscured transfer encoding',
    'POST http://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\nTransfer-Encoding: xchunked\r\n\r\nabcd',
  ],
  ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['SOCKS', '\x05\x01\x00'],
  ['an origin form', 'GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n'],
  ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: api.example.org\r\n\r\n'],
  ['https in the absolute form', 'GET https://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n'],
  ['ftp', 'GET ftp://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n'],
  ['a user in the absolute form', 'GET http://a:b@api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n'],
  ['a good host as user', 'GET http://api.example.org@evil.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n'],
  ['a good host in a backslash', 'GET http://evil.org\\@api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n'],
  ['a good Host header', 'GET http://evil.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n'],
]

test.each(BROKEN)('a request with %s reaches nothing', async (_, bytes) => {
  const asked: string[] = []
  const { port } = await proxy(['api.example.org'], {
    resolve: async (host) => {
      asked.push(host)
      return []
    },
  })
  const answer = await say(port, bytes)
  expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
  expect(asked).toEqual([])
  expect(seen).toEqual([])
  expect(denials.length).toBeGreaterThan(0)
})

test('a plain request is rebuilt: its own Host, no hop-by-hop headers, its body framed as before', async () => {
  const host = `api.example.org:${portOf(web)}`
  const { port } = await proxy([host])
  const head = `POST http://${host}/a/b?c=d HTTP/1.1\r\nHost: evil.org\r\nProxy-Authorization: Basic c2VjcmV0\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nX-Kept: 2\r\nContent-Length: 5\r\n\r\n12345`
  const answer = await say(port, head)
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK/)
  expect(answer).toContain(`hello from ${host}`)
  expect(seen).toHaveLength(1)
  expect(seen[0]).toMatchObject({ line: 'POST /a/b?c=d', body: '12345', headers: { host, 'x-kept': '2' } })
  expect(Object.keys(seen[0]?.headers ?? {})).not.toEqual(expect.arrayContaining(['proxy-authorization']))
  expect(seen[0]?.headers).not.toHaveProperty('x-hop')
})

test('a chunked body stays one body whatever the method, so that no second request hides in it', async () => {
  const host = `api.example.org:${portOf(web)}`
  const { port } = await proxy([host])
  const inner = 'GET /hidden HTTP/1.1\r\nHost: other\r\n\r\n'
  const chunked = `GET http://${host}/seen HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`
  await say(port, chunked)
  await sleep(50)
  expect(seen.map(({ line, body }) => ({ line, body }))).toEqual([{ line: 'GET /seen', body: inner }])
})

test('a redirect is returned, never followed', async () => {
  const host = `api.example.org:${portOf(web)}`
  const { port } = await proxy([host])
  const answer = await say(port, `GET http://${host}/moved HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  expect(answer).toMatch(/^HTTP\/1\.1 302 /)
  expect(seen).toHaveLength(1)
})

test('a name that resolves to this machine or its networks is refused', async () => {
  for (const address of ['127.0.0.1', '10.0.0.8', '169.254.169.254', '::1', '::ffff:127.0.0.1', 'fd00:ec2::254']) {
    const { port } = await proxy(['api.example.org'], { resolve: async () => [address] })
    expect(await say(port, connectTo('api.example.org:443')), address).toMatch(/^HTTP\/1\.1 403 /)
  }
  expect(denials.map(({ reason }) => reason)).toEqual(Array(6).fill('forbidden_address'))
})

test('the proxy connects to the address that it checked: a name is resolved once (no rebinding)', async () => {
  let asked = 0
  const { port } = await proxy([`api.example.org:${portOf(echo)}`], {
    resolve: async () => {
      asked += 1
      return asked === 1 ? ['127.0.0.1'] : ['10.0.0.1']
    },
    mayReach: (address) => address === '127.0.0.1',
  })
  const answer = await say(port, `${connectTo(`api.example.org:${portOf(echo)}`)}x`, '\r\n\r\nx')
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  expect(asked).toBe(1)
})

test('of several addresses only the permitted ones are tried', async () => {
  const { port } = await proxy([`api.example.org:${portOf(echo)}`], {
    resolve: async () => ['10.0.0.1', '169.254.169.254', '127.0.0.1'],
    mayReach: (address) => address === '127.0.0.1',
  })
  expect(await say(port, `${connectTo(`api.example.org:${portOf(echo)}`)}x`, '\r\n\r\nx')).toMatch(/ 200 /)
})

test('a host that is unknown, refuses or never answers gives 502, and is not reported as denied', async () => {
  const gone = await proxy(['api.example.org'], { resolve: async () => [] })
  expect(await say(gone.port, connectTo('api.example.org:443'))).toMatch(/^HTTP\/1\.1 502 /)
  const throws = await proxy(['api.example.org'], { resolve: () => Promise.reject(new Error('SERVFAIL')) })
  expect(await say(throws.port, connectTo('api.example.org:443'))).toMatch(/^HTTP\/1\.1 502 /)
  const closed = await proxy(['api.example.org:1'])
  expect(await say(closed.port, connectTo('api.example.org:1'))).toMatch(/^HTTP\/1\.1 502 /)
  expect(denials).toEqual([])
})

test('an idle connection is closed', async () => {
  const host = `api.example.org:${portOf(silent)}`
  const { port } = await proxy([host], { ...LOOPBACK, idleMs: 200 })
  const began = Date.now()
  expect(await say(port, connectTo(host))).toMatch(/ 200 /)
  expect(Date.now() - began).toBeLessThan(4_000)
})

test('a client from another network gets no answer', async () => {
  const { port } = await proxy(['api.example.org'], { ...LOOPBACK, admits: (address) => address.startsWith('10.201.') })
  expect(await say(port, connectTo('api.example.org:443'))).toBe('')
})

test('connections over the limit are dropped and reported, and the open ones go on', async () => {
  const host = `api.example.org:${portOf(echo)}`
  const { port } = await proxy([host])
  const held = await Promise.all(
    Array.from({ length: 128 }, async () => {
      const socket = connect({ host: '127.0.0.1', port })
      socket.on('error', () => undefined)
      await new Promise((done) => socket.once('connect', done))
      return socket
    }),
  )
  expect(await say(port, connectTo(host))).toBe('')
  expect(denials).toEqual([{ host: '*', port: 0, reason: 'too_many', count: 1 }])
  for (const socket of held) socket.destroy()
  // The proxy hears of it a moment later.
  await expect.poll(() => say(port, `${connectTo(host)}x`, '\r\n\r\nx')).toMatch(/ 200 /)
})

test('closing ends open tunnels', async () => {
  const host = `api.example.org:${portOf(echo)}`
  const opened = await proxy([host])
  const socket = connect({ host: '127.0.0.1', port: opened.port })
  socket.write(connectTo(host))
  expect(String((await once(socket, 'data'))[0])).toMatch(/ 200 /)
  const closed = once(socket, 'close')
  await opened.close()
  await closed
})

test('a flood of refusals causes few events: the first at once, repetitions counted, many different names together', async () => {
  const told: Denial[] = []
  const reports = new EgressReports((denial) => told.push(denial), 60_000)
  for (let round = 0; round < 1_000; round += 1) reports.note('evil.org', 443, 'not_allowed')
  expect(told).toEqual([{ host: 'evil.org', port: 443, reason: 'not_allowed', count: 1 }])
  for (let round = 0; round < 1_000; round += 1) reports.note(`n${round}.evil.org`, 443, 'not_allowed')
  expect(told).toHaveLength(50)
  reports.close()
  expect(told.slice(50)).toEqual([
    { host: 'evil.org', port: 443, reason: 'not_allowed', count: 999 },
    { host: '*', port: 0, reason: 'not_allowed', count: 951 },
  ])
})

test.each([
  ['0.0.0.0', false],
  ['10.1.2.3', false],
  ['100.64.0.1', false],
  ['100.127.255.255', false],
  ['100.128.0.1', true],
  ['127.0.0.1', false],
  ['127.255.255.254', false],
  ['169.254.169.254', false],
  ['172.15.0.1', true],
  ['172.16.0.1', false],
  ['172.31.255.255', false],
  ['172.32.0.1', true],
  ['192.168.1.1', false],
  ['192.0.2.1', false],
  ['198.18.0.1', false],
  ['168.63.129.16', false],
  ['168.63.129.17', true],
  ['224.0.0.1', false],
  ['239.1.1.1', false],
  ['240.0.0.1', false],
  ['255.255.255.255', false],
  ['8.8.8.8', true],
  ['1.1.1.1', true],
  ['::', false],
  ['::1', false],
  ['::127.0.0.1', false],
  ['::ffff:8.8.8.8', false],
  ['::ffff:7f00:1', false],
  ['64:ff9b::7f00:1', false],
  ['64:ff9b:1::a00:1', false],
  ['::ffff:0:8.8.8.8', false],
  ['fe80::1', false],
  ['fe80::1%eth0', false],
  ['fec0::1', false],
  ['fc00::1', false],
  ['fd00:ec2::254', false],
  ['ff02::1', false],
  ['2001:db8::1', false],
  ['2001::1', false],
  ['2002:7f00:1::', false],
  ['3fff::1', false],
  ['2606:4700:4700::1111', true],
  ['2a00:1450:4001:80b::200e', true],
  ['localhost', false],
  ['', false],
  ['0177.0.0.1', false],
  ['2130706433', false],
])('%s: public %s', (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic)
})
