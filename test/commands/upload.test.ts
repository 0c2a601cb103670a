/** `resolver add` to a server: a directory is packed, sent, shown and registered there. */

import { randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openTokens } from '../../src/core/index.ts'
import { describeWithDocker, removeContainersOf, testImage } from '../support/docker.ts'
import { type Home, newHome } from './cli.ts'
import { type ServeProcess, startServe } from './serving.ts'

vi.setConfig({ testTimeout: 120_000 })

let over: Home
let client: Home
let server: ServeProcess
let token: string
let dir: string

beforeAll(async () => {
  ;[over, client] = [newHome(), newHome()]
  token = (await openTokens(over.home).create({ scope: 'admin' })).token
  server = await startServe(over.home, ['--uploads'])
})

afterAll(async () => {
  server.kill('SIGTERM')
  await server.ended
  for (const place of [over, client]) await place.end()
})

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'resolve-sent-'))
  write('manifest.json', manifest('1.0.0'))
  write('main.mjs', 'process.exit(1)\n')
  write('.git/config', 'secret')
  write('lib/.git', 'secret')
  write('lib/part.mjs', 'export {}\n')
  mkdirSync(join(dir, 'node_modules/.bin'), { recursive: true })
  symlinkSync('../x', join(dir, 'node_modules/.bin/x'))
  write('node_modules/x/index.js', '1\n')
  return () => rmSync(dir, { recursive: true })
})

const manifest = (version: string) => ({
  name: 'from-afar',
  version,
  description: 'Comes from a client',
  command: ['node', 'main.mjs'],
  container: {},
})

function write(path: string, content: unknown): void {
  mkdirSync(join(dir, path, '..'), { recursive: true })
  writeFileSync(join(dir, path), typeof content === 'string' ? content : JSON.stringify(content))
}

const remote = (...args: string[]) => client.with({ env: { RESOLVE_TOKEN: token } }, ...args, '--server', server.url)

// verifies: R74
test('a directory is added to a server, shown, replaced by its next version, and removed with its files', async () => {
  const dry = await remote('resolver', 'add', dir, '--dry-run', '--json')
  expect(dry).toMatchObject({ code: 0 })
  expect(JSON.parse(dry.stdout)).toMatchObject({
    schema: 'resolve.add-plan/1',
    plan: { name: 'from-afar', kind: 'directory', replaces: null, container: { command: ['node', 'main.mjs'] } },
  })
  expect((await remote('resolver', 'show', 'from-afar')).code).toBe(6)

  const added = await client.with(
    { env: { RESOLVE_TOKEN: token, RESOLVE_URL: server.url }, cwd: dir },
    ...['resolver', 'add', '.', '--json'],
  )
  expect(added).toMatchObject({ code: 0 })
  const document = JSON.parse(added.stdout)
  const { schema, resolver, warnings } = document
  // Without an engine or an image it can't run yet; with both, its program ends at once.
  expect({ schema, warnings }).toEqual({
    schema: 'resolve.resolver/1',
    warnings: [expect.stringMatching(/^from-afar cannot run yet: .*(image|Docker)|^Asked for its form, it failed:/)],
  })
  expect(resolver).toMatchObject({
    name: 'from-afar',
    kind: 'directory',
    source: expect.stringMatching(/^upload:/),
    dir: null,
  })
  const files = join(over.home, 'uploads', resolver.source.slice('upload:'.length))
  expect(readdirSync(files).sort()).toEqual(['lib', 'main.mjs', 'manifest.json', 'node_modules'])
  expect(readdirSync(join(files, 'lib'))).toEqual(['part.mjs'])
  expect(readdirSync(join(files, 'node_modules'))).toEqual(['x'])
  expect(readFileSync(join(files, 'main.mjs'), 'utf8')).toBe('process.exit(1)\n')

  write('manifest.json', manifest('1.1.0'))
  const next = await remote('resolver', 'add', dir, '--yes')
  expect(next).toMatchObject({ code: 0, stdout: 'from-afar 1.1.0 added.\n' })
  expect(next.stderr).toMatch(/replaces +1\.0\.0 from upload:[0-9a-f]+\n[\s\S]*sent +4 files, \d+ B, without \.git/)
  expect((await remote('resolver', 'list')).stdout).toMatch(/from-afar +1\.1\.0 +upload/)

  // What only the development needs is not sent.
  write('node_modules/tool/index.js', '1\n')
  write('node_modules/@types/node/index.d.ts', '1\n')
  write('node_modules/.package-lock.json', {
    packages: {
      'node_modules/x': {},
      'node_modules/tool': { dev: true },
      'node_modules/@types/node': { dev: true },
      'node_modules/x/../../lib': { dev: true },
    },
  })
  const lean = await remote('resolver', 'add', dir, '--yes')
  expect(lean.stderr).toMatch(/sent +5 files, \d+ B, without \.git and 2 development packages\n/)
  const found = JSON.parse((await remote('resolver', 'show', 'from-afar', '--json')).stdout) as typeof document
  const sent = join(over.home, 'uploads', found.resolver.source.slice('upload:'.length))
  expect(readdirSync(join(sent, 'node_modules')).sort()).toEqual(['.package-lock.json', 'x'])
  expect(readdirSync(join(sent, 'lib'))).toEqual(['part.mjs'])

  // On the machine of the server it is an entry as any other.
  expect(await over.run('resolver', 'update', 'from-afar')).toMatchObject({
    code: 0,
    stdout: 'from-afar 1.1.0 is up to date\n',
  })
  expect((await over.run('resolver', 'show', 'from-afar')).stdout).toContain(join(over.home, 'uploads'))
  expect(readdirSync(join(over.home, 'uploads')).filter((name) => name !== '.lock')).toHaveLength(3)
  const lesser = { RESOLVE_TOKEN: (await openTokens(over.home).create({ scope: 'run' })).token }
  const act = ['resolver', 'remove', 'from-afar', '--server', server.url]
  expect(await client.with({ env: lesser }, ...act)).toMatchObject({ code: 4 })
  const removed = await remote('resolver', 'remove', 'from-afar', '--json')
  expect(removed).toMatchObject({ code: 0 })
  expect(JSON.parse(removed.stdout)).toMatchObject({
    schema: 'resolve.resolver/1',
    resolver: { name: 'from-afar', version: '1.1.0', dir: null },
    removed: true,
  })
  expect(await remote('resolver', 'remove', 'from-afar')).toMatchObject({ code: 6 })
  expect((await remote('resolver', 'show', 'from-afar')).code).toBe(6)
  expect(readdirSync(join(over.home, 'uploads')).filter((name) => name !== '.lock')).toEqual([])
  expect(existsSync(client.home)).toBe(false)
})

// verifies: R74
test('what a server would refuse is refused before it is sent, and what it refuses is told', async () => {
  const add = async (...args: string[]) => {
    const { code, stdout } = await remote('resolver', 'add', ...args, '--json')
    return { exit: code, ...(JSON.parse(stdout).error as { code: string; message: string }) }
  }
  expect(await add(join(dir, 'nowhere'))).toMatchObject({ exit: 6, code: 'source_missing' })
  for (const source of [
    'https://example.com/team/plan.git',
    'git@example.com:plan.git',
    'plan @ git+https://example.com/p.git',
  ])
    expect(await add(source)).toMatchObject({
      exit: 2,
      code: 'usage',
      message: expect.stringContaining('Only a directory'),
    })
  symlinkSync('/etc/passwd', join(dir, 'lib/link'))
  expect(await add(dir)).toMatchObject({
    exit: 5,
    code: 'archive_refused',
    message: expect.stringContaining('"lib/link" is a link'),
  })
  rmSync(join(dir, 'lib/link'))
  writeFileSync(join(dir, 'large'), Buffer.alloc(17 << 20))
  expect(await add(dir)).toMatchObject({
    exit: 5,
    code: 'archive_refused',
    message: expect.stringContaining('16777216 bytes'),
  })
  rmSync(join(dir, 'large'))
  write('manifest.json', { ...manifest('1.0.0'), name: 'Not A Name' })
  expect(await add(dir)).toMatchObject({
    exit: 5,
    code: 'archive_refused',
    message: expect.stringContaining('manifest.json is not valid: name'),
  })
  const { container: _, ...bare } = manifest('1.0.0')
  write('manifest.json', bare)
  expect(await add(dir)).toMatchObject({ exit: 5, code: 'upload_needs_container' })
})

test('a token of scope run, and a server without --uploads, are refused with what to do (R74)', async () => {
  const lesser = (await openTokens(over.home).create({ scope: 'run' })).token
  const env = { RESOLVE_TOKEN: lesser, RESOLVE_URL: server.url }
  // Also where the directory is too large: a smaller one would not be taken either.
  writeFileSync(join(dir, 'large'), Buffer.alloc(17 << 20))
  const scope = await client.with({ env }, 'resolver', 'add', dir)
  expect(scope).toMatchObject({ code: 4, stderr: expect.stringContaining('needs the scope "admin"') })
  rmSync(join(dir, 'large'))
  const other = newHome()
  const closed = await startServe(other.home)
  try {
    const admin = (await openTokens(other.home).create({ scope: 'admin' })).token
    const refused = await client.with(
      { env: { RESOLVE_TOKEN: admin, RESOLVE_URL: closed.url } },
      'resolver',
      'add',
      dir,
    )
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('resolve serve --uploads') })
  } finally {
    closed.kill('SIGTERM')
    await closed.ended
    await other.end()
  }
})

test('an archive is sent once, and a refusal is told however large it is', async () => {
  // A proxy in front of the server counts what arrives.
  const behind = await startServe(over.home, ['--uploads', '--allowed-host', '127.0.0.1'])
  const seen: string[] = []
  const proxy = createServer((socket) => {
    const there = connect(Number(new URL(behind.url).port), '127.0.0.1')
    socket.on('data', (bytes: Buffer) => {
      const line = /^[A-Z]+ \S*resolvers\S* HTTP/.exec(bytes.toString('latin1'))?.[0]
      if (line !== undefined) seen.push(line)
    })
    for (const end of [socket, there]) end.on('error', () => [socket, there].map((one) => one.resetAndDestroy()))
    socket.pipe(there).pipe(socket)
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const add = async (bearer: string, ...more: string[]) =>
    await client.with({ env: { RESOLVE_TOKEN: bearer } }, 'resolver', 'add', dir, '--server', url, ...more)
  try {
    const told = await add(token)
    expect(told).toMatchObject({ code: 0, stdout: 'from-afar 1.0.0 added.\n' })
    expect(told.stderr).toMatch(/in container +node main\.mjs\n[\s\S]*sent +4 files/)
    expect(seen.filter((line) => line.startsWith('POST'))).toHaveLength(1)

    write('large.bin', randomBytes(5 << 20).toString('hex'))
    for (const [bearer, code] of [
      ['none', 'token_refused'],
      [(await openTokens(over.home).create({ scope: 'run' })).token, 'scope_missing'],
    ] as const) {
      seen.length = 0
      const { stdout } = await add(bearer, '--json')
      expect(JSON.parse(stdout).error).toMatchObject({ code })
      // The token is checked before the directory is packed and sent.
      expect(seen).toEqual([])
    }
  } finally {
    proxy.close()
    behind.kill('SIGTERM')
    await behind.ended
    await remote('resolver', 'remove', 'from-afar')
  }
})

describeWithDocker('with a Docker engine', () => {
  // verifies: R74
  test('the files of a removed upload stay while an instance that has not ended needs them', async () => {
    const place = newHome()
    const image = { RESOLVE_WORKER_IMAGE: testImage() }
    const serving = await startServe(place.home, ['--uploads'], image)
    const env = {
      RESOLVE_TOKEN: (await openTokens(place.home).create({ scope: 'admin' })).token,
      RESOLVE_URL: serving.url,
    }
    const here = (...args: string[]) => client.with({ env }, ...args)
    const left = () => readdirSync(join(place.home, 'uploads')).filter((name) => name !== '.lock')
    try {
      write('manifest.json', { ...manifest('1.0.0'), container: { setup_commands: ['sleep 300'] } })
      expect(await here('resolver', 'add', dir, '--no-prepare')).toMatchObject({ code: 0 })
      const run = await here('run', 'from-afar', '--detach', '--json')
      const id = JSON.parse(run.stdout).instance_id as string
      expect(await here('resolver', 'remove', 'from-afar')).toMatchObject({ code: 0 })
      expect(left()).toHaveLength(1)
      expect(await here('instance', 'stop', id, '--force')).toMatchObject({ code: 0 })
      expect(await here('instance', 'wait', id)).toMatchObject({ code: 3 })

      write('manifest.json', manifest('2.0.0'))
      expect(await here('resolver', 'add', dir)).toMatchObject({ code: 0 })
      expect(left()).toHaveLength(2)
      expect(await here('resolver', 'remove', 'from-afar')).toMatchObject({ code: 0 })
      expect(left()).toEqual([])
    } finally {
      serving.kill('SIGTERM')
      await serving.ended
      await removeContainersOf(place.home)
      await place.end()
    }
  })
})
