/** What the command line refuses, so that a misspelt word neither answers a question nor makes a command hang. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { doer, type Home, newHome } from './cli.ts'

let place: Home
const folder = mkdtempSync(join(tmpdir(), 'resolve-refusals-'))

beforeAll(async () => {
  place = newHome()
  expect((await place.run('resolver', 'add', doer())).code).toBe(0)
})

afterAll(() => place.end())

function file(name: string, value: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(value))
  return path
}

async function waiting(what = 'ask'): Promise<string> {
  const { stdout } = await place.run('run', 'doer', '-i', `do=${what}`, '--json')
  return (JSON.parse(stdout) as { instance_id: string }).instance_id
}

test.each([
  ['without a terminal', {}, [], /stdin is not a terminal/],
  ['in CI', { CI: '1' }, [], /CI is set/],
  ['with --no-input', {}, ['--no-input'], /--no-input was given/],
  ['with --json', {}, ['--json'], /--json was given/],
])('--on-input prompt is refused %s, before an instance is created', async (_, env, more, why) => {
  const before = (await place.run('instance', 'list', '--all', '--json')).stdout
  const { code, stderr } = await place.with({ env }, 'run', 'doer', '-i', 'do=ask', '--on-input', 'prompt', ...more)
  expect(code).toBe(2)
  expect(stderr).toMatch(why)
  expect((await place.run('instance', 'list', '--all', '--json')).stdout).toBe(before)
})

// verifies: R35
describe('an answer of a person', () => {
  test('outside the options of a select is refused, naming the nearest', async () => {
    const id = await waiting()
    const { code, stderr } = await place.run('instance', 'answer', id, '-i', 'go=yess', '-i', 'why=x')
    expect(code).toBe(2)
    expect(stderr).toContain('"yess" is not an option of "go"; did you mean "yes"? The options are: yes, no.')
    expect((await place.run('instance', 'answer', id, '--list')).stdout).toContain('gate-1')
  })

  test('in a file with a misspelt field is refused, naming the nearest', async () => {
    const id = await waiting()
    const path = file('answer.json', { goo: 'no', why: 'x' })
    const { code, stderr } = await place.run('instance', 'answer', id, '--input-file', path)
    expect(code).toBe(2)
    expect(stderr).toContain('There is no field "goo"; did you mean "go"?')
  })

  test.each([
    ['a value outside the options', { 'gate-1': { go: 'YES!', why: 'x' } }, /"YES!" is not an option of "go"/],
    ['a misspelt field', { 'gate*': { gpo: 'no', why: 'x' } }, /There is no field "gpo"; did you mean "go"\?/],
    ['an entry that is nearly the id of the question', { 'gaet-1': { go: 'no', why: 'x' } }, /"gaet-1" has matched no/],
    ['a glob that nearly matches the question', { 'gaet*': { go: 'no', why: 'x' } }, /"gaet\*" has matched no/],
  ])('in --answers with %s ends the command with exit code 5; the question stays open', async (_, answers, says) => {
    const path = file('answers.json', answers)
    const { code, stderr } = await place.run('run', 'doer', '-i', 'do=ask', '--answers', path)
    expect(code).toBe(5)
    expect(stderr).toMatch(says)
    expect(stderr).toMatch(/resolve instance answer \S+/)
    expect(stderr).not.toContain('completed')
  })

  test('a misspelt entry does not cancel the instance with --on-input cancel', async () => {
    const path = file('answers.json', { 'gaet-1': { go: 'no', why: 'x' } })
    const ended = await place.run('run', 'doer', '-i', 'do=ask', '--answers', path, '--on-input', 'cancel', '--json')
    expect(ended.code).toBe(5)
    const records = await openInstances()
    expect(records.length).toBeGreaterThan(0)
  })

  test('an entry of --answers that matched no question of a whole run is a warning', async () => {
    const path = file('answers.json', { 'gate*': { go: 'no', why: 'x' }, review: { ok: true } })
    const { code, stdout, stderr } = await place.run('run', 'doer', '-i', 'do=ask', '--answers', path, '--json')
    expect(code, stderr).toBe(0)
    const { warnings } = JSON.parse(stdout) as { warnings: string[] }
    expect(warnings).toEqual([`The entry "review" in ${path} matched no question of this run.`])
  })
})

// verifies: R35 R36
test('a field of --input-file that is nearly one of the form is refused; other extra fields are kept', async () => {
  const slip = await place.run('run', 'doer', '--input-file', file('input.json', { do: 'this', cuont: '3' }))
  expect([slip.code, slip.stderr]).toEqual([2, expect.stringContaining('did you mean "count"?')])
  const { code, stdout } = await place.run(
    'run',
    'doer',
    '--json',
    '--input-file',
    file('i.json', { do: 'x', extra: 1 }),
  )
  expect(code).toBe(0)
  expect((JSON.parse(stdout) as { input: unknown }).input).toEqual({ do: 'x', extra: 1 })
})

test('a list that is cut still has every instance with an open question', async () => {
  const older = [await waiting(), await waiting()]
  for (const name of ['a', 'b', 'c']) await place.run('run', 'doer', '-q', '-i', `do=${name}`)
  const { stdout } = await place.run('instance', 'list', '--limit', '2')
  const ids = stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(' ')[0])
  expect(ids).toEqual(expect.arrayContaining(older))
  expect(stdout.split('\n')[1]).toContain('waiting for you')
  const some = await place.run('instance', 'list', '--limit', '2', '--status', 'completed', '--json')
  expect((JSON.parse(some.stdout) as { instances: unknown[] }).instances.length).toBe(2)
})

async function openInstances(): Promise<unknown[]> {
  const { stdout } = await place.run('instance', 'list', '--status', 'awaiting_input', '--all', '--json')
  return (JSON.parse(stdout) as { instances: unknown[] }).instances
}
