/** Errors say what was meant, where the cause is, and what to run; the files of a run leave as one archive. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { doer, type Home, newHome } from './cli.ts'

let place: Home
const folder = mkdtempSync(join(tmpdir(), 'resolve-hints-'))

beforeAll(async () => {
  place = newHome()
  expect((await place.run('resolver', 'add', doer())).code).toBe(0)
})

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await place.end()
})

function resolverOf(name: string, program: string, command = ['node', 'resolver.ts']): string {
  const dir = mkdtempSync(join(folder, `${name}-`))
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify({ name, version: '1.0.0', description: 'x', command }))
  writeFileSync(join(dir, 'resolver.ts'), program)
  return dir
}

test.each([
  [['rm'], 'resolve instance prune'],
  [['instance', 'delete'], 'resolve instance prune'],
  [['resolver', 'rm'], 'resolve resolver remove'],
  [['logs'], 'resolve instance logs'],
  [['instance', 'log'], 'resolve instance logs'],
  [['ls'], 'resolve instance list'],
  [['status'], 'resolve instance show'],
  [['instance', 'add'], 'resolve resolver add'],
  [['instence', 'list'], 'resolve instance list'],
  [['instance', 'delet'], 'resolve instance prune'],
  [['delet'], 'resolve instance prune'],
  [['resolver', 'ad'], 'resolve resolver add'],
  [['run', 'tuor'], 'resolve run tour'],
  [['run', 'tour', '--timeot', '3'], 'resolve run tour --timeout 3'],
  [['run', 'tour', '--timeot=3'], 'resolve run tour --timeout=3'],
])('%j offers the command that was meant', async (words, meant) => {
  const { stdout, stderr } = await place.run(...words, '--json')
  const { next } = JSON.parse(stdout) as { next: string[] }
  expect(next[0]?.replace(' --json', ''), stderr).toBe(meant)
})

test('a misspelt value, name, label or time is told with what was meant', async () => {
  const made = await place.run('run', 'doer', '-i', 'do=work', '--name', 'nightly', '--label', 'team=red', '--json')
  const { instance_id: id } = JSON.parse(made.stdout) as { instance_id: string }
  expect((await place.with({ stdin: 'hush' }, 'secret', 'set', 'API_KEY')).code).toBe(0)
  const meant: [string[], string][] = [
    [['secret', 'remove', 'API_KYE'], 'resolve secret remove API_KEY'],
    [['run', 'doer', '--on-input', 'promt'], 'Did you mean "prompt"?'],
    [['instance', 'list', '--status', 'waiting'], 'Did you mean "awaiting_input"?'],
    [
      ['instance', 'list', '--resolver', 'deor'],
      'No instance matches: no resolver is named "deor". Did you mean "doer"?',
    ],
    [['instance', 'list', '--resolver', 'helo'], 'no resolver is named "helo". Did you mean "hello"?'],
    [['instance', 'list', '--resolver', 'other'], 'no resolver is named "other". See "resolve resolver list".'],
    [['instance', 'list', '--resolver', 'tour'], 'No instance matches. See "resolve instance list".'],
    [['instance', 'list', '--name', 'nigthly'], 'No instance matches. Did you mean "nightly"?'],
    [['instance', 'list', '--label', 'team=rad'], 'No instance matches. Did you mean "team=red"?'],
    [['instance', 'list', '--text', 'nowhere'], 'No instance matches. See "resolve instance list".'],
    [['instance', 'list', '--since', 'yesterday'], '"yesterday" is not a time; write 2026-01-31 or'],
    [['instance', 'logs', id, '--since', '12:00'], '"12:00" is not a time; write 2026-01-31 or'],
    [['instance', 'logs', id, '--tail', '0'], 'No log lines.'],
  ]
  for (const [words, sentence] of meant) expect((await place.run(...words)).stderr, words.join(' ')).toContain(sentence)
  const every = ['schedule', 'add', '0 3 * * *', 'doer', '--name', 'every', '-i', 'do=work']
  expect(await place.run(...every)).toMatchObject({ code: 0 })
  expect((await place.run('schedule', 'remove', 'evrey')).stderr).toContain('resolve schedule remove every')
})

test('a flag that no command before it could have ends with 2 and what was meant; global flags may also precede the verb', async () => {
  const before = await place.run('--contxt', 'local', 'instance', 'list')
  expect([before.code, before.stderr]).toEqual([
    2,
    expect.stringContaining('no flag --contxt; did you mean --context?'),
  ])
  const between = await place.run('instance', '--alll', 'list')
  expect([between.code, between.stdout]).toEqual([2, ''])
  expect(between.stderr).toContain('There is no flag --alll before a command.')
  expect((await place.run('instance', '--context', 'local', '--json', 'list')).stdout).toContain('resolve.instances/1')
  expect((await place.run('instance', 'list', '--limit', 'many')).stderr).toContain(
    '✗ --limit must be an integer, not "many".',
  )
})

test('a repeated command has what was given: fields as they were typed, files, labels and other flags', async () => {
  const what = join(folder, 'what.txt')
  writeFileSync(what, 'work')
  const more = ['--label', 'team=red', '--name', 'kept', '--timeout', '9s']
  const next = async (...words: string[]) => {
    const { code, stdout } = await place.run(...words, '--json')
    expect(code, stdout).toBe(5)
    return (JSON.parse(stdout) as { next: string[] }).next.at(-1)
  }
  const flags = '--label team=red --name kept --timeout 9s'
  expect(await next('run', 'doer', '-i', `do=@${what}`, '-i', 'count=many', ...more)).toBe(
    `resolve run doer -i do=@${what} -i count=many -i loud=false ${flags}`,
  )
  // A field that may stay empty is not suggested: its name would become its value.
  expect(await next('run', 'doer', '--executor', 'local')).toBe(
    "resolve run doer -i 'do=<do>' -i loud=false --executor local",
  )
  const file = join(folder, 'input.json')
  writeFileSync(file, JSON.stringify({ do: 'work', count: 'many', more: [1] }))
  expect(await next('run', 'doer', '--input-file', file, '-i', 'loud=yes', '--dry-run')).toBe(
    `resolve run doer --input-file ${file} -i count=many -i loud=yes --dry-run`,
  )
  const { stdout } = await place.run('run', 'doer', '-i', 'do=fail', '--label', 'team=red', '--json')
  const { instance_id: id } = JSON.parse(stdout) as { instance_id: string }
  expect(await next('instance', 'retry', id, '-i', 'count=many', '--label', 'try=2')).toBe(
    `resolve instance retry ${id} -i count=many --label try=2`,
  )
  const explained = JSON.parse((await place.run('instance', 'explain', id, '--json')).stdout) as { next: string[] }
  expect(explained.next).toContain(`resolve instance retry ${id}`)
  const asks = JSON.parse((await place.run('run', 'doer', '-i', 'do=ask', '--json')).stdout) as { instance_id: string }
  expect(await next('instance', 'answer', asks.instance_id, '-i', 'go=no')).toBe(
    `resolve instance answer ${asks.instance_id} gate-1 -i go=no -i 'why=<why>'`,
  )
})

test('a target of notifications for a resolver that does not exist is refused, and its address not repeated', async () => {
  const add = ['notify', 'add', 'ops', '--webhook', 'https://hooks.example.org/a-long-secret', '--resolver', 'deor']
  const { code, stderr } = await place.run(...add)
  expect(code).toBe(6)
  expect(stderr).toContain('No resolver is named "deor". Did you mean "doer"?')
  expect(stderr).toContain("resolve notify add ops --webhook '<address>' --resolver doer")
  expect(stderr).not.toContain('a-long-secret')
  expect((await place.run('notify', 'list', '--json')).stdout).toContain('"targets": []')
})

test('no help command stands below an error without a near word, and the value of a field is not repeated', async () => {
  const unknown = await place.run('frobnicate')
  expect(unknown.stderr.trimEnd().split('\n')).toEqual([
    '✗ There is no command "resolve frobnicate".',
    '  "resolve --help" lists the commands.',
  ])
  const file = join(folder, 'third.txt')
  writeFileSync(file, 'hush')
  const slip = await place.run('run', 'tuor', '-i', 'key=hush', '--input=other=hush', '-i', `third=@${file}`)
  expect(slip.stderr).toContain(`resolve run tour -i 'key=<key>' '--input=other=<other>' -i third=@${file}`)
  expect(slip.stderr).not.toContain('hush')
})

test('what a file of the input has beside the fields, and a checkbox that is neither true nor false, is told', async () => {
  const file = join(folder, 'odd.json')
  writeFileSync(file, JSON.stringify({ do: 'work', loud: 'maybe', colour: 'red' }))
  const { code, stdout, stderr } = await place.run('run', 'doer', '--input-file', file, '--dry-run')
  expect([code, stdout]).toEqual([0, expect.stringContaining('The input is valid')])
  expect(stderr.split('\n')).toEqual([
    'There is no field "colour". The resolver gets it as it is.',
    '"loud" is a checkbox: use true or false, not "maybe". The resolver gets it as it is.',
    '',
  ])
})

test('a retry without a terminal says once which secret it needs, and how it is given', async () => {
  const form = "{ type: 'form', components: [{ type: 'text', id: 'password', secret: true }] }"
  const setup = `me.on['resolver.getInstantiationSchema'] = () => (${form})`
  const { dir } = plainResolver("me.finish({ status: 'completed' })", { name: 'keeper' }, setup)
  expect((await place.run('resolver', 'add', dir)).code).toBe(0)
  const { stdout } = await place.run('run', 'keeper', '-i', 'password=a-long-secret', '--json')
  const { instance_id: id } = JSON.parse(stdout) as { instance_id: string }
  const { code, stderr } = await place.run('instance', 'retry', id)
  expect([code, stderr]).toEqual([5, expect.stringContaining('  - password: give this secret again\n')])
  expect(stderr).toContain(`  resolve instance retry ${id} -i password=@file\n`)
  const more = await place.run('instance', 'retry', id, '-i', 'other=x', '--label', 'try=2')
  expect(more.stderr).toContain(`  resolve instance retry ${id} -i other=x -i password=@file --label try=2\n`)
})

test('an id with other characters, and a directory that is not there, are named', async () => {
  expect((await place.run('instance', 'show', 'xyz-')).stderr).toContain('0-9 and a-f')
  const missing = await place.with({ cwd: folder }, 'resolver', 'add', './nope')
  expect([missing.code, missing.stderr]).toEqual([6, expect.stringContaining(`There is no directory ${folder}/nope.`)])
})

describe('resolver add', () => {
  test.each([
    ['a missing package', `import 'left-pad'`, ['node', 'resolver.ts'], 10, /'left-pad' imported from resolver\.ts/],
    ['a program that does not exist', '', ['nodde', 'resolver.ts'], 10, /does not exist/],
  ])('refuses %s, and adds it with --no-check', async (_, program, command, code, said) => {
    const dir = resolverOf('faulty', program, command)
    const refused = await place.run('resolver', 'add', dir)
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringMatching(said)])
    expect(refused.stderr).toContain('--no-check')
    expect((await place.run('resolver', 'show', 'faulty')).code).toBe(6)
    expect((await place.run('resolver', 'add', dir, '--no-check')).code).toBe(0)
    expect((await place.run('resolver', 'remove', 'faulty')).code).toBe(0)
  })
})

test('the last line of a failed run has the file and line of an uncaught error', async () => {
  const program = `import { resolver, text } from 'resolve-platform/sdk'

function dig(): never {
  throw new TypeError('the shovel broke')
}

resolver({
  params: { how: text({ label: 'How' }) },
  run: async (ctx) => {
    if (ctx.params.how === 'in a package') JSON.parse('{')
    if (ctx.params.how === 'a text') throw 'only a text'
    if (ctx.params.how === 'late') await new Promise(() => setTimeout(dig, 5))
    dig()
  },
}).serve()`
  expect((await place.run('resolver', 'add', resolverOf('breaks', program))).code).toBe(0)
  const told = async (how: string) => {
    const { code, stderr } = await place.run('run', 'breaks', '-i', `how=${how}`)
    expect(code).toBe(1)
    return stderr.split('\n').find((line) => line.startsWith('✗'))
  }
  expect(await told('now')).toMatch(/: the shovel broke \(resolver\.ts:4\) \(unexpected_error\)$/)
  expect(await told('late')).toMatch(/: the shovel broke \(resolver\.ts:4\) \(unexpected_error\)$/)
  expect(await told('in a package')).toMatch(/ \(resolver\.ts:10\) \(unexpected_error\)$/)
  const { stdout } = await place.run('run', 'breaks', '-i', 'how=now', '--json')
  const error = { code: 'unexpected_error', detail: 'the shovel broke', place: 'resolver.ts:4' }
  expect(JSON.parse(stdout)).toMatchObject({ error })
  expect(await told('a text')).toMatch(/: only a text \(unexpected_error\)$/)
})

// The check alone takes its 10 s.
test('the command of the hint for a program that hangs runs it, with the SDK', { timeout: 60_000 }, async () => {
  const program = `import { resolver } from 'resolve-platform/sdk'
    console.error('asking the moon')
    if (process.env.RESOLVE_CHANNEL) setInterval(() => {}, 1000), await new Promise(() => {})
    resolver({ run: () => 'x' }).serve()`
  const { code, stderr } = await place.run('resolver', 'add', resolverOf('hangs', program))
  expect([code, stderr]).toEqual([10, expect.stringContaining('within 10 s. It printed: asking the moon')])
  const command = /Run it manually to see where it hangs: (.*)$/m.exec(stderr)?.[1] ?? 'false'
  const byHand = spawnSync('sh', ['-c', command], { encoding: 'utf8', input: '', timeout: 20_000 })
  expect([byHand.status, byHand.stderr]).toEqual([0, expect.stringContaining('asking the moon')])
})

test('resolver add refuses a resolver with a malformed form', async () => {
  const form = "me.on['resolver.getInstantiationSchema'] = () => ({ type: 'form', components: [{ type: 'text' }] })"
  const { code, stderr } = await place.run('resolver', 'add', plainResolver('', { name: 'misformed' }, form).dir)
  expect([code, stderr]).toEqual([5, expect.stringContaining('not a well-formed form')])
  expect((await place.run('resolver', 'show', 'misformed')).code).toBe(6)
})

// verifies: R52 S-MAN-04 S-MAN-06
describe('resolver add compares what a resolver tells of itself with its manifest', () => {
  const tells = (told: object) => {
    const line = JSON.stringify({ jsonrpc: '2.0', method: 'resolver.identity', params: told })
    const form = `me.on['resolver.getInstantiationSchema'] = () => { print(${JSON.stringify(`${line}\n`)}); return null }`
    return plainResolver('', { name: 'identical' }, form).dir
  }
  const sdk = (told: string) =>
    resolverOf(
      'identical',
      `import { resolver } from 'resolve-platform/sdk'\nresolver({ ${told}, run: () => 'x' }).serve()`,
    )
  const inClass = (name: string) =>
    resolverOf(
      'identical',
      `import { Resolver } from 'resolve-platform/sdk'
class Mine extends Resolver {
  name = '${name}'
  version = '1.0.0'
  description = ''
  run() {}
}
new Mine().serve()`,
    )
  test.each([
    ['a name', tells({ name: 'other' }), 'name is "other", but its manifest says "identical"'],
    ['a version', tells({ version: '2.0.0' }), 'version is "2.0.0", but its manifest says "1.0.0"'],
    ['resume', tells({ supports_resume: true }), 'supports_resume is "true", but its manifest says "false"'],
    ['a name of the SDK', sdk(`name: 'other'`), 'name is "other"'],
    ['a version of the SDK', sdk(`version: '2.0.0'`), 'version is "2.0.0"'],
    ['resume of the SDK', sdk('supportsResume: true'), 'supports_resume is "true"'],
    ['a name of a class', inClass('other'), 'name is "other"'],
  ])('refuses another one: %s', async (_, dir, said) => {
    const { code, stderr } = await place.run('resolver', 'add', dir)
    expect([code, stderr]).toEqual([5, expect.stringContaining(said)])
    expect((await place.run('resolver', 'show', 'identical')).code).toBe(6)
  })

  test.each([
    ['the same', tells({ name: 'identical', version: '1.0.0', supports_resume: false })],
    ['nothing that can be compared', tells({ name: 1, version: null, more: 'x' })],
    ['the same of a class', inClass('identical')],
  ])('takes %s', async (_, dir) => {
    const { code, stderr } = await place.run('resolver', 'add', dir)
    expect(code, stderr).toBe(0)
    expect((await place.run('resolver', 'remove', 'identical')).code).toBe(0)
  })

  test('resolver update compares a new version in the same way, and does not take one that differs', async () => {
    const dir = tells({ version: '1.0.0' })
    expect((await place.run('resolver', 'add', dir)).code).toBe(0)
    const path = join(dir, 'manifest.json')
    writeFileSync(path, readFileSync(path, 'utf8').replace('1.0.0', '1.1.0'))
    const { code, stderr } = await place.run('resolver', 'update', 'identical')
    expect([code, stderr]).toEqual([5, expect.stringContaining('version is "1.0.0", but its manifest says "1.1.0"')])
    const taken = await place.run('resolver', 'update', 'identical', '--no-check')
    expect([taken.code, taken.stdout]).toEqual([0, expect.stringContaining('1.1.0 updated')])
    expect((await place.run('resolver', 'remove', 'identical')).code).toBe(0)
  })
})

test('data --archive is a tar of the data files, in a file and on stdout', async () => {
  const { stdout } = await place.run('run', 'doer', '-i', 'do=data', '--json')
  const { instance_id: id } = JSON.parse(stdout) as { instance_id: string }
  const path = join(folder, 'data.tar')
  expect((await place.run('instance', 'data', id, '--archive', '-o', path)).code).toBe(0)
  expect(spawnSync('tar', ['-tf', path], { encoding: 'utf8' }).stdout.trim().split('\n').sort()).toEqual([
    'deep/report.md',
    'raw.bin',
  ])
  expect((await place.run('instance', 'data', id, '--archive')).stdout).toContain('# Report')
  expect((await place.run('instance', 'data', id, 'raw.bin', '--archive')).code).toBe(2)
})

test('events and show have one line for a question and one for its answer, with words instead of a schema', async () => {
  const { stdout } = await place.run('run', 'doer', '-i', 'do=ask', '--json')
  const { instance_id: id } = JSON.parse(stdout) as { instance_id: string }
  expect((await place.run('instance', 'answer', id)).code).toBe(5)
  expect((await place.run('instance', 'answer', id, '-i', 'go=no', '-i', 'why=x')).code).toBe(0)
  expect((await place.run('instance', 'wait', id)).code).toBe(0)
  const events = (await place.run('instance', 'events', id)).stdout
  expect(events.match(/gate-1/g)).toHaveLength(2)
  expect(events).not.toContain('"components"')
  const { stdout: shown } = await place.run('instance', 'show', id)
  expect(shown).not.toContain('"components"')
  expect(shown).toMatch(/^ {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}completed$/m)
})

test('paused is told once, in words', async () => {
  const { stdout } = await place.run('run', 'doer', '-i', 'do=sleep', '--detach')
  const id = stdout.trim()
  await place.reaches(id, 'running')
  expect((await place.run('instance', 'wait', id, '--until', 'settled', '--timeout', '1')).code).toBe(124)
  expect((await place.run('instance', 'pause', id)).code).toBe(0)
  const { stdout: shown } = await place.run('instance', 'show', id)
  expect(shown).not.toContain('pause_requested')
  expect(shown.match(/paused \(requested\)/g)?.length).toBeGreaterThan(0)
})
