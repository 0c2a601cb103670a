import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { openCatalog } from '../../src/core/catalog/catalog.ts'
import { builtinsDir, manifest, repository, resolverDir, room, write } from './places.ts'

const programs = join(import.meta.dirname, '../fixtures/catalog')

async function adding(home: string, builtins: string, sources: string[]): Promise<number | null> {
  const child = spawn(process.execPath, [join(programs, 'adds-resolvers.ts'), home, builtins, ...sources], {
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  return code as number | null
}

test('two processes add resolvers at once, and no entry is lost', async () => {
  const home = join(room(), 'home')
  const builtins = builtinsDir('hello')
  const origin = repository()
  origin.publish({ 'manifest.json': manifest('from-git') })
  const names = Array.from({ length: 8 }, (_, index) => `notes-${index}`)
  const dirs = names.map((name) => resolverDir(name))
  const codes = await Promise.all([
    adding(home, builtins, [...dirs.slice(0, 4), origin.source]),
    adding(home, builtins, [origin.source, ...dirs.slice(4)]),
  ])
  expect(codes).toEqual([0, 0])
  const catalog = await openCatalog({ home, builtins })
  expect(catalog.list().map((entry) => entry.name)).toEqual(['from-git', 'hello', ...names])
  expect(readdirSync(home).sort()).toEqual(['resolvers', 'resolvers.json'])
  expect(readdirSync(join(home, 'resolvers'))).toEqual(['from-git'])
})

interface Told {
  versions: Record<string, string>
  problem: string | null
}

function follower(home: string, builtins: string) {
  const child = spawn(process.execPath, [join(programs, 'follows-catalog.ts'), home, builtins], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  /** The next thing told that fits; a test that waits in vain ends at its limit. */
  return async (fits: (told: Told) => boolean): Promise<Told> => {
    for (;;) {
      const { value } = await lines.next()
      const told = JSON.parse(value as string) as Told
      if (fits(told)) return told
    }
  }
}

test('another process sees every change without a restart (S-SVC-20)', async () => {
  const home = join(room(), 'home')
  const builtins = builtinsDir('hello')
  const until = follower(home, builtins)
  await until(({ versions }) => versions['hello'] === '1.0.0')
  const catalog = await openCatalog({ home, builtins })
  const dir = resolverDir('notes')
  await catalog.add(dir, { cwd: '/' })
  await until(({ versions }) => versions['notes'] === '1.0.0')
  write(dir, { 'manifest.json': manifest('notes', { version: '1.1.0' }) })
  await until(({ versions }) => versions['notes'] === '1.1.0')
  write(dir, { 'next.json': manifest('notes', { version: '1.2.0' }) })
  renameSync(join(dir, 'next.json'), join(dir, 'manifest.json'))
  await until(({ versions }) => versions['notes'] === '1.2.0')
  const file = join(home, 'resolvers.json')
  const good = readFileSync(file)
  writeFileSync(file, '{"schema_version": 1')
  expect(await until(({ problem }) => problem === 'catalog_broken')).toMatchObject({
    versions: { hello: '1.0.0', notes: '1.2.0' },
  })
  writeFileSync(file, good)
  await until(({ problem }) => problem === null)
  await catalog.remove('notes')
  await until(({ versions }) => versions['notes'] === undefined)
})

test('a watch ends when it is stopped, and a closed catalog does not keep the process alive', async () => {
  const home = join(room(), 'home')
  const builtins = builtinsDir()
  const [one, two] = [await openCatalog({ home, builtins }), await openCatalog({ home, builtins })]
  let told = 0
  const stop = one.watch(() => {
    told += 1
  })
  await two.add(resolverDir('a'), { cwd: '/' })
  await expect.poll(() => told).toBe(1)
  stop()
  await two.add(resolverDir('b'), { cwd: '/' })
  await one.refresh()
  expect(told).toBe(1)
  await Promise.all([one.close(), two.close()])
})
