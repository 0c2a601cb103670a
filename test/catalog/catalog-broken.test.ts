import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { openCatalog } from '../../src/core/catalog/catalog.ts'
import { ResolveError } from '../../src/core/errors.ts'
import { builtinsDir, manifest, repository, resolverDir, room } from './places.ts'

/** A catalog with one entry of each kind; `again` opens it as a new process would. */
async function three() {
  const home = join(room(), 'home')
  const builtins = builtinsDir('hello')
  const origin = repository()
  origin.publish({ 'manifest.json': manifest('from-git') })
  const catalog = await openCatalog({ home, builtins })
  await catalog.add(origin.source, { cwd: '/' })
  await catalog.add(resolverDir('notes'), { cwd: '/' })
  const file = join(home, 'resolvers.json')
  const problems: ResolveError[] = []
  const again = () => openCatalog({ home, builtins, onProblem: (problem) => problems.push(problem) })
  return { home, builtins, catalog, file, good: readFileSync(file, 'utf8'), again, problems }
}

const names = (catalog: { list(): { name: string }[] }) => catalog.list().map((entry) => entry.name)

test.each<[string, (good: string) => string, string[]]>([
  ['is cut short', (good) => good.slice(0, -20), ['hello']],
  ['is empty', () => '', ['hello']],
  ['is a list', () => '[]', ['hello']],
  [
    'is of a later version',
    (good) => good.replace('"schema_version": 1', '"schema_version": 2'),
    ['from-git', 'hello', 'notes'],
  ],
  ['has a bad entry', (good) => good.replace('"kind": "directory"', '"kind": "folder"'), ['from-git', 'hello']],
  ['has an entry of another name', (good) => good.replace('"notes": {', '"nodes": {'), ['from-git', 'hello']],
  ['has a name twice', (good) => good.replace('"notes": {', '"from-git": {'), ['hello']],
  ['has a faulty manifest', (good) => good.replace('"version": "1.0.0"', '"version": "one"'), ['hello', 'notes']],
  [
    'has a relative path',
    (good) => good.replace(/"source": "\/[^"]*notes"/, '"source": "notes"'),
    ['from-git', 'hello'],
  ],
  ['has an unknown field', (good) => good.replace('"removed_builtins"', '"removed"'), ['from-git', 'hello', 'notes']],
])('a file that %s keeps the last good one, and is never replaced', async (_, damage, usable) => {
  const { catalog, file, good, again, problems } = await three()
  const broken = damage(good)
  expect(broken).not.toBe(good)
  writeFileSync(file, broken)
  await catalog.refresh()
  expect(names(catalog)).toEqual(['from-git', 'hello', 'notes'])
  expect(catalog.problem()).toMatchObject({ code: 'catalog_broken' })

  const first = await again()
  expect(names(first), 'what is good in it is usable').toEqual(usable)
  expect(problems.map(({ code }) => code)).toEqual(['catalog_broken'])
  for (const one of [catalog, first]) {
    await expect(one.add(resolverDir('more'), { cwd: '/' })).rejects.toMatchObject({ code: 'catalog_broken' })
    await expect(one.remove('hello')).rejects.toMatchObject({ code: 'catalog_broken' })
    await expect(one.update()).rejects.toMatchObject({ code: 'catalog_broken' })
  }
  expect(readFileSync(file, 'utf8')).toBe(broken)

  writeFileSync(file, good)
  await catalog.refresh()
  expect(catalog.problem()).toBeNull()
  expect((await catalog.add(resolverDir('more'), { cwd: '/' })).name).toBe('more')
})

// verifies: S-SVC-19
test('a valid edit of resolvers.json by hand is used', async () => {
  const { catalog, file, good } = await three()
  writeFileSync(file, good.replace('Does what from-git does', 'Does something else'))
  await catalog.refresh()
  expect(catalog.problem()).toBeNull()
  expect(catalog.get('from-git').description).toBe('Does something else')
})

test('flipped bytes never do more than break the file, and never lose it', async () => {
  const { file, good, again, problems } = await three()
  const bytes = Buffer.from(good)
  let broken = 0
  await fc.assert(
    fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
      const flipped = Buffer.from(bytes)
      flipped[at] = (flipped[at] as number) ^ mask
      writeFileSync(file, flipped)
      problems.length = 0
      const catalog = await again()
      for (const entry of catalog.list()) expect(entry.manifest.command.length).toBeGreaterThan(0)
      for (const problem of problems) expect(problem).toBeInstanceOf(ResolveError)
      if (catalog.problem() === null) return
      broken += 1
      expect(readFileSync(file).equals(flipped)).toBe(true)
      await expect(catalog.remove('hello')).rejects.toBeInstanceOf(ResolveError)
      expect(readFileSync(file).equals(flipped)).toBe(true)
    }),
    { numRuns: 400 },
  )
  expect(broken).toBeGreaterThan(200)
})

test('a catalog file that was moved away is created anew with the built-in resolvers', async () => {
  const { home, builtins, file } = await three()
  execFileSync('mv', [file, `${file}.old`])
  expect(names(await openCatalog({ home, builtins }))).toEqual(['hello'])
  expect(existsSync(file)).toBe(true)
})

test('a broken built-in manifest removes only that resolver from the list', async () => {
  const builtins = builtinsDir('hello', 'tour')
  writeFileSync(join(builtins, 'tour', 'manifest.json'), '{}')
  const problems: ResolveError[] = []
  const catalog = await openCatalog({
    home: join(room(), 'home'),
    builtins,
    onProblem: (problem) => problems.push(problem),
  })
  expect(names(catalog)).toEqual(['hello'])
  expect(problems).toMatchObject([{ code: 'manifest_invalid' }])
})

test('a home whose parent is a file is refused with a reason', async () => {
  const file = join(room(), 'file')
  writeFileSync(file, '')
  await expect(openCatalog({ home: join(file, 'home'), builtins: builtinsDir('hello') })).rejects.toMatchObject({
    code: 'home_unusable',
  })
})

test.skipIf(process.getuid?.() === 0)('a read-only home still lists resolvers, and refuses to add one', async () => {
  const { home, file, good, again } = await three()
  chmodSync(home, 0o500)
  try {
    const catalog = await again()
    expect(names(catalog)).toHaveLength(3)
    await expect(catalog.add(resolverDir('more'), { cwd: '/' })).rejects.toMatchObject({ code: 'home_unusable' })
    expect(readFileSync(file, 'utf8')).toBe(good)
  } finally {
    chmodSync(home, 0o700)
  }
})

/** A disk of 64 KiB; undefined where this machine lets us mount none. */
function smallDisk(): string | undefined {
  const disk = join(room(), 'small')
  mkdirSync(disk)
  try {
    execFileSync('sh', ['-c', 'mount -t tmpfs -o size=64k tmpfs "$0"', disk], { stdio: 'pipe' })
  } catch {
    return undefined
  }
  onTestFinished(() => void execFileSync('sh', ['-c', 'umount "$0"', disk]))
  return disk
}

test('a full disk is reported as one, and the old file stays intact', async ({ skip }) => {
  const home = smallDisk() ?? skip('no disk to fill')
  const builtins = builtinsDir('hello')
  const catalog = await openCatalog({ home, builtins })
  const file = join(home, 'resolvers.json')
  const good = readFileSync(file, 'utf8')
  execFileSync('sh', ['-c', `head -c 1000000 /dev/zero > ${home}/filler || true`], { stdio: 'pipe' })
  await expect(catalog.add(resolverDir('more'), { cwd: '/' })).rejects.toMatchObject({ code: 'disk_full' })
  expect(readFileSync(file, 'utf8')).toBe(good)
  expect(names(await openCatalog({ home, builtins }))).toEqual(['hello'])
})

test('a read-only disk is reported as one: a home on it still lists, a new home cannot be created', async ({
  skip,
}) => {
  const home = smallDisk() ?? skip('no disk to write-protect')
  const builtins = builtinsDir('hello')
  await openCatalog({ home, builtins })
  execFileSync('sh', ['-c', 'mount -o remount,ro "$0"', home], { stdio: 'pipe' })
  const catalog = await openCatalog({ home, builtins })
  expect(names(catalog)).toEqual(['hello'])
  await expect(catalog.remove('hello')).rejects.toMatchObject({ code: 'home_unusable' })
  expect(names(catalog)).toEqual(['hello'])
  await expect(openCatalog({ home: join(home, 'new'), builtins })).rejects.toMatchObject({ code: 'home_unusable' })

  const problems: ResolveError[] = []
  const newer = builtinsDir('hello', 'tour')
  const upgraded = await openCatalog({ home, builtins: newer, onProblem: (problem) => problems.push(problem) })
  expect(names(upgraded), 'what is built in works all the same').toEqual(['hello', 'tour'])
  expect(problems).toMatchObject([{ code: 'home_unusable' }])
})

test('a FIFO in the place of resolvers.json does not block the reader', async () => {
  const { file, again, problems } = await three()
  rmSync(file)
  execFileSync('mkfifo', [file])
  expect(names(await again())).toEqual(['hello'])
  expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining('it is not a regular file')])
})
