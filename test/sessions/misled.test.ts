/** A model that does what a hostile repository tells it: its calls and answers neither hold the process, nor fill it, nor lead out of the workspace. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { linesIn } from '../../src/sessions/search/git-lines.ts'
import { matcherOf, readPattern } from '../../src/sessions/search/patterns.ts'
import { type Dialect, LlmServer, type LlmTurn } from '../support/llm-server.ts'
import { arena, KEY } from './arena.ts'
import { bench } from './calls.ts'

let llm: LlmServer

beforeAll(async () => {
  llm = await LlmServer.start()
})

afterAll(() => llm.close())

function live(dialect: Dialect, turns: readonly LlmTurn[]) {
  llm.script(turns)
  return arena({ model: `${dialect}/test`, base_url: llm.url }, KEY)
}

const LONE = /\\ud83d(?!\\ud)/i

describe('half a character', () => {
  test('in a prompt, an answer, an input, a cut line or a skill is never sent to a provider', async () => {
    const calls = [
      { tool: 'read', input: { path: 'long.txt' } },
      { tool: 'search', input: { pattern: 'needle' } },
      { tool: 'glob', input: { pattern: 'a\ud83d', ['x\ud83d']: 'y' } },
    ]
    const at = live('anthropic', [{ text: 'So \ud83d', calls }, { text: 'Done \ud83d.' }, { text: 'Again.' }])
    // The cuts of both tools are within the character.
    writeFileSync(
      join(at.workspace, 'long.txt'),
      `${'x'.repeat(1_999)}😀\n${'needle'.padEnd(488, 'y')}${'😀'.repeat(9)}\n`,
    )
    const skills = join(at.workspace, 'skills')
    mkdirSync(join(skills, 'odd'), { recursive: true })
    writeFileSync(join(skills, 'odd/SKILL.md'), `---\ndescription: ${'d'.repeat(999)}😀\n---\n`)
    const session = await at.create('work', { skills: [skills], instructions: 'Be \ud83d.' })
    const { output } = await session.run('Go \ud83d.')
    expect(output).toBe('Done \ufffd.')
    await session.run('Once more.')
    expect(llm.requests).toHaveLength(3)
    for (const { text } of llm.requests) expect(text).not.toMatch(LONE)
    // The premise: the characters were cut.
    const results = new Map(at.linesOf('work', 'tool_result').map(({ tool, output }) => [tool, output]))
    expect(results.get('read')).toContain('x\ufffd [line cut]')
    expect(results.get('search')).toContain('\ufffd [line cut]')
    // The prompt of before is known again.
    at.open()
    await (await at.create('work', { skills: [skills] })).run('Go \ud83d.')
    expect(llm.requests).toHaveLength(3)
  })
})

describe('JSON that is nested ten thousand deep', () => {
  const deep = '['.repeat(10_000) + ']'.repeat(10_000)

  test.each(['anthropic', 'openai', 'openai-compatible'] as const)(
    'as an input (%s) is a mistake that is told',
    async (dialect) => {
      const at = live(dialect, [
        { calls: [{ tool: 'todo_list', input: `{"items":${deep}}` }] },
        { calls: [{ tool: 'todo_list', input: { items: [] } }] },
        { text: 'Done.' },
      ])
      expect(await (await at.create('work')).run('Go.')).toMatchObject({ output: 'Done.' })
      const [refused, fine] = at.linesOf('work', 'tool_result')
      expect(refused).toMatchObject({ is_error: true, output: expect.stringContaining('nested deeper') })
      expect(fine).toMatchObject({ is_error: false })
    },
  )

  test('as the answer does not fit a schema', async () => {
    const at = live('anthropic', [{ text: deep }, { text: '[]' }])
    const { object } = await (await at.create('work')).run('Go.', { schema: { type: 'array' } })
    expect(object).toEqual([])
    expect(llm.requests[1]?.text).toContain('nested deeper than')
  })
})

test('an answer of fences and line ends is read at once', async () => {
  const at = live('anthropic', [
    { text: `\`\`\`${'\n'.repeat(200_000)}` },
    { text: 'So:\n```json\n[1]\n```\nand so on' },
  ])
  const { object } = await (await at.create('work')).run('Go.', { schema: { type: 'array' } })
  expect(object).toEqual([1])
})

test('two hundred calls of one step are answered, a few at a time', async () => {
  let [now, most] = [0, 0]
  const look = {
    description: 'Looks',
    input: { type: 'object' },
    readOnly: true,
    run: async () => {
      now += 1
      most = Math.max(most, now)
      await new Promise((resolve) => setImmediate(resolve))
      now -= 1
      return 'seen'
    },
  }
  const calls = Array.from({ length: 200 }, (_, at) => ({ tool: 'look', input: { at } }))
  const at = live('anthropic', [{ calls }, { text: 'Done.' }])
  await (await at.create('work', { ownTools: { look } })).run('Go.')
  expect(at.linesOf('work', 'tool_result').map(({ output }) => output)).toEqual(calls.map(() => 'seen'))
  expect(most).toBeGreaterThan(1)
  expect(most).toBeLessThanOrEqual(8)
})

test.each([true, false])('search and glob stay below their directory, in a repository: %s', async (isRepository) => {
  const { at, run } = bench()
  const outside = join(at.config.project_path, '..', `outside-${at.config.project_path.split('/').at(-1)}`)
  writeFileSync(outside, 'needle outside')
  mkdirSync(join(at.workspace, 'src'))
  writeFileSync(join(at.workspace, 'src/in.ts'), 'needle inside')
  symlinkSync(outside, join(at.workspace, 'src/link.ts'))
  if (isRepository) {
    execFileSync('git', ['init', '-q', at.workspace])
    // What a command of an earlier session could have left.
    execFileSync('git', ['-C', at.workspace, 'config', 'core.worktree', '/'])
  }
  const climbing = '../'.repeat(20)
  const results = await run([
    ['search', { pattern: 'needle', files: `${climbing}${outside.slice(1)}` }],
    ['search', { pattern: 'needle', files: outside }],
    ['search', { pattern: 'needle', path: outside.slice(0, outside.lastIndexOf('/')).replace(/^\/tmp$/, '/etc') }],
    ['glob', { pattern: `${climbing}**/passwd` }],
    ['glob', { pattern: '/etc/*' }],
    ['search', { pattern: 'needle' }],
    ['glob', { pattern: `${at.workspace}/src/*.{ts,tsx}` }],
  ])
  rmSync(outside)
  for (const { output } of results) expect(output).not.toMatch(/needle outside|passwd\b.*\n|hosts/)
  expect(results.slice(0, 5).map(({ isError }) => isError)).toEqual([true, true, true, true, true])
  expect(results[5]?.output).toMatch(/in\.ts:1:needle inside$/)
  expect(results[6]?.output).toContain('src/in.ts')
})

test('a pattern that would take all memory, or stand for millions of names, is refused', async () => {
  const { at, run } = bench()
  writeFileSync(join(at.workspace, 'a.txt'), 'aaaa')
  const results = await run([
    ['search', { pattern: '((((a{1,99}){1,99}){1,99}){1,99}){1,99}' }],
    ['glob', { pattern: '{a,b}'.repeat(60) }],
    ['search', { pattern: 'a', files: '{a,b}'.repeat(60) }],
    ['glob', { pattern: `${'*a'.repeat(200)}b` }],
  ])
  expect(results.map(({ isError }) => isError)).toEqual([true, true, true, false])
}, 60_000)

test('of a line of two hundred megabytes the beginning is held; line ends go, empty lines stay', async () => {
  const chunk = Buffer.alloc(1024 ** 2, 'x')
  const stream = Readable.from(
    (function* () {
      for (let at = 0; at < 200; at += 1) yield chunk
      yield Buffer.from('\r\nsecond\r')
      yield Buffer.from('\n\nlast')
    })(),
  )
  const lines: string[] = []
  for await (const line of linesIn(stream)) lines.push(line)
  expect(lines.map((line) => line.length)).toEqual([64 * 1024, 6, 0, 4])
})

test('a skill whose file is a link out of its folder is none, and one that became a link or a FIFO is not read', async () => {
  const { at, run } = bench()
  const skills = join(at.workspace, 'skills')
  for (const name of ['linked', 'swapped', 'held']) mkdirSync(join(skills, name), { recursive: true })
  symlinkSync('/etc/passwd', join(skills, 'linked/SKILL.md'))
  for (const name of ['swapped', 'held'])
    writeFileSync(join(skills, name, 'SKILL.md'), `---\nname: "${name}"\n---\nBody.\n`)
  const results = await run(
    [
      ['skill', { name: 'linked' }],
      ['skill', { name: 'swapped' }],
      [
        'shell',
        { command: `cd ${skills}; ln -sf /etc/passwd swapped/SKILL.md; rm held/SKILL.md; mkfifo held/SKILL.md` },
      ],
      ['skill', { name: 'swapped' }],
      ['skill', { name: 'held' }],
    ],
    { skills: [skills] },
  )
  for (const { output } of results) expect(output).not.toContain('root:')
  expect(results.map(({ isError }) => isError)).toEqual([true, false, false, true, true])
})

test('an edit that would write gigabytes changes nothing', async () => {
  const { at, run } = bench()
  writeFileSync(join(at.workspace, 'small.txt'), 'a'.repeat(90_000))
  writeFileSync(join(at.workspace, 'many.txt'), 'a'.repeat(200_000))
  const edit = (path: string) =>
    ['edit', { path, old_string: 'a', new_string: 'b'.repeat(10_000), replace_all: true }] as const
  const [, , large, many] = await run([
    ['read', { path: 'small.txt' }],
    ['read', { path: 'many.txt' }],
    edit('small.txt'),
    edit('many.txt'),
  ])
  expect(large).toMatchObject({ isError: true, output: expect.stringContaining('can be written') })
  expect(many).toMatchObject({ isError: true, output: expect.stringContaining('too often') })
})

test.each([
  ['*.ts', 'a.ts', true],
  ['*.ts', 'src/a.ts', false],
  ['**/*.ts', 'a.ts', true],
  ['**/*.ts', 'src/deep/a.ts', true],
  ['src/**', 'src/deep/a.ts', true],
  ['src/**/b/*.ts', 'src/a/b/c/b/x.ts', true],
  ['src/**/b/*.ts', 'src/a/b/c/x.ts', false],
  ['a?[0-9][!x]', 'ab1y', true],
  ['a?[0-9][!x]', 'ab1x', false],
  ['{a,b{c,d}}.md', 'bd.md', true],
  ['{a,b{c,d}}.md', 'b.md', false],
  ['{literal}.md', '{literal}.md', true],
  ['{open', '{open', true],
  ['[open', '[open', true],
  ['\\*', '*', true],
  ['\\*', 'a', false],
  ['😀?', '😀😀', true],
  ['./a', 'a', true],
])('the pattern %s fits %s: %s', (pattern, path, fits) => {
  const read = readPattern(pattern, '/w')
  if ('problem' in read) throw new Error(read.problem)
  expect(matcherOf(read.patterns)(path)).toBe(fits)
})
