/** Archives of resolvers over HTTP, at a real server: what is taken, where it goes, and what is refused before anything is written. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openTokens } from '../../src/core/index.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { type ServeProcess, startServe } from '../commands/serving.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { archive, digestOf, END, entry, MANIFEST, pax, zipped } from './hostile-archives.ts'
import { exchange } from './raw.ts'

vi.setConfig({ testTimeout: 120_000 })

let place: Home
let server: ServeProcess
let token: string

beforeAll(async () => {
  place = newHome()
  token = (await openTokens(place.home).create({ scope: 'admin' })).token
  server = await startServe(place.home, ['--uploads'])
})

afterAll(async () => {
  server.kill('SIGTERM')
  await server.ended
  await place.end()
})

interface Told {
  status: number
  body: { detail?: string; code?: string; plan?: Record<string, unknown>; resolver?: Record<string, unknown> | null }
  headers: Headers
}

async function send(body: Buffer | string, query = '', more: Record<string, string> = {}): Promise<Told> {
  const response = await fetch(`${more['url'] ?? server.url}/api/resolvers${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${more['token'] ?? token}`, 'content-type': 'application/gzip', ...more },
    body: new Uint8Array(Buffer.from(body as Buffer)),
  })
  return { status: response.status, body: (await response.json()) as Told['body'], headers: response.headers }
}

const uploads = () => {
  const base = join(place.home, 'uploads')
  return existsSync(base) ? readdirSync(base).filter((name) => name !== '.lock') : []
}

async function listed(): Promise<Record<string, unknown>[]> {
  const response = await fetch(`${server.url}/api/resolvers`, { headers: { authorization: `Bearer ${token}` } })
  return (await response.json()) as Record<string, unknown>[]
}

const ALMOST_ALL = 17 * 1024 * 1024
const deep = (depth: number) => Array.from({ length: depth }, () => 'd').join('/')

const REFUSED: Record<string, [() => Buffer, RegExp]> = {
  'an absolute name': [() => zipped(entry({ name: '/etc/x' })), /absolute name/],
  'a name that leads out': [() => zipped(entry({ name: 'a/../../x' })), /leads out/],
  'a name that is ..': [() => zipped(entry({ name: '..', type: '5' })), /leads out/],
  'a way out in a prefix': [() => zipped(entry({ name: 'x', prefix: '../..' })), /leads out/],
  'a way out in a pax header': [() => zipped(pax({ path: '../x' }), entry({ name: 'x' })), /leads out/],
  'a way out in a long name': [
    () => zipped(entry({ name: 'l', type: 'L', content: '../x\0' }), entry({ name: 'x' })),
    /leads out/,
  ],
  'a way out with a backslash': [() => zipped(entry({ name: '..\\x' })), /backslash/],
  'a name with an empty part': [() => zipped(entry({ name: 'a//b' })), /plain name/],
  'a symbolic link': [() => zipped(entry({ name: 'x', type: '2' })), /symbolic link/],
  'a hard link': [() => zipped(entry({ name: 'x', type: '1' })), /hard link/],
  'a character device': [() => zipped(entry({ name: 'x', type: '3' })), /device/],
  'a block device': [() => zipped(entry({ name: 'x', type: '4' })), /device/],
  'a FIFO': [() => zipped(entry({ name: 'x', type: '6' })), /FIFO/],
  'a sparse file': [() => zipped(entry({ name: 'x', type: 'S' })), /sparse/],
  'a sparse file in a pax header': [() => zipped(pax({ 'GNU.sparse.major': '1' }), entry({ name: 'x' })), /sparse/],
  'an unknown kind': [() => zipped(entry({ name: 'x', type: 'Z' })), /unknown kind/],
  'a name twice': [() => zipped(entry({ name: 'x' }), entry({ name: 'x' })), /each name may be once/],
  'a name twice by case': [() => zipped(entry({ name: 'Readme' }), entry({ name: 'README' })), /each name may be once/],
  'a manifest twice by case': [() => zipped(entry({ name: 'Manifest.json' })), /each name may be once/],
  'directories twice by case': [() => zipped(entry({ name: 'A/x' }), entry({ name: 'a/y' })), /each name may be once/],
  'a name twice by form': [() => zipped(entry({ name: 'é' }), entry({ name: 'é' })), /each name may be once/],
  'a file as a directory': [() => zipped(entry({ name: 'x' }), entry({ name: 'x/y' })), /each name may be once/],
  'a NUL in a name': [() => zipped(entry({ name: 'a\0b' })), /NUL/],
  'a NUL in a pax header': [() => zipped(pax({ path: 'a\0b' }), entry({ name: 'x' })), /NUL/],
  'a control character': [() => zipped(entry({ name: 'a\u001b[2J' })), /control character/],
  'a long part of a name': [() => zipped(pax({ path: 'n'.repeat(256) }), entry({ name: 'x' })), /255 bytes/],
  'a long path': [
    () => zipped(pax({ path: `${'n/'.repeat(2)}${`${'n'.repeat(250)}/`.repeat(5)}x` }), entry({ name: 'x' })),
    /1024 bytes/,
  ],
  'a deep name': [() => zipped(entry({ name: deep(33) })), /deeper than 32/],
  'too many files': [
    () => zipped(...Array.from({ length: 2_000 }, (_, at) => entry({ name: `f${at}` }))),
    /more than 2000/,
  ],
  'too many implied directories': [
    () => zipped(...Array.from({ length: 100 }, (_, at) => entry({ name: `${at}/${deep(25)}` }))),
    /more than 2000/,
  ],
  'many empty headers': [
    () => zipped(...Array.from({ length: 4_001 }, () => pax({ path: 'x' }, 'g'))),
    /more than 2000|one path/,
  ],
  'too many bytes': [
    () =>
      zipped(
        entry({ name: 'x', content: Buffer.alloc(9 << 20) }),
        entry({ name: 'y', content: Buffer.alloc(9 << 20) }),
      ),
    /16777216 bytes/,
  ],
  'one large file': [() => zipped(entry({ name: 'x', content: Buffer.alloc(ALMOST_ALL) })), /the limit is 16777216/],
  'a gzip bomb': [() => gzipSync(Buffer.alloc(64 << 20)), /16777216 bytes when it is unpacked/],
  'a size over the archive': [() => zipped(entry({ name: 'x', size: '00077777777' })), /middle of an entry/],
  'a negative size': [() => zipped(entry({ name: 'x', size: '-0000000001' })), /not a number/],
  'a binary size': [() => zipped(entry({ name: 'x', size: '\u00ff\u00ff\u00ff' })), /not a number/],
  'two sizes': [() => zipped(pax({ size: '512' }), entry({ name: 'x' }), Buffer.alloc(512)), /two sizes/],
  'a directory with content': [() => zipped(entry({ name: 'x/', type: '5', content: 'y' })), /has content/],
  'a wrong checksum': [() => gzipSync(archive().fill(0x41, 10, 12)), /not a tar archive/],
  'no end mark': [() => gzipSync(archive().subarray(0, -1024)), /no end mark/],
  'half an end mark': [() => gzipSync(archive().subarray(0, -512)), /no end mark/],
  'an entry after the end mark': [
    () => gzipSync(Buffer.concat([archive(), entry({ name: 'x' }), END])),
    /follows its end mark/,
  ],
  'garbage after the gzip data': [
    () => Buffer.concat([zipped(), Buffer.from('garbage')]),
    /follows its gzip data|damaged/,
  ],
  'a cut archive': [() => zipped().subarray(0, -20), /damaged/],
  'no gzip': [() => archive(), /not gzip/],
  nothing: [() => Buffer.alloc(0), /not gzip|damaged|gzip data/],
  'an empty tar': [() => gzipSync(END), /no manifest.json/],
  'no manifest at the top': [
    () => gzipSync(Buffer.concat([entry({ name: 'a/manifest.json', content: '{}' }), END])),
    /no manifest.json/,
  ],
  'a manifest that is a directory': [
    () => gzipSync(Buffer.concat([entry({ name: 'manifest.json/', type: '5' }), END])),
    /manifest/,
  ],
  'a malformed manifest': [
    () => gzipSync(Buffer.concat([entry({ name: 'manifest.json', content: '{"name":"x"}' }), END])),
    /not valid: .*version/,
  ],
}

// verifies: R74
test.each(Object.entries(REFUSED))('%s is refused, and nothing is left', async (_what, [make, why]) => {
  const before = uploads()
  const made = make()
  // Making one may take longer than the server keeps an idle connection: its end is noticed before the next request.
  await nextTurn()
  const { status, body } = await send(made)
  expect({ status, code: body.code, detail: body.detail }).toMatchObject({ status: 422, code: 'archive_refused' })
  expect(body.detail).toMatch(why)
  expect(body.detail).not.toContain(place.home)
  expect(uploads()).toEqual(before)
  expect((await listed()).some(({ name }) => name === 'sent' || name === 'x')).toBe(false)
})

test('what has no container, or an announced digest of another archive, is refused (R74)', async () => {
  const { container: _, ...bare } = MANIFEST
  const local = gzipSync(Buffer.concat([entry({ name: 'manifest.json', content: JSON.stringify(bare) }), END]))
  expect(await send(local)).toMatchObject({ status: 422, body: { code: 'upload_needs_container' } })
  const other = await send(zipped(), `?sha256=${'0'.repeat(64)}`)
  expect(other).toMatchObject({ status: 422, body: { code: 'archive_refused' } })
  expect((await send(zipped(), '?sha256=x')).status).toBe(422)
  expect(uploads()).toEqual([])
})

// verifies: R74
test('only a token of scope admin, for all instances, may send; and only an archive', async () => {
  const tokens = openTokens(place.home)
  for (const scope of ['read', 'run'] as const) {
    const lesser = (await tokens.create({ scope })).token
    expect(await send(zipped(), '', { token: lesser, authorization: `Bearer ${lesser}` })).toMatchObject({
      status: 403,
      body: { code: 'scope_missing' },
    })
  }
  const narrow = (await tokens.create({ scope: 'run', instance: '0123456789ab' })).token
  expect(await send(zipped(), '', { authorization: `Bearer ${narrow}` })).toMatchObject({
    status: 403,
    body: { code: 'token_narrow' },
  })
  expect((await send(zipped(), '', { authorization: 'Bearer none' })).status).toBe(401)
  for (const type of ['application/json', 'application/x-tar', 'text/plain']) {
    expect(await send('{}', '', { 'content-type': type })).toMatchObject({
      status: 415,
      body: { code: 'media_type_refused', detail: 'The body must have Content-Type: application/gzip.' },
    })
  }
  expect((await send(zipped(), '', { 'content-encoding': 'gzip' })).status).toBe(415)
  // An archive is no body of another operation.
  const pruned = await fetch(`${server.url}/api/prune`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/gzip' },
    body: new Uint8Array(zipped()),
  })
  expect(pruned.status).toBe(415)
  const { host, port } = new URL(server.url)
  const head = ['POST /api/resolvers HTTP/1.1', `Host: ${host}`, `Authorization: Bearer ${token}`]
  const large = [...head, 'Content-Type: application/gzip', `Content-Length: ${18 << 20}`, 'Connection: close']
  const answer = await exchange(Number(port), `${large.join('\r\n')}\r\n\r\n`)
  expect(answer).toMatch(/^HTTP\/1\.1 413 [\s\S]*input_too_large/)
  expect(uploads()).toEqual([])
})

// verifies: R74
test('an archive is stored under its digest, with plain modes; a dry run stores nothing', async () => {
  const tar = archive(
    entry({ name: './', type: '5' }),
    entry({ name: './lib/', type: '5', mode: '0007777' }),
    entry({ name: './lib/run.sh', mode: '0006777', content: '#!/bin/sh\n' }),
    pax({ path: `lib/${'long-'.repeat(30)}.txt`, mtime: '1.5' }),
    entry({ name: 'short', content: 'long name' }),
    entry({ name: 'main.mjs', content: 'x', magic: 'ustar  \0' }),
  )
  const digest = digestOf(tar)
  const dry = await send(gzipSync(tar), `?sha256=${digest}&dry_run=true`)
  expect(dry).toMatchObject({ status: 200, body: { resolver: null, plan: { name: 'sent', replaces: null } } })
  expect(uploads()).toEqual([])

  const added = await send(gzipSync(tar), `?sha256=${digest}`)
  expect(added.status).toBe(200)
  const wanted = { name: 'sent', kind: 'directory', source: `upload:${digest}`, commit: null, dir: null }
  expect(added.body.resolver).toMatchObject(wanted)
  expect((await listed()).find(({ name }) => name === 'sent')).toMatchObject(wanted)
  const dir = join(place.home, 'uploads', digest)
  expect(uploads()).toEqual([digest])
  expect(readdirSync(dir).sort()).toEqual(['lib', 'main.mjs', 'manifest.json'])
  expect(readFileSync(join(dir, `lib/${'long-'.repeat(30)}.txt`), 'utf8')).toBe('long name')
  expect(statSync(join(dir, 'lib/run.sh')).mode & 0o7777).toBe(0o700)
  expect(statSync(join(dir, 'lib')).mode & 0o7777).toBe(0o700)
  expect(statSync(join(dir, 'main.mjs')).mode & 0o7777).toBe(0o600)

  const again = await send(gzipSync(tar, { level: 1 }))
  expect(again.status).toBe(200)
  const next = await send(zipped(entry({ name: 'new' })))
  expect(next.body.resolver?.['source']).not.toBe(`upload:${digest}`)
  expect(uploads()).toHaveLength(2)
})

// verifies: R74
test('an uploaded resolver is never a program of the server', async () => {
  await send(zipped())
  const response = await fetch(`${server.url}/api/instances`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ resolver: 'sent', input: {}, executor: 'local' }),
  })
  expect({ status: response.status, body: await response.json() }).toMatchObject({
    status: 422,
    body: { code: 'upload_needs_container' },
  })
  const here = await place.run('run', 'sent', '--executor', 'local', '--json')
  expect(here.code).toBe(5)
  expect(JSON.parse(here.stdout)).toMatchObject({ error: { code: 'upload_needs_container' } })
})

test('an upload replaces a resolver from elsewhere only with force, and tells no path of the server', async () => {
  const { dir } = plainResolver('', { name: 'owned' })
  expect(await place.run('resolver', 'add', dir, '--no-check')).toMatchObject({ code: 0 })
  const content = JSON.stringify({ ...MANIFEST, name: 'owned' })
  const owned = gzipSync(Buffer.concat([entry({ name: 'manifest.json', content }), END]))
  const refused = await send(owned)
  expect(refused).toMatchObject({ status: 409, body: { code: 'resolver_exists' } })
  expect(JSON.stringify(refused.body)).not.toContain(dir)
  const dry = await send(owned, '?dry_run=true')
  expect(dry.body.plan).toMatchObject({ needs_force: true, replaces: { kind: 'directory', source: null, dir: null } })
  expect((await send(owned, '?force=true')).status).toBe(200)
})

test('one key is one upload, and belongs to one archive and one question (R11)', async () => {
  const key = { 'idempotency-key': 'upload-once' }
  const first = await send(zipped(), '', key)
  const second = await send(zipped(), '', key)
  expect(second.headers.get('idempotency-replayed')).toBe('true')
  expect(second.body).toEqual(first.body)
  expect(await send(zipped(entry({ name: 'other' })), '', key)).toMatchObject({ body: { code: 'key_reused' } })
  expect(await send(zipped(), '?dry_run=true', key)).toMatchObject({ body: { code: 'key_reused' } })
})

// verifies: R74
test('a server takes no archive unless it was told to', async () => {
  const other = newHome()
  const closed = await startServe(other.home)
  try {
    const admin = (await openTokens(other.home).create({ scope: 'admin' })).token
    const refused = await send(zipped(), '', { url: closed.url, authorization: `Bearer ${admin}` })
    expect(refused).toMatchObject({ status: 403, body: { code: 'uploads_off' } })
    expect(refused.body).toMatchObject({ hint: expect.stringContaining('--uploads') })
    expect(existsSync(join(other.home, 'uploads'))).toBe(false)
  } finally {
    closed.kill('SIGTERM')
    await closed.ended
    await other.end()
  }
})

// verifies: R74
test.each(['upload.unpacked', 'upload.placed', 'catalog.written'])(
  'a kill at %s leaves the old catalog whole, and the next start cleans up',
  async (step) => {
    const other = newHome()
    try {
      await other.run('resolver', 'list')
      const admin = (await openTokens(other.home).create({ scope: 'admin' })).token
      const killed = await startServe(other.home, ['--uploads'], { RESOLVE_FAILPOINTS: `${step}=kill` })
      await expect(send(zipped(), '', { url: killed.url, authorization: `Bearer ${admin}` })).rejects.toThrow()
      expect(await killed.ended).toBe('SIGKILL')
      const next = await startServe(other.home, [], { RESOLVE_UPLOADS: '1' })
      try {
        const left = readdirSync(join(other.home, 'uploads')).filter((name) => !/^[0-9a-f]{64}$/.test(name))
        expect(left).toEqual([])
        const sent = await send(zipped(), '', { url: next.url, authorization: `Bearer ${admin}` })
        expect(sent).toMatchObject({ status: 200, body: { resolver: { name: 'sent' } } })
      } finally {
        next.kill('SIGTERM')
        await next.ended
      }
    } finally {
      await other.end()
    }
  },
)
