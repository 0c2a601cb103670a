/** The resolver commands, and how a command is found in the words. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findCommand } from '../../src/commands/find-command.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { doer, type Home, newHome } from './cli.ts'

let place: Home
let dir: string

beforeAll(() => {
  place = newHome()
  dir = doer()
})

afterAll(() => place.end())

test('the built-in resolvers are there on first use', async () => {
  const { stdout } = await place.run('resolver', 'list', '--json')
  const { resolvers } = JSON.parse(stdout) as { resolvers: { name: string; source: string }[] }
  expect(resolvers.map(({ name, source }) => `${name} ${source}`)).toEqual([
    'agent builtin',
    'change builtin',
    'hello builtin',
    'pipeline builtin',
    'reality-check builtin',
    'tour builtin',
  ])
})

test('add shows what will run; --dry-run adds nothing', async () => {
  const dry = await place.run('resolver', 'add', dir, '--dry-run')
  expect([dry.code, dry.stdout]).toEqual([0, 'doer 1.0.0 can be added. Nothing was added.\n'])
  expect(dry.stderr).toContain('node program.mjs')
  expect((await place.run('resolver', 'show', 'doer')).code).toBe(6)
  const added = await place.run('resolver', 'add', dir)
  expect([added.code, added.stdout]).toEqual([0, 'doer 1.0.0 added.\n'])
  expect((await place.run('resolver', 'show', 'doer')).stdout).toContain('node program.mjs')
})

test('a resolver of the same name from elsewhere needs --force', async () => {
  const other = doer()
  const refused = await place.run('resolver', 'add', other, '--json')
  expect(refused.code).toBe(7)
  expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'resolver_exists' } })
  expect((await place.run('resolver', 'add', other, '--force')).code).toBe(0)
})

// verifies: S-SVC-18
test('a git source is pinned to its commit, and update follows it', async () => {
  const source = doer()
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], {
      cwd: source,
      encoding: 'utf8',
    })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'first')
  const commit = git('rev-parse', 'HEAD').trim()
  const added = await place.run('resolver', 'add', `git+file://${source}@main`, '--force', '--json')
  expect(added.code, added.stderr).toBe(0)
  expect(JSON.parse(added.stdout)).toMatchObject({ resolver: { kind: 'git', commit, ref: 'main' } })
  const { resolvers } = JSON.parse((await place.run('resolver', 'list', '--json')).stdout) as { resolvers: object[] }
  expect(resolvers).toContainEqual(expect.objectContaining({ name: 'doer', version: '1.0.0' }))
  git('commit', '-qm', 'second', '--allow-empty')
  const updated = await place.run('resolver', 'update', 'doer', '--json')
  const next = git('rev-parse', 'HEAD').trim()
  expect(JSON.parse(updated.stdout)).toMatchObject({ resolvers: [{ name: 'doer', commit: next, changed: true }] })
  expect((await place.run('resolver', 'update', 'doer')).stdout).toBe('doer 1.0.0 is up to date\n')
})

test('a fault of a form is told once', async () => {
  const form = { type: 'form', components: [{ type: 'text', label: 'no id' }] }
  const { dir: faulty } = plainResolver(
    '',
    { name: 'faulty' },
    `me.on['resolver.getInstantiationSchema'] = () => (${JSON.stringify(form)})`,
  )
  const { code, stderr } = await place.run('resolver', 'add', faulty)
  expect(code).toBe(5)
  const [, fault = ''] = /is not a well-formed form: (.*)$/m.exec(stderr) ?? []
  expect(fault).not.toBe('')
  expect(stderr.split(fault)).toHaveLength(2)
})

test('every fault of a manifest is reported at once', async () => {
  const broken = mkdtempSync(join(tmpdir(), 'resolve-broken-'))
  writeFileSync(
    join(broken, 'manifest.json'),
    JSON.stringify({ name: 'Bad Name', version: 'one', description: 'Ends with a dot.', command: [] }),
  )
  const { code, stdout } = await place.run('resolver', 'add', broken, '--json')
  expect(code).toBe(5)
  const { error } = JSON.parse(stdout) as { error: { code: string; fields: unknown[] } }
  expect(error.code).toBe('manifest_invalid')
  expect(error.fields.length).toBeGreaterThanOrEqual(4)
  const person = await place.run('resolver', 'add', broken)
  expect(person.stderr.match(/^ {2}- /gm)?.length).toBe(error.fields.length)
})

test('a directory without a manifest ends with exit code 6, an invalid source with 2', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'resolve-empty-'))
  mkdirSync(join(empty, 'sub'))
  expect((await place.run('resolver', 'add', empty)).code).toBe(6)
  expect((await place.run('resolver', 'add', 'ftp://example.com/x')).code).toBe(2)
})

test('schema prints fields for a person, the form for a program and an example command', async () => {
  expect((await place.run('resolver', 'schema', 'doer')).stdout).toContain('must hold: Say what to do.')
  const { stdout } = await place.run('resolver', 'schema', 'doer', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ schema: 'resolve.form/1', form: { type: 'form' } })
  const example = await place.run('resolver', 'schema', 'doer', '--example')
  expect(example.stdout).toBe(`resolve run doer -i 'do=<do>' -i 'count=<count>' -i loud=false\n`)
})

test('the form of tour grows with what is filled in', async () => {
  const ids = async (...flags: string[]) => {
    const { stdout } = await place.run('resolver', 'schema', 'tour', '--json', ...flags)
    return (JSON.parse(stdout) as { form: { components: { id: string }[] } }).form.components.map(({ id }) => id)
  }
  const plain = await ids()
  const grown = await ids('-i', 'plaque=yes')
  expect(grown.length).toBe(plain.length + 1)
})

test('remove takes a resolver out of the list, and an unknown name ends with exit code 6', async () => {
  expect((await place.run('resolver', 'remove', 'doer')).code).toBe(0)
  expect((await place.run('resolver', 'remove', 'doer')).code).toBe(6)
  const { code, stderr } = await place.run('run', 'helo')
  expect(code).toBe(6)
  expect(stderr).toContain('hello')
})

test.each([
  [['run', 'hello'], { kind: 'command', id: 'run', rest: ['hello'] }],
  [['--json', 'instance', 'list', '--all'], { kind: 'command', id: 'instance:list', rest: ['--json', '--all'] }],
  [['--color', 'never', 'watch'], { kind: 'command', id: 'watch', rest: ['--color', 'never'] }],
  [['instance', 'run', '--help'], { kind: 'help', id: 'instance:run' }],
  [['run', '--', '--help'], { kind: 'command', id: 'run', rest: ['--', '--help'] }],
  [['help', 'instance', 'wait'], { kind: 'help', id: 'instance:wait' }],
  [['resolver'], { kind: 'help', noun: 'resolver' }],
  [['resolver', '--help'], { kind: 'help', noun: 'resolver' }],
  [[], { kind: 'overview', rest: [] }],
  [['--json'], { kind: 'overview', rest: ['--json'] }],
  [['help'], { kind: 'help' }],
  [['help', 'ci'], { kind: 'help', topic: 'ci' }],
  [['version', '--json'], { kind: 'version' }],
  [['instance', 'lst'], { kind: 'unknown', words: ['instance', 'lst'] }],
  [['constructor'], { kind: 'unknown', words: ['constructor'] }],
  [['--bogus'], { kind: 'unknown flag', flag: '--bogus' }],
  [['--bogus=1', 'instance', 'list'], { kind: 'unknown flag', flag: '--bogus' }],
  [['instance', '--bogus', 'list'], { kind: 'unknown flag', flag: '--bogus', noun: 'instance' }],
  [['instance', '--json', 'list', '--all'], { kind: 'command', id: 'instance:list', rest: ['--json', '--all'] }],
])('%j is parsed to its command, topic or page', (argv, found) => {
  expect(findCommand(argv)).toEqual(found)
})

test('an unknown command names the nearest', async () => {
  const typo = await place.run('instnace', 'list')
  expect([typo.code, typo.stdout]).toEqual([127, ''])
  expect(typo.stderr).toContain('Did you mean "resolve instance list"?')
  const verb = await place.run('instance', 'lst', '--json')
  expect(JSON.parse(verb.stdout)).toMatchObject({ exit_code: 127, next: ['resolve instance list'] })
})

test('help is on stdout and ends with 0', async () => {
  for (const words of [['help'], ['--help'], ['instance'], ['run', '--help'], ['help', 'resolver', 'add']]) {
    const { code, stdout, stderr } = await place.run(...words)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('USAGE')
  }
})
