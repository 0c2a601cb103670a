/** A job of GitHub Actions: commands that cannot be forged, and the step summary. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { appendSummary, summaryOf } from '../../src/terminal/follow/github-summary.ts'
import { withoutCommands, withoutCommandsInJson, workflowCommand } from '../../src/terminal/output/github-commands.ts'
import { BORN, moved, storyAt, storyOf } from './story-of.ts'

/** How the runner looks at a line: trimmed, and blind to characters that are not shown. */
function isCommand(line: string): boolean {
  const seen = line.replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}\0]/gu, '')
  return seen.trimStart().startsWith('::') || seen.includes('##[')
}

const linesOf = (text: string) => text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)

test.each([
  '::error::forged',
  '  \t::set-output name=x::y',
  'fine\n::add-mask::x',
  'fine\r::stop-commands::x',
  '\u200b:\u00ad:error::hidden',
  '\ufeff::error::x',
  'in the middle ##[error]forged',
  '#\u200d#\u200b[group]forged',
])('%j is no command any more', (text) => {
  expect(linesOf(text).some(isCommand)).toBe(true)
  expect(linesOf(withoutCommands(text)).filter(isCommand)).toEqual([])
})

test('no line of a resolver is a workflow command', () => {
  const hostile = fc.string({
    unit: fc.constantFrom(':', '#', '[', ' ', '\n', '\r', '\t', 'e', '\u200b', '\u00ad', '\u2028', '\u0085', '\ufeff'),
    maxLength: 24,
  })
  fc.assert(
    fc.property(hostile, (text) => {
      expect(linesOf(withoutCommands(text)).filter(isCommand)).toEqual([])
    }),
    { numRuns: 2_000 },
  )
})

test('text without a command stays unchanged', () => {
  const text = 'std::vector, a: b, ## Title\n# [link]\nsee http://example.test'
  expect(withoutCommands(text)).toBe(text)
})

test('a JSON document keeps its value', () => {
  const value = { output: 'a ##[error] b', lines: '#\u200b#[x' }
  const json = withoutCommandsInJson(JSON.stringify(value, null, 2))
  expect(linesOf(json).filter(isCommand)).toEqual([])
  expect(JSON.parse(json)).toEqual(value)
})

test('a workflow command carries its whole text', () => {
  expect(workflowCommand('error', '100%\nbroken', { title: 'a:b,c' })).toBe('::error title=a%3Ab%2Cc::100%25%0Abroken')
  expect(workflowCommand('endgroup', '')).toBe('::endgroup::')
})

test('the summary shows outcome, phases with their durations, and artifacts', () => {
  const story = storyOf(
    moved('created', 'running'),
    ['resolver:phase', { name: 'planning' }],
    ['resolver:progress', { milestone: 'half', fraction: 0.5 }],
    ['resolver:phase', { name: 'building' }],
    ['resolver:artifact', { kind: 'file', value: 'building.md' }],
    moved('running', 'failed', { error: { code: 'broke', detail: 'The ground gave way.\nTwice.' } }),
  )
  expect(summaryOf(story)).toBe(
    [
      '### ✗ tour failed in 6.0 s',
      'Instance `0123456789ab` of tour 1\\.0\\.0',
      '**broke**: The ground gave way\\.\\\nTwice\\.',
      '| phase | took |\n|---|---|\n| planning | 2.0 s |\n| building | 2.0 s |',
      '**Artifacts**\n\n- file: building\\.md',
      '',
    ]
      .join('\n\n')
      .replace(/\n\n$/, '\n'),
  )
})

test('the phase of a run that was left took the time so far', () => {
  const story = storyOf(
    moved('created', 'running'),
    ['resolver:phase', { name: 'planning' }],
    ['resolver:phase', { name: 'building' }],
  )
  const summary = summaryOf(story, Date.parse(BORN) + 10_000)
  expect(summary).toContain('| planning | 1.0 s |\n| building | 7.0 s so far |')
})

test('the summary of a waiting instance has the question and the command that answers it', () => {
  const summary = summaryOf(storyAt('awaiting_input'))
  expect(summary).toContain('◆ Waiting for an answer to **go**: Build a lighthouse in 4 steps\\?')
  expect(summary).toContain('```sh\nresolve instance answer 0123456789ab go\n```')
})

test('text of a resolver is escaped in the summary', () => {
  const evil = '<img src=x> [a](http://e.test) | `x` @all ```\n# Title'
  const story = storyOf(
    ['resolver:phase', { name: evil }],
    ['resolver:artifact', { kind: evil, value: evil }],
    moved('running', 'completed', { output: evil }),
  )
  const summary = summaryOf(story).replaceAll('`0123456789ab`', '').replace('| phase | took |\n|---|---|', '')
  expect(summary).not.toMatch(/(?<!\\)[<[`@]/)
  expect(summary).not.toMatch(/^# /m)
  const rows = summary.split('\n').filter((line) => line.startsWith('|'))
  for (const row of rows) expect(row.match(/(?<!\\)\|/g)?.length).toBe(3)
})

test('the summary is appended to the file that GitHub names, and a failure is reported, not thrown', () => {
  const folder = mkdtempSync(join(tmpdir(), 'resolve-summary-'))
  const file = join(folder, 'summary.md')
  expect(appendSummary(storyAt('completed'), { GITHUB_STEP_SUMMARY: file })).toBeUndefined()
  expect(appendSummary(storyAt('failed'), { GITHUB_STEP_SUMMARY: file })).toBeUndefined()
  expect(readFileSync(file, 'utf8').match(/^### /gm)?.length).toBe(2)
  expect(appendSummary(storyAt('failed'), { GITHUB_STEP_SUMMARY: folder })).toMatch(/^Can't write the step summary/)
  expect(appendSummary(storyAt('failed'), {})).toBeUndefined()
  rmSync(folder, { recursive: true })
})
