/** Holds docs/exit-codes.md, docs/json.md and docs/cli.md against the code. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { COMMANDS, commandWords, NOUNS, SHORT_FORMS } from '../../src/commands/index.ts'
import { describeError, ERROR_CODES } from '../../src/core/errors.ts'
import type { CreationRecord } from '../../src/core/protocol/journal.ts'
import { STATUSES } from '../../src/core/protocol/status.ts'
import { beginStory } from '../../src/core/view/story.ts'
import { instanceDocument } from '../../src/terminal/output/documents.ts'
import { EXIT, EXIT_MEANING, exitCodeOf, worstExitCode } from '../../src/terminal/output/exit-codes.ts'

const root = join(import.meta.dirname, '..', '..')
const page = (name: string) => readFileSync(join(root, 'docs', name), 'utf8')

function rows(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('|') && !/^\|[-| ]+\|$/.test(line))
  return lines.map((line) => line.split(/(?<!\\)\|(?![^`]*`[^`]*\|)/).map((cell) => cell.trim()))
}

const codeIn = (cell: string | undefined) => /^`([^`]+)`/.exec(cell ?? '')?.[1]

test('docs/exit-codes.md lists every exit code with its meaning, and no other', () => {
  const listed = rows(page('exit-codes.md'))
    .filter(([, code]) => /^\d+$/.test(code ?? ''))
    .map(([, code, when]) => [Number(code), when])
  const known = Object.entries(EXIT_MEANING).map(([code, when]) => [Number(code), when])
  expect(listed).toEqual(known)
  expect(Object.values(EXIT).toSorted()).toEqual(known.map(([code]) => code).toSorted())
})

test('every exit code of the catalogue of errors is one of the table', () => {
  const codes = ERROR_CODES.map((code) => describeError(code).exit)
  expect(codes.filter((code) => !(code in EXIT_MEANING))).toEqual([])
})

test('a status has one exit code, and the worst of several is a failure', () => {
  expect(Object.fromEntries(STATUSES.map((status) => [status, exitCodeOf(status)]))).toEqual({
    created: 0,
    starting: 0,
    running: 0,
    awaiting_input: 8,
    paused: 9,
    completed: 0,
    failed: 1,
    cancelled: 3,
  })
  expect(worstExitCode([0, 8, 3, 1, 9])).toBe(1)
  expect(worstExitCode([0, 8, 9])).toBe(9)
  expect(worstExitCode([0, 0])).toBe(0)
})

test('docs/json.md names every printed schema, and no other', () => {
  const files = ['src/commands', 'src/terminal'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(root, folder, file)),
  )
  const source = files
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  const printed = [...source.matchAll(/'(resolve\.[a-z-]+\/1)'/g)].map(([, schema]) => schema)
  const listed = [...page('json.md').matchAll(/^\| `(resolve\.[a-z-]+\/1)` \|/gm)].map(([, schema]) => schema)
  expect(listed.toSorted()).toEqual([...new Set(printed)].toSorted())
})

test('docs/json.md lists every field of the instance document, and no other', () => {
  const creation = {
    schema: 'resolve.journal/1',
    instance_id: '0123456789ab',
    name: null,
    parent_id: null,
    created_at: '2026-01-01T00:00:00.000Z',
    input: {},
    executor: 'local',
    resolver: { name: 'hello', version: '1.0.0', dir: '', commit: null },
  } as unknown as CreationRecord
  const section = page('json.md').split('## The instance document')[1]?.split('\n## ')[0] ?? ''
  const listed = rows(section)
    .map(([, field]) => codeIn(field))
    .filter((field) => field !== undefined)
  expect(listed).toEqual(Object.keys(instanceDocument(beginStory(creation), 0)))
})

test('docs/json.md lists every reason for leaving, and no other', () => {
  const source = readFileSync(join(root, 'src/terminal/output/documents.ts'), 'utf8')
  const union = /export type LeftReason =([^;]+?)(?:\n\n|$)/.exec(source)?.[1] ?? ''
  const known = [...union.matchAll(/'([a-z_]+)'/g)].map(([, reason]) => reason)
  const section = page('json.md').split('| reason | when |')[1] ?? ''
  const listed = [...section.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, reason]) => reason)
  expect(known.length).toBeGreaterThan(5)
  expect(listed).toEqual(known)
})

test('docs/cli.md lists every command with its words and flags', async () => {
  const listed = page('cli.md')
    .split('\n')
    .flatMap((line) => {
      const found = new RegExp(
        `^\\| \`((?:${[...NOUNS, 'inbox', 'serve', 'doctor', 'completion', 'login', 'logout'].join('|')})\\b[^\`]*)\` \\| ?(.*?) ?\\|$`,
      ).exec(line)
      return found === null
        ? []
        : [{ words: found[1], flags: [...(found[2] ?? '').matchAll(/`(--?[a-z-]+)`/g)].map(([, flag]) => flag) }]
    })
  const known = []
  for (const [id, load] of Object.entries(COMMANDS)) {
    if (SHORT_FORMS.includes(id)) continue
    const command = (await load()).default as unknown as {
      args: Record<string, { required?: boolean }>
      flags?: Record<string, { char?: string }>
    }
    const args = Object.entries(command.args).map(([name, arg]) =>
      arg.required ? name.toUpperCase() : `[${name.toUpperCase()}]`,
    )
    const flags = Object.keys(command.flags ?? {}).map((name) =>
      name === 'input' ? '-i' : name === 'output' ? '-o' : `--${name}`,
    )
    known.push({ words: [commandWords(id), ...args].join(' '), flags })
  }
  expect(listed).toEqual(known)
})

test('every command has a summary and examples that begin with its own words', async () => {
  for (const [id, load] of Object.entries(COMMANDS)) {
    const command = (await load()).default as unknown as { summary?: string; examples?: string[]; aliases: string[] }
    expect(command.summary, id).toMatch(/^[A-Z].*[^.]$/)
    expect(command.examples?.length, id).toBeGreaterThan(0)
    const starts = [commandWords(id), 'instance run', 'instance watch', ...command.aliases].map(
      (words) => `resolve ${words}`,
    )
    for (const example of command.examples ?? [])
      expect(
        starts.some((start) => example.startsWith(start)),
        example,
      ).toBe(true)
  }
})

test('the table of commands holds every file of the folders, and no other', () => {
  const files = NOUNS.flatMap((noun) =>
    readdirSync(join(root, 'src/commands', noun), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${noun}:${basename(file, '.ts')}`),
  )
  expect(
    Object.keys(COMMANDS)
      .filter((id) => id.includes(':'))
      .toSorted(),
  ).toEqual(files.toSorted())
})
