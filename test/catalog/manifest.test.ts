import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import semverValid from 'semver/functions/valid.js'
import { expect, test } from 'vitest'
import { MANIFEST_SCHEMA } from '../../src/core/catalog/manifest/manifest-schema.ts'
import { parseManifest } from '../../src/core/catalog/manifest/parse-manifest.ts'
import { manifest } from './places.ts'

const root = join(import.meta.dirname, '../..')
const faults = async (value: unknown) => (await parseManifest(value)).errors
const faultsOf = (more: Record<string, unknown>) => faults(manifest('notes', more))

test('the published schema is the one that checks (S-MAN-01)', () => {
  const published = JSON.parse(readFileSync(join(root, 'templates/manifest.schema.json'), 'utf8'))
  expect(published).toEqual(MANIFEST_SCHEMA)
})

test('a manifest with every field of the specification is accepted as it is', async () => {
  const whole = manifest('code-review', {
    supports_resume: true,
    capabilities_required: ['git-server'],
    viewport_bundle: 'git+https://example.org/team/viewport@v1',
    viewport_path: 'dist/viewport.js',
    container: {
      command: ['node', '/opt/x/resolver.js', ''],
      setup_commands: ['apt-get update'],
      bundles: ['git+https://example.org/team/bundle@main', 'git@example.org:team/bundle'],
      volume_mounts: ['cache:/cache', { source: 'cache', target: '/cache' }],
      dev_source_overrides: ['amplifier-core'],
    },
  })
  expect(await parseManifest({ ...whole, $schema: 'x' })).toEqual({ manifest: whole, errors: [], warnings: [] })
})

test('the alias gitea is the capability git-server (R4)', async () => {
  const { manifest: parsed } = await parseManifest(manifest('x', { capabilities_required: ['gitea', 'git-server'] }))
  expect(parsed?.capabilities_required).toEqual(['git-server'])
  expect(await faultsOf({ capabilities_required: ['gpu'] })).toEqual([
    'capabilities_required[0] must be a capability this platform has: "git-server" or "model"; it is "gpu".',
  ])
})

test('ten faults are reported at once, each as a sentence', async () => {
  const errors = await faults({
    name: 'My Resolver',
    version: 'v1.0',
    description: 'Reviews code.',
    command: [],
    supports_resume: 'yes',
    capabilities_required: ['gpu'],
    viewport_bundle: 'http://example.org/x',
    viewport_path: '../viewport.js',
    container: { setup_commands: [7], privileged: true },
  })
  expect(errors).toEqual(
    [
      'name must be lower-case words joined by hyphens, at most 64 characters; it is "My Resolver".',
      'version must be a version as MAJOR.MINOR.PATCH, such as 1.0.0, 2.1.0-beta.1 or 1.0.0+build.5; it is "v1.0".',
      'description must be one sentence on one line, at most 500 characters, without a period at its end; it is "Reviews code.".',
      'command must be a non-empty list of texts: a program and its arguments; it is an empty list.',
      'supports_resume must be true or false; it is "yes".',
      'capabilities_required[0] must be a capability this platform has: "git-server" or "model"; it is "gpu".',
      'viewport_bundle must be a git address: https://…, git+https://…@ref, ssh://… or git@host:path; it is "http://example.org/x".',
      'viewport_path must be a path inside the viewport\'s repository, without "..", such as "dist/viewport.js"; it is "../viewport.js".',
      'container.privileged is not a field a manifest can have.',
      'container.setup_commands[0] must be a shell command of 1 to 4096 characters, without NUL; it is 7.',
    ].map((text) => expect.stringContaining(text)),
  )
  expect(errors).toHaveLength(10)
})

test('a missing field is named with its rule (S-MAN-03, S-MAN-05, S-MAN-07, S-MAN-08)', async () => {
  const errors = await faults({})
  expect(errors.map((error) => error.split(' is missing')[0])).toEqual(['name', 'version', 'description', 'command'])
  expect(errors[0]).toBe('name is missing; it must be lower-case words joined by hyphens, at most 64 characters.')
})

test.each([[null], [[]], ['text'], [7], [undefined]])('%j is refused as a manifest', async (value) => {
  const [only, ...more] = await faults(value)
  expect(only).toMatch(/^The manifest must be a JSON object; it is /)
  expect(more).toEqual([])
})

test('names are kebab-case with at most 64 characters, and two names are reserved (R4, S-MAN-03)', async () => {
  for (const name of ['a', 'a-b', '3d-model', 'x'.repeat(64)]) expect(await faults(manifest(name))).toEqual([])
  for (const name of ['', 'A', 'a_b', '-a', 'a-', 'a--b', 'a b', 'ä', 'a\n', '../a', 'x'.repeat(65)]) {
    expect(await faults(manifest(name, { description: 'One thing' })), name).toHaveLength(1)
  }
  expect(await faults(manifest('platform'))).toEqual(['name must not be "platform": that name is reserved.'])
  expect(await faults(manifest('resolver'))).toHaveLength(1)
})

/** semver accepts spaces, "v" and "=", and leaves build metadata out of what it returns. */
const isWhatSemverWrites = (version: string) => {
  const [, core = version, build = ''] = /^([^+]*)((?:[+][0-9A-Za-z-]+(?:[.][0-9A-Za-z-]+)*)?)$/.exec(version) ?? []
  return semverValid(core) === core && `${core}${build}` === version
}

test('a version is what semver writes, with build metadata (S-MAN-05, R51)', async () => {
  const part = fc.oneof(fc.nat(20).map(String), fc.constantFrom('01', '', 'x', 'v1', '99999999999999999999', '-1'))
  const tail = fc.constantFrom(
    '',
    '-beta',
    '-beta.1',
    '-01',
    '-0a',
    '+build',
    '+build.5',
    '-rc.1+a-b.01',
    '+',
    '+a..b',
    '+a+b',
    '-',
    ' ',
    '\n',
    '-a..b',
    '-rc-1.x',
  )
  const head = fc.constantFrom('', 'v', '=', ' ')
  await fc.assert(
    fc.asyncProperty(head, part, part, part, tail, async (before, major, minor, patch, after) => {
      const version = `${before}${major}.${minor}.${patch}${after}`
      expect((await faultsOf({ version })).length === 0).toBe(isWhatSemverWrites(version))
    }),
    { numRuns: 500 },
  )
})

test('a description is one sentence without a period at its end (S-MAN-07)', async () => {
  const good = ['Reviews code', 'Uses e.g. Docker to build', 'Works with Node.js 24', 'Really?', 'X']
  for (const description of good) expect(await faultsOf({ description }), description).toEqual([])
  const bad = ['', ' ', 'Reviews code.', 'Reviews code. Then mends it', ' Reviews', 'Two\nlines', 'x'.repeat(501), 7]
  for (const description of bad) expect(await faultsOf({ description }), String(description)).toHaveLength(1)
})

test('a misspelled field is a fault, an unknown field is a warning', async () => {
  expect(await faultsOf({ support_resume: true })).toEqual([
    'support_resume is not a field a manifest can have; did you mean supports_resume?',
  ])
  const { manifest: parsed, warnings } = await parseManifest(manifest('x', { homepage: 'https://example.org' }))
  expect(parsed).not.toHaveProperty('homepage')
  expect(warnings).toEqual(['homepage is not a field of this version; it is ignored.'])
})

test('values that git or a process would take for an option or another path are faults', async () => {
  for (const address of ['git+file:///etc', '--upload-pack=x', 'ext::sh -c x', 'https://user:secret@example.org/x']) {
    const errors = await faultsOf({ viewport_bundle: address, container: { bundles: [address] } })
    expect(errors, address).toHaveLength(2)
  }
  for (const command of [[''], ['node', 7], ['a\0b'], 'node', [[]], null]) {
    expect(await faultsOf({ command }), JSON.stringify(command)).toHaveLength(1)
  }
  for (const path of ['/etc/passwd', '..', 'a/../../b', './a', 'a//b', 'a/', 'a\\b', '']) {
    expect(await faultsOf({ viewport_bundle: 'https://example.org/x', viewport_path: path }), path).toHaveLength(1)
  }
})

test('a value is shown without control characters of a terminal', async () => {
  const [error] = await faults(manifest('\u001b]0;x\u0007\u009b\u202e'))
  expect(error).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  const [long] = await faults(manifest('A'.repeat(100_000), { description: 'One thing' }))
  expect(long?.length).toBeLessThan(300)
})

test('each of 500 mutations gives a manifest or a list of sentences', async () => {
  const whole = manifest('whole', { container: { bundles: [], volume_mounts: [] }, capabilities_required: [] })
  const paths = [...Object.keys(whole), '__proto__', 'constructor', 'container']
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), fc.jsonValue(), fc.jsonValue(), async (field, value, inner) => {
      const mutated = JSON.parse(JSON.stringify({ ...whole, container: { bundles: inner } }))
      Object.defineProperty(mutated, field, { value, enumerable: true, configurable: true, writable: true })
      const { manifest: parsed, errors } = await parseManifest(mutated)
      expect(parsed === null).toBe(errors.length > 0)
      for (const error of errors) expect(error).toMatch(/^\S.*[.?]$/)
      if (parsed) expect(parsed.command.every((part) => typeof part === 'string')).toBe(true)
    }),
    { numRuns: 500 },
  )
})

test('docs/manifest.md lists every field of the schema, and no other', () => {
  const page = readFileSync(join(root, 'docs/manifest.md'), 'utf8')
  const section = page.slice(page.indexOf('## Fields'), page.indexOf('## Sources'))
  const listed = [...section.matchAll(/^\| `([^`]+)` \| (yes|no) \|/gm)].map(([, field, required]) => [
    field,
    required === 'yes',
  ])
  const { properties, required } = MANIFEST_SCHEMA
  const top = Object.keys(properties).map((field) => [field, (required as readonly string[]).includes(field)])
  const inside = Object.keys(properties.container.properties).map((field) => [`container.${field}`, false])
  expect(listed.sort()).toEqual([...top, ...inside].sort())
  const [example] = /```json\n([\s\S]*?)```/.exec(page)?.slice(1) ?? []
  return expect(faults(JSON.parse(example ?? ''))).resolves.toEqual([])
})

test('a bundle is a git address, owner/repo or a directory of the resolver, with a place in it (S-MAN-16)', async () => {
  const faults = async (bundle: string) => await faultsOf({ container: { bundles: [bundle] } })
  const refused = ['../other', './a/../../b', './', '/etc', 'kit', 'team/kit#sub=x', 'team/kit#subdirectory=../x']
  for (const bundle of [...refused, 'team/kit@-x', 'team/kit#subdirectory=a#b', 'http://example.org/a/b'])
    expect(await faults(bundle), bundle).toHaveLength(1)
  const taken = ['git+https://example.org/team/kit@main#subdirectory=behaviors/x.yaml', 'team/sub/kit@v1.2']
  for (const bundle of [...taken, './kit', './kit#subdirectory=a/b', 'git@example.org:team/kit@v1#subdirectory=a'])
    expect(await faults(bundle), bundle).toEqual([])
})
