/** Sources are their author's: what they hold can neither lead out of their directory, nor hold up the plan, nor end the host. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { detectPlan } from '../../../src/core/reality-check/plan/plan.ts'
import { openSourceTree } from '../../../src/core/reality-check/plan/source-tree.ts'
import { faultOf, json, nothingGiven, planOf } from './support.ts'

const made: string[] = []
afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true })
})

function directoryWith(files: Record<string, string>): string {
  const directory = mkdtempSync(join(tmpdir(), 'plan-'))
  made.push(directory)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(directory, path, '..'), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  return directory
}

async function outcomeIn(directory: string) {
  const tree = openSourceTree(directory)
  try {
    return await detectPlan(tree, nothingGiven)
  } finally {
    tree.close()
  }
}

const started = json({ scripts: { start: 'node a.js' } })

test('a real directory gives the same plan as its files', async () => {
  const files = { 'package.json': started, 'src/a.js': '', '.env.example': 'PORT=4001' }
  const outcome = await outcomeIn(directoryWith(files))
  const { needs: _, paths: __, ...plan } = await planOf(files)
  expect(outcome).toMatchObject({ plan })
})

test('a link, a FIFO and a directory are no manifest', async () => {
  const outside = directoryWith({ 'package.json': started, 'go.mod': 'module secret' })
  const linked = directoryWith({})
  symlinkSync(join(outside, 'package.json'), join(linked, 'package.json'))
  symlinkSync(outside, join(linked, 'app'))
  expect(await outcomeIn(linked)).toMatchObject({ fault: expect.stringMatching(/^Nothing in the software/) })
  const odd = directoryWith({ 'Cargo.toml/x': '', 'pom.xml/x': '' })
  execFileSync('mkfifo', [join(odd, 'package.json'), join(odd, 'Procfile'), join(odd, 'Dockerfile')])
  expect(await outcomeIn(odd)).toMatchObject({ fault: expect.stringMatching(/^Nothing in the software/) })
})

test('a tree reads no file by way of a link or of a path that leads out', async () => {
  const outside = directoryWith({ 'secret.txt': 'secret' })
  const inside = directoryWith({ 'a.txt': 'a' })
  symlinkSync(outside, join(inside, 'link'))
  const tree = openSourceTree(inside)
  expect(await tree.read('a.txt')).toBe('a')
  expect(await tree.read('a.txt', 0)).toBeUndefined()
  for (const path of [
    'link/secret.txt',
    '../x',
    `../${outside.split('/').pop()}/secret.txt`,
    '/etc/passwd',
    '',
    'a.txt/b',
  ])
    expect([path, await tree.read(path)]).toEqual([path, undefined])
  expect(await tree.list('')).toEqual([{ name: 'a.txt', kind: 'file' }])
  expect(await tree.list('link')).toEqual([])
  expect(await tree.list('..')).toEqual([])
  tree.close()
})

test('a manifest of 5 MB is refused', async () => {
  const directory = directoryWith({ 'package.json': json({ x: 'y'.repeat(5_000_000) }) })
  expect(await outcomeIn(directory)).toEqual({
    fault: 'package.json has more than 1048576 bytes: give a smaller file.',
  })
})

test('manifests that are nested, broken or of another shape are refused', async () => {
  const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`
  expect(await faultOf({ 'package.json': deep })).toMatch(/^package\.json (?:nests deeper|is not an object)/)
  expect(await faultOf({ 'package.json': `{"a":${'['.repeat(40)}${']'.repeat(40)}}` })).toMatch(/nests deeper than 32/)
  for (const text of ['', '{', '[]', '"x"', 'null', '\0'])
    expect(await faultOf({ 'package.json': text })).toMatch(/^package\.json is not an object in JSON/)
  expect(await faultOf({ 'Cargo.toml': '[[[' })).toMatch(/^Cargo\.toml is not an object in TOML/)
  expect(await faultOf({ 'pyproject.toml': `a = ${'['.repeat(5_000)}` })).toMatch(
    /^pyproject\.toml is not an object in TOML/,
  )
})

test('fields of other types are as if they were not there', async () => {
  const odd = {
    scripts: ['start'],
    dependencies: 'x',
    main: 3,
    bin: [1],
    workspaces: { packages: 5 },
    engines: 'node',
    packageManager: {},
  }
  expect(await faultOf({ 'package.json': json(odd) })).toMatch(/^Nothing in the software/)
  expect(await faultOf({ 'pyproject.toml': 'project = 3\ntool = "x"\nbuild-system = []' })).toMatch(
    /^Nothing in the software/,
  )
  expect((await planOf({ 'Cargo.toml': 'package = 1\nbin = 3\nworkspace = []' })).type).toBe('library')
})

test('texts of the sources do not become words of a command', async () => {
  const script = { scripts: { start: 'node a.js\nrm -rf /', build: '$(touch x)' }, packageManager: 'pnpm@9.0.0;id' }
  const { start, build } = await planOf({ 'package.json': json(script) })
  expect([start, build]).toEqual([
    'npm_config_cache="$RESOLVE_CACHE/npm" npx --yes --offline pnpm@9.0.0 run start',
    expect.not.stringContaining('touch'),
  ])
  const cargo = await planOf({
    'Cargo.toml': '[package]\nname = "a; id"\n[dependencies]\naxum = "1"',
    'src/main.rs': '',
  })
  expect(cargo.build).toMatch(/--bin 'a; id'$/)
  expect(cargo.start).toBe("./'target/release/a; id'")
  const uv = '[[package]]\nname = "a"\nversion = "1; id"\n'
  const python = await planOf({
    'pyproject.toml': '[project]\nname = "x"\ndependencies = ["a; $(id)"]',
    'uv.lock': uv,
    'main.py': 'x.run()',
  })
  expect(python.fetch?.command).toMatch(/ 'a; \$\(id\)'$/)
  const bin = await planOf({ 'package.json': json({ bin: { 'x;id': 'a.js', up: '../../a', ok: "it's.js" } }) })
  expect(bin.build).toBe(`mkdir -p .resolve-bin && chmod +x 'it'\\''s.js' && ln -sf '../it'\\''s.js' .resolve-bin/ok`)
})

test('paths that manifests name stay inside', async () => {
  const files = {
    'package.json': json({
      scripts: { start: 'x' },
      workspaces: ['../*', '/etc/*', '../../x'],
      dependencies: { a: 'file:../../etc' },
    }),
    'requirements.txt': '',
  }
  expect((await planOf(files, { language: 'node' })).fetch?.files).toEqual(['package.json'])
  expect(
    (await planOf({ 'requirements.txt': '-r ../../etc/passwd\n-r /etc/passwd\nflask', 'main.py': '' })).fetch?.files,
  ).toEqual(['requirements.txt'])
})

test('a line that a pattern could linger on does not hold up the plan', async () => {
  const long = `${' '.repeat(200_000)}x`
  const files = {
    'requirements.txt': long,
    Procfile: long,
    '.env.example': long,
    'main.py': `x${' '.repeat(100_000)}`,
    Dockerfile: `EXPOSE${long}`,
    '.nvmrc': long,
  }
  const began = performance.now()
  await faultOf(files)
  await faultOf(
    {
      ...files,
      'package.json': json({ scripts: { start: `node ${'-a '.repeat(100_000)}` }, engines: { node: '>'.repeat(200) } }),
    },
    { language: 'node' },
  )
  expect(performance.now() - began).toBeLessThan(3_000)
})
