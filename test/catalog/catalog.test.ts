import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type CatalogOptions, openCatalog } from '../../src/core/catalog/catalog.ts'
import type { ResolveError } from '../../src/core/errors.ts'
import { builtinsDir, manifest, repository, resolverDir, room, write } from './places.ts'

async function open(options: Partial<CatalogOptions> = {}) {
  const home = options.home ?? join(room(), 'home')
  const problems: ResolveError[] = []
  const builtins = options.builtins ?? builtinsDir()
  const catalog = await openCatalog({ home, builtins, onProblem: (problem) => problems.push(problem), ...options })
  return { home, builtins, catalog, problems, names: () => catalog.list().map((entry) => entry.name) }
}

const onDisk = (home: string) => JSON.parse(readFileSync(join(home, 'resolvers.json'), 'utf8'))

test('built-in resolvers are in the catalog on first use, without a path of this machine (S-SVC-19)', async () => {
  const { home, builtins, catalog, names } = await open({ builtins: builtinsDir('tour', 'hello') })
  expect(names()).toEqual(['hello', 'tour'])
  expect(catalog.get('tour')).toMatchObject({
    kind: 'builtin',
    source: 'builtin',
    commit: null,
    dir: join(builtins, 'tour'),
  })
  expect(Object.keys(onDisk(home).resolvers)).toEqual(['hello', 'tour'])
  expect(readFileSync(join(home, 'resolvers.json'), 'utf8')).not.toContain(builtins)
  expect(statSync(join(home, 'resolvers.json')).mode & 0o777).toBe(0o600)
  expect(statSync(home).mode & 0o777).toBe(0o700)
})

test('a newer program refreshes its built-in resolvers, and drops what it no longer brings', async () => {
  const { home } = await open({ builtins: builtinsDir('hello', 'tour') })
  const newer = write(room(), { 'hello/manifest.json': manifest('hello', { version: '2.0.0' }) })
  const { catalog, names } = await open({ home, builtins: newer })
  expect(names()).toEqual(['hello'])
  expect(catalog.get('hello').version).toBe('2.0.0')
  expect(onDisk(home).resolvers.hello.manifest.version).toBe('2.0.0')
})

test('a removed built-in resolver stays away until its name is added', async () => {
  const first = await open({ builtins: builtinsDir('hello', 'tour') })
  expect(await first.catalog.remove('tour')).toMatchObject({ name: 'tour' })
  const { catalog, names } = await open(first)
  expect(names()).toEqual(['hello'])
  expect(await catalog.add('tour', { cwd: room() })).toMatchObject({ kind: 'builtin' })
  await catalog.remove('tour')
  expect(await catalog.add('builtin:tour', { cwd: room() })).toMatchObject({ kind: 'builtin' })
  expect(onDisk(first.home).removed_builtins).toEqual([])
})

test('a directory is used where it is (R5, S-SVC-18)', async () => {
  const { catalog, home } = await open({ now: () => new Date('2026-02-03T04:05:06.789Z') })
  const dir = resolverDir('notes', { supports_resume: true })
  const entry = await catalog.add('./notes', { cwd: join(dir, '..') })
  expect(entry).toEqual({
    name: 'notes',
    version: '1.0.0',
    description: 'Does what notes does',
    supports_resume: true,
    kind: 'directory',
    source: dir,
    commit: null,
    ref: null,
    dir,
    manifest: manifest('notes', { supports_resume: true }),
    added_at: '2026-02-03T04:05:06.789Z',
  })
  expect((await open({ home })).catalog.list()).toEqual([entry])
})

test('supports_resume is false unless the manifest says otherwise (S-MAN-09)', async () => {
  const { catalog } = await open()
  expect((await catalog.add(resolverDir('notes'), { cwd: '/' })).supports_resume).toBe(false)
})

test('a git source pins the commit it fetched, through every form of its name (R5)', async () => {
  const origin = repository()
  const first = origin.publish({ 'manifest.json': manifest('notes') })
  origin.git('tag', 'v1')
  origin.publish({ 'manifest.json': manifest('notes', { version: '2.0.0' }) })
  const { catalog, home } = await open()
  const entry = await catalog.add(`notes @ ${origin.source}@v1`, { cwd: '/' })
  const dir = join(home, 'resolvers', 'notes', first)
  expect(entry).toMatchObject({
    kind: 'git',
    source: `${origin.source}@v1`,
    ref: 'v1',
    commit: first,
    dir,
    version: '1.0.0',
  })
  expect(readdirSync(dir)).toEqual(['manifest.json'])
  expect(await catalog.add(origin.source, { cwd: '/' })).toMatchObject({ ref: null, version: '2.0.0' })
  expect(existsSync(dir), 'an instance may run in the earlier one').toBe(true)
  expect(readdirSync(join(home, 'resolvers'))).toEqual(['notes'])
})

test('update fetches the ref again, and tells whether anything changed', async () => {
  const origin = repository()
  origin.publish({ 'manifest.json': manifest('notes') })
  const { catalog, home } = await open({ builtins: builtinsDir('hello') })
  const before = await catalog.add(`${origin.source}@main`, { cwd: '/' })
  expect(await catalog.update('notes')).toMatchObject([{ entry: before, changed: false, problem: null }])
  const commit = origin.publish({ 'manifest.json': manifest('notes', { version: '1.1.0' }) })
  expect(await catalog.update()).toMatchObject([
    { entry: { name: 'hello' }, changed: false },
    { entry: { name: 'notes', commit, version: '1.1.0', added_at: before.added_at }, changed: true },
  ])
  rmSync(join(home, 'resolvers', 'notes', commit, 'manifest.json'))
  expect(await catalog.update('notes')).toMatchObject([{ changed: true }])
  expect(existsSync(join(home, 'resolvers', 'notes', commit, 'manifest.json'))).toBe(true)
})

test('a failed update leaves its resolver unchanged, and the others are updated', async () => {
  const origin = repository()
  const commit = origin.publish({ 'manifest.json': manifest('notes') })
  const { catalog, home } = await open()
  await catalog.add(origin.source, { cwd: '/' })
  const dir = resolverDir('other')
  await catalog.add(dir, { cwd: '/' })
  origin.publish({ 'manifest.json': manifest('renamed') })
  write(dir, { 'manifest.json': manifest('other', { version: '1.2.0' }) })
  expect(await catalog.update()).toMatchObject([
    { entry: { name: 'notes', commit }, changed: false, problem: { code: 'manifest_invalid' } },
    { entry: { name: 'other', version: '1.2.0' }, changed: true, problem: null },
  ])
  await expect(catalog.update('notes')).rejects.toMatchObject({ code: 'manifest_invalid' })
  expect(readdirSync(join(home, 'resolvers'))).toEqual(['notes'])
  expect(readdirSync(join(home, 'resolvers', 'notes'))).toEqual([commit])
})

test('a plan registers nothing and shows the command that will run', async () => {
  const origin = repository()
  const container = { setup_commands: ['apt-get update'], volume_mounts: ['cache:/cache'] }
  const commit = origin.publish({
    'manifest.json': manifest('notes', { container, capabilities_required: ['gitea'], later: 1 }),
  })
  const { catalog, home, names } = await open()
  const plan = await catalog.plan(origin.source, '/')
  expect(plan).toMatchObject({
    name: 'notes',
    commit,
    command: ['node', 'resolver.js'],
    container: {
      command: ['node', 'resolver.js'],
      setup_commands: ['apt-get update'],
      bundles: [],
      volume_mounts: ['cache:/cache'],
    },
    capabilities: ['git-server'],
    warnings: [expect.stringContaining('later')],
    replaces: null,
    needs_force: false,
  })
  expect(names()).toEqual([])
  await catalog.close()
  expect(readdirSync(join(home, 'resolvers'))).toEqual([])
})

test('the commit that was shown is the one that is added, even when the branch moved in between', async () => {
  const origin = repository()
  const shown = origin.publish({ 'manifest.json': manifest('notes') })
  const { catalog } = await open()
  await catalog.plan(origin.source, '/')
  origin.publish({ 'manifest.json': manifest('notes', { command: ['evil'] }) })
  expect(await catalog.add(origin.source, { cwd: '/' })).toMatchObject({
    commit: shown,
    manifest: { command: ['node', 'resolver.js'] },
  })
})

// verifies: S-MAN-03
test('a name that another source has is refused unless forced', async () => {
  const { catalog, home } = await open({ builtins: builtinsDir('hello') })
  const [one, two] = [resolverDir('notes'), resolverDir('notes', { version: '2.0.0' })]
  await catalog.add(one, { cwd: '/' })
  await expect(catalog.add(two, { cwd: '/' })).rejects.toMatchObject({
    code: 'resolver_exists',
    details: { source: one },
  })
  await expect(catalog.add(resolverDir('hello'), { cwd: '/' })).rejects.toMatchObject({
    details: { source: 'builtin' },
  })
  expect(await catalog.plan(two, '/')).toMatchObject({ needs_force: true, replaces: { version: '1.0.0' } })
  expect((await catalog.add(two, { cwd: '/', force: true })).version).toBe('2.0.0')
  expect((await catalog.add(two, { cwd: '/' })).version).toBe('2.0.0')
  const origin = repository()
  origin.publish({ 'manifest.json': manifest('notes') })
  await expect(catalog.add(origin.source, { cwd: '/' })).rejects.toMatchObject({ code: 'resolver_exists' })
  expect(readdirSync(join(home, 'resolvers')), 'nothing fetched stays behind').toEqual([])
})

test('without a manifest there is no registration, nor with another name or a faulty one (S-MAN-02)', async () => {
  const { catalog, names } = await open()
  const origin = repository()
  origin.publish({ 'readme.txt': 'x' })
  await expect(catalog.add(room(), { cwd: '/' })).rejects.toMatchObject({ code: 'source_missing' })
  await expect(catalog.add('/nowhere', { cwd: '/' })).rejects.toMatchObject({ code: 'source_missing' })
  await expect(catalog.add(origin.source, { cwd: '/' })).rejects.toMatchObject({ code: 'source_missing' })
  origin.publish({ 'manifest.json': manifest('notes') })
  await expect(catalog.add(`others @ ${origin.source}`, { cwd: '/' })).rejects.toMatchObject({
    code: 'manifest_invalid',
    errors: ['name must be "others", as it was asked for; it is "notes".'],
  })
  await expect(catalog.add(resolverDir('notes', { version: 1, command: [] }), { cwd: '/' })).rejects.toMatchObject({
    errors: [expect.stringMatching(/^version /), expect.stringMatching(/^command /)],
  })
  await expect(catalog.add('builtin:nothing', { cwd: '/' })).rejects.toMatchObject({ code: 'resolver_unknown' })
  expect(names()).toEqual([])
})

test('a manifest that is a link to another file is refused', async () => {
  const { catalog } = await open()
  const secret = join(write(room(), { 'secret.json': manifest('secret') }), 'secret.json')
  const linked = room()
  symlinkSync(secret, join(linked, 'manifest.json'))
  await expect(catalog.add(linked, { cwd: '/' })).rejects.toMatchObject({
    errors: [expect.stringMatching(/symbolic link/)],
  })
  const origin = repository()
  symlinkSync(secret, join(origin.work, 'manifest.json'))
  origin.publish({ x: '' })
  await expect(catalog.add(origin.source, { cwd: '/' })).rejects.toMatchObject({
    errors: [expect.stringMatching(/not JSON/)],
  })
  const pipe = room()
  execFileSync('sh', ['-c', 'mkfifo "$0/manifest.json"', pipe])
  await expect(catalog.add(pipe, { cwd: '/' })).rejects.toMatchObject({
    errors: [expect.stringMatching(/regular file/)],
  })
})

test.each([
  ['over a MiB', ' '.repeat(1024 * 1024 + 1), /limit is 1048576/],
  ['cut short', '{"name": "x"', /not JSON/],
  ['with a key given twice', '{"name": "x", "name": "y"}', /"name" is given twice/],
  ['nested without end', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, /nests deeper than 64/],
  ['not text', Buffer.from([0x7b, 0xff, 0x7d]), /not UTF-8/],
])('a manifest %s is refused with the reason', async (_, content, reason) => {
  const { catalog } = await open()
  const dir = room()
  writeFileSync(join(dir, 'manifest.json'), content)
  await expect(catalog.add(dir, { cwd: '/' })).rejects.toMatchObject({
    code: 'manifest_invalid',
    errors: [expect.stringMatching(reason)],
  })
})

test("a developer's edit takes effect at once, a broken one refuses the use with its error and is still listed and removed (R49)", async () => {
  const { catalog, problems, home } = await open()
  const dir = resolverDir('notes')
  await catalog.add(dir, { cwd: '/' })
  write(dir, { 'manifest.json': manifest('notes', { version: '1.1.0' }) })
  await catalog.refresh()
  expect(catalog.get('notes').version).toBe('1.1.0')
  write(dir, { 'manifest.json': '{' })
  await catalog.refresh()
  await catalog.refresh()
  expect(() => catalog.get('notes')).toThrow(expect.objectContaining({ code: 'manifest_invalid' }))
  expect(catalog.list().map(({ name }) => name)).toEqual(['notes'])
  expect(problems.map(({ code }) => code)).toEqual(['manifest_invalid'])
  expect(catalog.problem()).toBeNull()
  const second = await open({ home })
  expect(() => second.catalog.get('notes')).toThrow(expect.objectContaining({ code: 'manifest_invalid' }))
  expect(second.problems).toHaveLength(1)
  write(dir, { 'manifest.json': manifest('notes', { version: '1.2.0' }) })
  await catalog.refresh()
  expect(catalog.get('notes').version).toBe('1.2.0')
  rmSync(dir, { recursive: true })
  expect((await open({ home })).names()).toEqual(['notes'])
  await catalog.refresh()
  expect(() => catalog.get('notes')).toThrow(expect.objectContaining({ code: 'source_missing' }))
  await catalog.remove('notes')
  expect((await open({ home })).names()).toEqual([])
})

test('an unknown name is answered with the nearest known one', async () => {
  const { catalog } = await open({ builtins: builtinsDir('hello', 'tour') })
  expect(() => catalog.get('helo')).toThrow('No resolver is named "helo". Did you mean "hello"?')
  expect(() => catalog.get('constructor')).toThrow(/^No resolver is named "constructor"\.$/)
  await expect(catalog.remove('nothing')).rejects.toMatchObject({ code: 'resolver_unknown' })
  await expect(catalog.update('nothing')).rejects.toMatchObject({ code: 'resolver_unknown' })
})

test('a name that is a property of every JavaScript object is a name like any other', async () => {
  const { catalog, home } = await open()
  await catalog.add(resolverDir('constructor'), { cwd: '/' })
  expect((await open({ home })).names()).toEqual(['constructor'])
  expect(catalog.get('constructor').name).toBe('constructor')
})

test('listing loads no checker, no git and no watch; start-up stays lean', async () => {
  const { home, builtins } = await open({ builtins: builtinsDir('hello') })
  const program = join(import.meta.dirname, '../fixtures/catalog/lists-lean.ts')
  const output = execFileSync(process.execPath, [program, home, builtins], { encoding: 'utf8' })
  expect(JSON.parse(output)).toEqual({ heavy: [], names: ['hello'] })
})
