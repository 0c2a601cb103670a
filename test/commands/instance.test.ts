/** The instance commands against a real home, as a person and a script give them. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { doer, type Home, lastLine, newHome } from './cli.ts'

let place: Home
const folder = mkdtempSync(join(tmpdir(), 'resolve-files-'))

interface Instance {
  instance_id: string
  status: string
  output: string | null
  error: { code: string; detail: string } | null
  next: string[]
  warnings: string[]
  pending_inputs: { id: string }[]
  history: { status: string }[]
}

beforeAll(async () => {
  place = newHome()
  expect((await place.run('resolver', 'add', doer())).code).toBe(0)
})

afterAll(() => place.end())

function file(name: string, value: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}

async function made(...args: string[]): Promise<Instance> {
  const { stdout, stderr } = await place.run('run', 'doer', '--json', ...args)
  expect(stdout, stderr).not.toBe('')
  return JSON.parse(stdout) as Instance
}

test('the output is printed once on stdout, the progress on stderr', async () => {
  const { stdout, stderr } = await place.run('run', 'doer', '-i', 'do=this', '-i', 'loud=yes')
  expect(stdout).toBe('did this!\n')
  expect(
    stderr
      .replace(/[0-9a-f]{12}/, 'ID')
      .replace(/in .* s$/m, 'in TIME')
      .replace(/^\d\d:\d\d:\d\d /gm, 'AT '),
  ).toBe(
    ['AT ◌ starting', 'AT ● running', 'AT phase doing', 'AT ✓ completed', '✓ doer ID completed in TIME', ''].join('\n'),
  )
})

test('-q prints no progress', async () => {
  const { stdout, stderr } = await place.run('run', 'doer', '-q', '-i', 'do=this')
  expect(stdout).toBe('did this\n')
  expect(stderr.trimEnd().split('\n').length).toBe(1)
})

test('text of a resolver is cleaned for a terminal, and reaches a program unchanged', async () => {
  const failed = await place.run('run', 'doer', '-i', 'do=fail', '--color', 'never')
  expect(failed.stderr).toContain('It broke badly')
  const { error } = await made('-i', 'do=fail')
  expect(error?.detail).toBe('It broke \u001b[31mbadly')
})

test('--jsonl prints the journal exactly, then one closing line', async () => {
  const { stdout } = await place.run('run', 'doer', '--jsonl', '-i', 'do=data')
  const lines = stdout.trimEnd().split('\n')
  const { instance } = lastLine(stdout) as { instance: Instance }
  const again = await place.run('instance', 'events', instance.instance_id, '--jsonl')
  expect(lines.slice(0, -1).join('\n')).toBe(again.stdout.trimEnd())
  const watched = await place.run('watch', instance.instance_id, '--jsonl', '--since', '3')
  expect(watched.code).toBe(0)
  expect(watched.stdout.trimEnd().split('\n').slice(0, -1)).toEqual(lines.slice(3, -1))
})

test('three failing checks are three sentences, in order, in every mode', async () => {
  const person = await place.run('run', 'doer', '-i', 'count=many')
  expect(person.code).toBe(5)
  expect(person.stderr).toMatch(
    /- do: Say what to do\.\n.*- count: Count is a number\.\n.*- count: Count has 3 digits at most\./,
  )
  const { stdout } = await place.run('run', 'doer', '-i', 'count=many', '--json')
  const { error } = JSON.parse(stdout) as { error: { code: string; fields: { id: string; message: string }[] } }
  expect(error.code).toBe('form_invalid')
  expect(error.fields).toEqual([
    { id: 'do', message: 'Say what to do.' },
    { id: 'count', message: 'Count is a number.' },
    { id: 'count', message: 'Count has 3 digits at most.' },
  ])
})

test('--dry-run checks and creates nothing', async () => {
  const before = await place.run('instance', 'list', '--all', '--json')
  expect((await place.run('run', 'doer', '--dry-run', '-i', 'do=this')).code).toBe(0)
  expect((await place.run('run', 'doer', '--dry-run', '-i', 'count=x')).code).toBe(5)
  expect((await place.run('instance', 'list', '--all', '--json')).stdout).toBe(before.stdout)
})

test('input comes from stdin, a file and flags, the flags winning', async () => {
  const input = file('input.json', { do: 'file', extra: 1 })
  expect((await place.run('run', 'doer', '-q', '--input-file', input)).stdout).toBe('did file\n')
  expect((await place.run('run', 'doer', '-q', '--input-file', input, '-i', 'do=flag')).stdout).toBe('did flag\n')
  expect((await place.with({ stdin: '{"do":"stdin"}' }, 'run', 'doer', '-q', '--input-file', '-')).stdout).toBe(
    'did stdin\n',
  )
})

test('a question is answered by the exact command that was printed', async () => {
  const asked = await place.run('run', 'doer', '-i', 'do=ask')
  expect(asked.code).toBe(8)
  const command = /resolve (instance answer \S+ gate-1) -i go=yes -i 'why=<why>'/.exec(asked.stderr)?.[1]
  expect(command).toBeDefined()
  const words = command?.split(' ') ?? []
  const id = words[2] ?? ''
  expect((await place.run(...words, '-i', 'go=yes')).code).toBe(5)
  expect((await place.run(...words, '-i', 'go=yes', '-i', 'why=because')).code).toBe(0)
  const waited = await place.run('instance', 'wait', id)
  expect([waited.code, waited.stdout]).toEqual([0, `${id}  ✓ completed\n`])
  expect((await place.run('instance', 'show', id, '--json')).stdout).toContain('went on: yes because because')
  const late = await place.run(...words, '-i', 'go=yes', '-i', 'why=late')
  expect(late.code).toBe(7)
  expect(late.stderr).toMatch(/already answered by .+ \(cli\)/)
})

test('with two questions open, an answer must name one', async () => {
  const { instance_id: id } = await made('-i', 'do=ask-twice')
  // The command leaves at the first question; the second one may come after that.
  await expect
    .poll(async () => (await place.run('instance', 'answer', id, '--list', '--json')).stdout)
    .toMatch(/gate-1[\s\S]*gate-2|gate-2[\s\S]*gate-1/)
  const unnamed = await place.run('instance', 'answer', id, '-i', 'why=x')
  expect(unnamed.code).toBe(2)
  expect(unnamed.stderr).toMatch(/gate-1, gate-2|gate-2, gate-1/)
  const listed = await place.run('instance', 'answer', id, '--list', '--json')
  const { input_requests } = JSON.parse(listed.stdout) as { input_requests: { id: string }[] }
  expect(input_requests.map((request) => request.id).toSorted()).toEqual(['gate-1', 'gate-2'])
  expect((await place.run('instance', 'answer', id, 'gate-9', '-i', 'why=x')).code).not.toBe(0)
  expect((await place.run('instance', 'cancel', id)).code).toBe(0)
})

test('--answers answers the requests that match a glob, and no others', async () => {
  const answers = file('answers.json', { 'gate*': { go: 'no', why: 'chosen' } })
  const { output } = await made('-i', 'do=ask', '--answers', answers)
  expect(output).toBe('went on: no because chosen')
})

test('an answer of --answers that fails its checks leaves the instance waiting, with exit code 5', async () => {
  const answers = file('wrong.json', { 'gate*': { go: 'no' } })
  const { code, stderr } = await place.run('run', 'doer', '-i', 'do=ask', '--answers', answers)
  expect(code).toBe(5)
  expect(stderr).toContain('Say why.')
  expect(stderr).toMatch(/resolve instance answer \S+ gate-1/)
  const jsonl = await place.run('run', 'doer', '-i', 'do=ask', '--answers', answers, '--jsonl')
  expect(jsonl.code).toBe(5)
  expect(lastLine(jsonl.stdout)).toMatchObject({
    type: 'left',
    reason: 'answer_invalid',
    instance: { status: 'awaiting_input', exit_code: 5, warnings: ['Say why.'] },
  })
})

test('--on-input wait goes on once another command answers', async () => {
  const started = place.start({}, 'run', 'doer', '-i', 'do=ask', '--on-input', 'wait', '--name', 'waits')
  await started.said('resolve instance answer')
  const { stdout } = await place.run('instance', 'list', '--status', 'awaiting_input', '--json')
  const { instances } = JSON.parse(stdout) as { instances: { instance_id: string; name: string | null }[] }
  const id = instances.find((one) => one.name === 'waits')?.instance_id ?? ''
  expect((await place.run('instance', 'answer', id, '-i', 'why=elsewhere')).code).toBe(0)
  const ended = await started.ended
  expect([ended.code, ended.stdout]).toEqual([0, 'went on: undefined because elsewhere\n'])
})

test('--detach prints the id and nothing else, and the instance ends by itself', async () => {
  const { code, stdout } = await place.run('run', 'doer', '-d', '-i', 'do=this')
  expect(code).toBe(0)
  expect(stdout).toMatch(/^[0-9a-f]{12}\n$/)
  const waited = await place.run('instance', 'wait', stdout.trim().slice(0, 8), '--timeout', '20s')
  expect(waited.code).toBe(0)
})

test('pause, show, resume', async () => {
  const { instance_id: id } = await made('-i', 'do=sleep', '--timeout', '1s')
  await place.reaches(id, 'running')
  const paused = await place.run('instance', 'pause', id)
  expect([paused.code, paused.stderr]).toEqual([0, `${id} ‖ paused\n`])
  const shown = await place.run('instance', 'show', id)
  expect(shown.stdout).toContain(`resolve instance resume ${id}`)
  const resumed = await place.run('instance', 'resume', id, '-d')
  expect(resumed.code).toBe(0)
  const stopped = await place.run('instance', 'stop', id, '--reason', 'enough')
  expect([stopped.code, stopped.stderr]).toEqual([0, `${id} ⊘ cancelled\n`])
  const again = await place.run('instance', 'stop', id)
  expect(again.code).toBe(7)
})

test('resume follows only new events, to the end', async () => {
  const { instance_id: id, status } = await made('-i', 'do=pause')
  expect(status).toBe('paused')
  const { code, stdout } = await place.run('instance', 'resume', id, '--jsonl')
  expect(code).toBe(0)
  const first = JSON.parse(stdout.split('\n')[0] ?? '') as { data: { from: string; to: string } }
  expect(first.data).toMatchObject({ from: 'paused', to: 'running' })
  expect(lastLine(stdout)).toMatchObject({ type: 'done', instance: { status: 'completed', output: 'did pause' } })
})

test('a watch of a paused instance ends with exit code 9; a watch of a resumed one ends when the instance does', async () => {
  const { instance_id: id } = await made('-i', 'do=pause')
  expect((await place.run('watch', id)).code).toBe(9)
  await place.run('instance', 'resume', id)
  const watched = await place.run('watch', id)
  expect([watched.code, watched.stdout]).toEqual([0, 'did pause\n'])
})

test('data prints a list, the bytes of a file, or saves one or all files', async () => {
  const { instance_id: id } = await made('-i', 'do=data')
  const listed = await place.run('instance', 'data', id, '--json')
  const { files } = JSON.parse(listed.stdout) as { files: { path: string; bytes: number }[] }
  expect(files.map(({ path, bytes }) => `${path} ${bytes}`).toSorted()).toEqual(['deep/report.md 9', 'raw.bin 3'])
  expect((await place.run('instance', 'data', id, 'deep/report.md')).stdout).toBe('# Report\n')
  const out = join(folder, 'out')
  expect((await place.run('instance', 'data', id, '--all', '-o', out)).code).toBe(0)
  expect([...readFileSync(join(out, 'raw.bin'))]).toEqual([0, 255, 10])
  expect(readFileSync(join(out, 'deep', 'report.md'), 'utf8')).toBe('# Report\n')
  expect((await place.run('instance', 'data', id, 'nothing.txt')).code).toBe(6)
  expect((await place.run('instance', 'data', id, '../config.json')).code).toBe(2)
  expect((await place.run('instance', 'data', id, '--all')).code).toBe(2)
  expect(existsSync(join(folder, 'config.json'))).toBe(false)
})

test('state prints the whole snapshot, with what the platform knows, or one path of it (R47)', async () => {
  const { instance_id: id } = await made('-i', 'do=data')
  expect(JSON.parse((await place.run('instance', 'state', id)).stdout)).toEqual({
    phase: 'doing',
    plan: [{ title: 'first' }],
    status: 'completed',
    updated_at: expect.stringMatching(/Z$/),
  })
  expect((await place.run('instance', 'state', id, '--path', '/plan/0/title')).stdout).toBe('"first"\n')
  expect((await place.run('instance', 'state', id, '--path', '/plan/7')).code).toBe(6)
  expect((await place.run('instance', 'state', id, '--path', '/__proto__')).code).toBe(6)
})

test('events are filtered by type, tier and number', async () => {
  const { instance_id: id } = await made('-i', 'do=data')
  const types = async (...flags: string[]) => {
    const { stdout } = await place.run('instance', 'events', id, '--json', ...flags)
    return (JSON.parse(stdout) as { events: { event_type: string }[] }).events.map((event) => event.event_type)
  }
  expect(await types('--type', 'resolver:*')).toEqual(['resolver:phase', 'resolver:artifact'])
  expect(await types('--tier', '3')).toEqual(['doer.data_changed'])
  const all = await types()
  expect(await types('--since', '2')).toEqual(all.slice(2))
  const followed = await place.run('instance', 'events', id, '--follow', '--since', '9999')
  expect([followed.code, followed.stdout]).toEqual([0, ''])
})

test('message lists the current types, sends one, and refuses an unknown type', async () => {
  const { instance_id: id } = await made('-i', 'do=sleep', '--timeout', '1s')
  await place.reaches(id, 'running')
  expect((await place.run('instance', 'message', id, '--list')).stdout).toContain(
    `resolve instance message ${id} note -i 'text=<text>'`,
  )
  expect((await place.run('instance', 'message', id, 'note', '-i', 'text=hello')).code).toBe(0)
  const empty = await place.run('instance', 'message', id, 'note', '-i', 'text=')
  expect([empty.code, empty.stderr]).toEqual([5, expect.stringContaining('Say something.') as string])
  expect((await place.run('instance', 'message', id, 'nose')).code).toBe(6)
  await place.run('instance', 'stop', id, '--force')
})

test('the list puts waiting instances first, and respects its filters', async () => {
  const { instance_id: waiting } = await made('-i', 'do=ask')
  const { instance_id: newest } = await made('-i', 'do=this')
  const rows = (await place.run('instance', 'list', '--all')).stdout.split('\n')
  expect(rows[1]).toContain('waiting for you')
  expect(rows.findIndex((row) => row.startsWith(waiting))).toBeLessThan(rows.findIndex((row) => row.startsWith(newest)))
  const { stdout } = await place.run('instance', 'list', '--status', 'completed,failed', '--limit', '2', '--json')
  const { instances, cursor } = JSON.parse(stdout) as { instances: Instance[]; cursor: string | null }
  expect(instances.map((one) => one.status)).toEqual(['completed', expect.stringMatching(/completed|failed/) as string])
  expect(cursor).not.toBeNull()
  expect((await place.run('instance', 'list', '--status', 'done')).stderr).toMatch(
    /created, starting, running, awaiting_input, paused, completed, failed, cancelled/,
  )
})

test('wait ends with the worst exit code of several, or with the first one with --any', async () => {
  const ids = (await Promise.all(['do=this', 'do=fail', 'do=pause'].map((what) => made('-i', what)))).map(
    (one) => one.instance_id,
  )
  const both = await place.run('instance', 'wait', ids[0] ?? '', ids[1] ?? '')
  expect([both.code, both.stdout.trimEnd().split('\n').length]).toEqual([1, 2])
  expect((await place.run('instance', 'wait', ids[2] ?? '', '--until', 'settled')).code).toBe(9)
  expect((await place.run('instance', 'wait', ids[2] ?? '', ids[0] ?? '', '--any', '--json')).code).toBe(0)
  expect((await place.run('instance', 'wait', ids[2] ?? '', '--timeout', '300ms')).code).toBe(124)
})

test('an id is found by its prefix and by @last, and an unknown id ends with exit code 6', async () => {
  const { instance_id: id } = await made('-i', 'do=this')
  for (const reference of [id.slice(0, 6), '@last']) {
    const { stdout } = await place.run('instance', 'show', reference, '--json')
    expect((JSON.parse(stdout) as Instance).instance_id).toBe(id)
  }
  expect((await place.run('instance', 'show', 'ffffffffffff')).code).toBe(6)
  expect((await place.run('instance', 'show', '../../etc')).code).toBe(6)
})

test('a closed pipe ends the command without an error, and the instance goes on', async () => {
  const { spawnSync } = await import('node:child_process')
  const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')
  const shell = `'${process.execPath}' '${program}' run doer --jsonl --name piped -i do=ask --on-input wait | head -n 1`
  const { stdout, stderr } = spawnSync('bash', ['-c', shell], {
    env: { ...process.env, CI: '', RESOLVE_HOME: place.home },
    encoding: 'utf8',
    timeout: 20_000,
  })
  expect(stdout.split('\n').length).toBe(2)
  expect(stderr).not.toMatch(/EPIPE|Error/)
  const { stdout: listed } = await place.run('instance', 'list', '--all', '--json')
  const { instances } = JSON.parse(listed) as { instances: { instance_id: string; name: string }[] }
  const piped = instances.find((one) => one.name === 'piped')?.instance_id ?? ''
  // The pipe may be closed before the question is asked.
  await place.reaches(piped, 'awaiting_input')
  await place.run('instance', 'cancel', piped)
})

test('show suggests other commands than itself, and the document of --dry-run is indented like every other', async () => {
  const { stdout } = await place.run('run', 'doer', '-i', 'do=nothing', '--json')
  const { instance_id: id } = JSON.parse(stdout) as { instance_id: string }
  const shown = await place.run('instance', 'show', id)
  expect(shown.code).toBe(0)
  expect(shown.stdout).not.toContain('instance show')
  expect(shown.stdout).not.toMatch(/^Next$/m)
  expect(JSON.parse((await place.run('instance', 'show', id, '--json')).stdout)).toMatchObject({ next: [] })
  const dry = await place.run('run', 'doer', '-i', 'do=nothing', '--dry-run', '--json')
  expect(dry.stdout).toBe(`${JSON.stringify(JSON.parse(dry.stdout), null, 2)}\n`)
})

test('a disclosed field is given by flag, and a missing one is suggested together with the given flags (S-FORM-21)', async () => {
  const given = ['run', 'tour', '--json', '-i', 'subject=a light', '-i', 'pace=instant', '-i', 'plaque=true']
  const missing = await place.run(...given)
  expect(missing.code).toBe(5)
  const { next } = JSON.parse(missing.stdout) as { next: string[] }
  expect(next.at(-1)).toBe(
    "resolve run tour -i 'subject=a light' -i pace=instant -i plaque=true -i 'inscription=<inscription>'",
  )
  const { code, stdout } = await place.run(...given, '-i', 'inscription=For Ada', '--on-input', 'cancel')
  expect((JSON.parse(stdout) as { input: unknown }).input).toMatchObject({ plaque: true, inscription: 'For Ada' })
  expect(code).toBe(3)
})

test('a question that was asked while the instance had no host is answered by the next command', async () => {
  const late = `fs.writeFileSync(root + '/ran', '')
    while (!fs.existsSync(root + '/now')) await sleep(20)
    const form = { type: 'form', components: [{ type: 'text', id: 'why' }] }
    const { why } = await me.ask('late', 'Why?', form); me.finish({ status: 'completed', output: why })`
  expect((await place.run('resolver', 'add', plainResolver(late, { name: 'late' }).dir)).code).toBe(0)
  const id = (await place.run('run', 'late', '--detach')).stdout.trim()
  const paths = instancePaths(place.home, id)
  await expect.poll(() => existsSync(join(paths.project, '.resolve/ran'))).toBe(true)
  process.kill(readOwner(paths.owners)?.process.pid ?? 0, 'SIGKILL')
  writeFileSync(join(paths.project, '.resolve/now'), '')
  await expect.poll(() => existsSync(join(paths.project, '.resolve/input-requests/late.json'))).toBe(true)
  const answers = file('late.json', { why: 'because' })
  const { code, stderr } = await place.run('instance', 'answer', id, '--input-file', answers)
  expect(code, stderr).toBe(0)
  expect((await place.run('instance', 'wait', id)).code).toBe(0)
})
