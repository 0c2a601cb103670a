/** `resolve help`: every topic is there, and what it lists is what the code does. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from '@oclif/core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { COMMANDS, commandWords } from '../../src/commands/index.ts'
import type { BaseCommand } from '../../src/terminal/command/base-command.ts'
import { commandHelp } from '../../src/terminal/help/help.ts'
import { ENVIRONMENT, helpTopic, TOPICS } from '../../src/terminal/help/help-topics.ts'
import { EXIT_MEANING } from '../../src/terminal/output/exit-codes.ts'
import { carryFlags, wholeCommands } from '../../src/terminal/output/shell.ts'
import { root, sourceFiles } from '../house/source-files.ts'
import { type Home, newHome } from './cli.ts'

let place: Home

beforeAll(() => {
  place = newHome()
})

afterAll(() => place.end())

test.each(Object.keys(TOPICS))('help %s is a page that fits a terminal, also as a document', async (topic) => {
  const { code, stdout, stderr } = await place.run('help', topic)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.split('\n').length).toBeLessThan(24)
  const { stdout: json } = await place.run('help', topic, '--json')
  expect(JSON.parse(json)).toEqual({ schema: 'resolve.help/1', topic, text: stdout })
})

test('help exit-codes lists every code with its meaning', () => {
  const listed = [...helpTopic('exit-codes').matchAll(/^ {2,}(\d+) {2}(.*)$/gm)].map(([, code, when]) => [code, when])
  expect(Object.fromEntries(listed)).toEqual(EXIT_MEANING)
})

/** Set by the platform for a worker, or read by the SDK inside one: no user sets these by hand. */
const INSIDE = [
  'RESOLVE_BUNDLES',
  'RESOLVE_DIR',
  'RESOLVE_CHANNEL',
  'RESOLVE_COMPILE_CACHE',
  'RESOLVE_STDOUT',
  'RESOLVE_FAILPOINTS',
  'RESOLVE_CHROMIUM',
]

test('help environment lists every RESOLVE_ variable that the code reads, and none that it does not', () => {
  const code = sourceFiles('src')
    .filter(({ path }) => !/help-topics|completion-scripts/.test(path))
    .map((file) => file.code)
    .join('\n')
  const read = [...code.matchAll(/\benv(?:ironment)?\??\.?\[?['.](RESOLVE_[A-Z_]+)/g)].map(([, name]) => name ?? '')
  expect(read.length).toBeGreaterThan(5)
  const known = [...Object.keys(ENVIRONMENT), ...INSIDE].filter((name) => name.startsWith('RESOLVE_'))
  expect([...new Set(read)].toSorted()).toEqual(known.toSorted())
  const text = `${code}${readFileSync(join(root, 'bin/run.js'), 'utf8')}`
  expect(Object.keys(ENVIRONMENT).filter((name) => !text.includes(name))).toEqual([])
})

test('docs/cli.md lists the same variables in the same words', () => {
  const section = readFileSync(join(root, 'docs/cli.md'), 'utf8').split('## Environment')[1]?.split('\n## ')[0] ?? ''
  const listed = [...section.matchAll(/^\| `([A-Z_]+)` \| (.*) \|$/gm)].map(([, name, what]) => [name, what])
  expect(Object.fromEntries(listed)).toEqual(ENVIRONMENT)
})

test('commands that topics and the overview name exist', async () => {
  const page = Object.keys(TOPICS).map(helpTopic).join('\n')
  const named = [...page.matchAll(/resolve ((?:instance|resolver) [a-z]+|inbox|run)\b/g)].map(
    ([, words]) => words ?? '',
  )
  expect(named.length).toBeGreaterThan(4)
  for (const words of new Set(named)) {
    expect((await place.run('help', ...words.split(' '))).code, words).toBe(0)
  }
})

test('help COMMAND prints the same as COMMAND --help, and refuses an unknown command', async () => {
  const [help, flag] = await Promise.all([
    place.run('help', 'instance', 'prune'),
    place.run('instance', 'prune', '--help'),
  ])
  expect(help).toEqual(flag)
  expect(help.stdout).toContain('resolve instance prune --dry-run')
  expect((await place.run('help', 'frobnicate')).code).toBe(127)
  expect((await place.run('help')).stdout).toContain(Object.keys(TOPICS).join(', '))
})

test('--server is named by help, and by no command that refuses it', async () => {
  expect((await place.run('help')).stdout).toContain('--server URL')
  for (const [id, load] of Object.entries(COMMANDS)) {
    const command = (await load()).default as unknown as typeof BaseCommand<typeof Command>
    const shown = commandHelp(command as never, commandWords(id))
    expect(/--server=URL/.test(shown), id).toBe(command.place === 'anywhere')
    // What a hint says of it is given over there, so that it carries no --server.
    carryFlags(['--server', 'http://x'])
    const hint = wholeCommands(`See "resolve ${commandWords(id)}".`, undefined)
    carryFlags([])
    expect(hint.includes('--server'), id).toBe(command.place === 'anywhere')
  }
})

test('a description of several lines keeps its lines and its sentences', async () => {
  for (const [id, load] of Object.entries(COMMANDS)) {
    const { description = '' } = (await load()).default as unknown as { description?: string }
    const lines = description.split('\n')
    for (const line of lines.filter((one) => lines.length > 1 && !one.startsWith('  '))) {
      expect(line, id).toMatch(/[.:]$/)
      expect(line.length, line).toBeLessThanOrEqual(98)
    }
  }
})

test('docs/cli.md and help name the same topics', () => {
  const listed = /`resolve help TOPIC` explains ([^;]+);/.exec(readFileSync(join(root, 'docs/cli.md'), 'utf8'))?.[1]
  expect(listed?.split(/, | and /)).toEqual(expect.arrayContaining(Object.keys(TOPICS)))
  expect(listed?.split(/, | and /)).toHaveLength(Object.keys(TOPICS).length)
})
