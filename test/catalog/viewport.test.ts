/** Holds how a viewport comes with its resolver: fetched when it is added, kept at its commit, refreshed by an update, read as a whole. */
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openCatalog } from '../../src/core/catalog/catalog.ts'
import { readViewport } from '../../src/core/catalog/viewport.ts'
import type { ResolveError } from '../../src/core/errors.ts'
import { builtinsDir, manifest, type Repository, repository, resolverDir, room, write } from './places.ts'

const ADDRESS = 'ssh://git@example.org/viewport.git'
const path = process.env['PATH'] ?? ''
let home: string
let bundle: Repository

/** Git reaches example.org by a program of ours in the place of ssh: everything else is as it is with a real one. */
beforeEach(() => {
  home = room()
  bundle = repository()
  const bin = room()
  writeFileSync(join(bin, 'ssh'), `#!/bin/sh\nexec git-upload-pack '${bundle.url.replace('file://', '')}'\n`)
  chmodSync(join(bin, 'ssh'), 0o755)
  process.env['PATH'] = `${bin}${delimiter}${path}`
})
afterEach(() => {
  process.env['PATH'] = path
})

const catalogOf = () => openCatalog({ home, builtins: builtinsDir() })
const shown = { viewport_bundle: ADDRESS, viewport_path: 'dist/viewport.js' }
const kept = () =>
  existsSync(join(home, 'resolvers')) ? readdirSync(join(home, 'resolvers'), { recursive: true }) : []

// verifies: R5 S-MAN-11
test('the bundle is fetched when its resolver is added, pinned, and refreshed by an update', async () => {
  const first = bundle.publish({ 'dist/viewport.js': 'export default 1', 'src/other.ts': 'never kept' })
  const catalog = await catalogOf()
  const entry = await catalog.add(resolverDir('shown', shown), { cwd: home })
  expect(entry.viewport_commit).toBe(first)
  expect((await readViewport(home, entry)).toString()).toBe('export default 1')
  expect(kept()).toEqual(['shown', join('shown', `viewport-${first}.js`)])

  const second = bundle.publish({ 'dist/viewport.js': 'export default 2' })
  // Pinned: a newer commit is used only after an update.
  expect((await readViewport(home, catalog.get('shown'))).toString()).toBe('export default 1')
  const [outcome] = await catalog.update('shown')
  expect({ changed: outcome?.changed, commit: outcome?.entry.viewport_commit }).toEqual({
    changed: true,
    commit: second,
  })
  expect((await readViewport(home, catalog.get('shown'))).toString()).toBe('export default 2')
  expect((await catalog.update('shown'))[0]?.changed).toBe(false)
  await catalog.close()

  const again = await catalogOf()
  expect(again.get('shown').viewport_commit).toBe(second)
  await again.close()
})

test('a bundle without the viewport file is refused, and no file of it remains', async () => {
  bundle.publish({ 'README.md': 'nothing built' })
  const catalog = await catalogOf()
  const refused = (await catalog
    .add(resolverDir('shown', shown), { cwd: home })
    .catch((error) => error)) as ResolveError
  expect(refused.code).toBe('manifest_invalid')
  expect(JSON.stringify(refused.errors)).toContain('dist/viewport.js')
  expect(catalog.list()).toEqual([])
  await catalog.close()
  expect(kept()).toEqual([])
})

test('a plan that is not carried out leaves no files', async () => {
  bundle.publish({ 'dist/viewport.js': 'export default 1' })
  const catalog = await catalogOf()
  await catalog.plan(resolverDir('shown', shown), home)
  await catalog.close()
  expect(kept()).toEqual([])
})

test('without a bundle the path names a file of the resolver itself, and none outside of it', async () => {
  const dir = resolverDir('own', { viewport_path: 'viewport.js' })
  write(dir, { 'viewport.js': 'export default 3' })
  const catalog = await catalogOf()
  const entry = await catalog.add(dir, { cwd: home })
  expect((await readViewport(home, entry)).toString()).toBe('export default 3')

  const outside = room()
  write(outside, { 'secret.js': 'secret' })
  const sly = resolverDir('sly', { viewport_path: 'view/secret.js' })
  symlinkSync(outside, join(sly, 'view'))
  const other = resolverDir('none')
  mkdirSync(join(other, 'viewport.js'))
  writeFileSync(join(other, 'manifest.json'), JSON.stringify(manifest('none', { viewport_path: 'viewport.js' })))
  for (const place of [sly, other]) {
    const found = await catalog.add(place, { cwd: home })
    const refused = (await readViewport(home, found).catch((error) => error)) as ResolveError
    expect(refused.code).toBe('file_unknown')
  }
  await catalog.close()
})
