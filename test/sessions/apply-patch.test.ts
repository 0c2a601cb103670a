/** The tool apply_patch: the format that OpenAI's models write, whole or not at all. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { applyChunks, parsePatch } from '../../src/sessions/tools/patch.ts'
import { DIALECTS, LlmServer } from '../support/llm-server.ts'
import { arena } from './arena.ts'
import { type Asked, bench } from './calls.ts'

const patch = (...lines: string[]): Asked => [
  'apply_patch',
  { input: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') },
]
const read = (path: string): Asked => ['read', { path }]
const TOOLS = { tools: ['read', 'apply_patch'] } as const

test('files are added, changed, moved and deleted by one patch (R56-PATCH)', async () => {
  const { at, run } = bench()
  const path = (name: string) => join(at.workspace, name)
  writeFileSync(path('app.py'), 'import os\n\ndef greet():\n    print("Hi")\n\ndef leave():\n    print("Hi")\n', {
    mode: 0o755,
  })
  writeFileSync(path('old.txt'), 'old\n')
  writeFileSync(path('named.txt'), 'a\nb\n')
  const results = await run(
    [
      read('app.py'),
      read('old.txt'),
      read('named.txt'),
      patch(
        ...['*** Add File: new/hello.txt', '+Hello', '+', '+world'],
        ...['*** Update File: app.py', '@@ def leave():', '-    print("Hi")', '+    print("Bye")'],
        ...['*** Update File: named.txt', '*** Move to: deep/renamed.txt', ' a', '-b', '+c'],
        ...['*** Delete File: old.txt'],
      ),
      // What it wrote counts as read.
      patch('*** Update File: new/hello.txt', ' world', '+again', '*** End of File'),
    ],
    TOOLS,
  )
  expect(results.at(3)).toEqual({
    output:
      'Created new/hello.txt.\nChanged app.py.\nChanged named.txt, which is now deep/renamed.txt.\nDeleted old.txt.',
    isError: false,
  })
  expect(results.at(4)?.isError).toBe(false)
  expect(readFileSync(path('new/hello.txt'), 'utf8')).toBe('Hello\n\nworld\nagain\n')
  expect(readFileSync(path('app.py'), 'utf8')).toBe(
    'import os\n\ndef greet():\n    print("Hi")\n\ndef leave():\n    print("Bye")\n',
  )
  expect(statSync(path('app.py')).mode & 0o777).toBe(0o755)
  expect(readFileSync(path('deep/renamed.txt'), 'utf8')).toBe('a\nc\n')
  expect([existsSync(path('old.txt')), existsSync(path('named.txt'))]).toEqual([false, false])
})

describe('nothing is changed where a part of it', () => {
  test.each([
    ['is not in the file', ['*** Update File: a.txt', '-gone', '+x'], /not in it below line 0/],
    ['has context that is nowhere', ['*** Update File: a.txt', '@@ gone', '-two', '+x'], /no line "gone"/],
    ['is of a file that was not read', ['*** Update File: b.txt', '-one', '+x'], /Read b\.txt before/],
    ['deletes a file that was not read', ['*** Delete File: b.txt'], /Read b\.txt before/],
    ['is of a file that is not there', ['*** Update File: c.txt', '-one', '+x'], /There is no c\.txt/],
    ['adds a file that exists', ['*** Add File: b.txt', '+x'], /b\.txt exists/],
    ['moves onto a file that exists', ['*** Update File: a.txt', '*** Move to: b.txt', '-one', '+x'], /b\.txt exists/],
    ['leads outside', ['*** Add File: /etc/outside.txt', '+x'], /is outside of/],
    ['leads to the platform', ['*** Add File: ../.resolve/state.json', '+x'], /belongs to the platform/],
    ['names a file twice', ['*** Update File: ./a.txt', '-one', '+x'], /is in the patch twice/],
    ['is no operation', ['*** Rename File: a.txt'], /begins with/],
    ['has lines without a sign', ['*** Update File: b.txt', 'one'], /begins with/],
    ['has no change', ['*** Update File: b.txt'], /there is no change/],
  ])('%s', async (_, lines, said) => {
    const { at, run } = bench()
    writeFileSync(join(at.workspace, 'a.txt'), 'one\ntwo\n')
    writeFileSync(join(at.workspace, 'b.txt'), 'one\n')
    const first = ['*** Add File: new.txt', '+new', '*** Update File: a.txt', '-two', '+2']
    const [, told] = await run([read('a.txt'), patch(...first, ...lines)], TOOLS)
    expect(told).toMatchObject({ isError: true, output: expect.stringMatching(said) })
    expect(told?.output).toContain('Nothing was changed')
    expect(readdirSync(at.workspace).sort()).toEqual(['a.txt', 'b.txt'])
    expect(readFileSync(join(at.workspace, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
  })

  test('needs a directory where a file stands', async () => {
    const { at, run } = bench()
    writeFileSync(join(at.workspace, 'a.txt'), 'one\n')
    mkdirSync(join(at.workspace, 'd'))
    writeFileSync(join(at.workspace, 'd/file'), 'one\n')
    // A file stands where a directory is needed.
    const [, told] = await run(
      [read('a.txt'), patch('*** Update File: a.txt', '-one', '+1', '*** Add File: d/file/below.txt', '+x')],
      TOOLS,
    )
    expect(told?.isError).toBe(true)
    expect(readFileSync(join(at.workspace, 'a.txt'), 'utf8')).toBe('one\n')
    expect(readdirSync(at.workspace).sort()).toEqual(['a.txt', 'd'])
  })
})

test('a session that is readOnly has none, and other models have it where the author names it', async () => {
  const { at, run } = bench()
  const add = patch('*** Add File: a.txt', '+x')
  const [unnamed] = await run([add])
  const [readOnly] = await run([add], { ...TOOLS, readOnly: true })
  expect([unnamed?.isError, readOnly?.isError]).toEqual([true, true])
  expect(existsSync(join(at.workspace, 'a.txt'))).toBe(false)
})

test.each(DIALECTS)('%s: the models that know the format have the tool', async (provider) => {
  const llm = await LlmServer.start([{ text: 'ok' }])
  onTestFinished(() => llm.close())
  const at = arena({ model: `${provider}/test`, base_url: llm.url })
  await (await at.create('work')).run('Go.')
  expect(llm.requests[0]?.text.includes('"apply_patch"')).toBe(provider === 'openai')
})

describe('chunks', () => {
  const cases = [
    { name: 'a line that only comes, at the end', text: 'a\nb\n', lines: ['+c'], gives: 'a\nb\nc\n' },
    { name: 'below a line', text: 'a\nb\n', lines: ['@@ a', '+x'], gives: 'a\nx\nb\n' },
    { name: 'two lines above', text: 'x\nf\ny\nf\nz\n', lines: ['@@ y', '@@ f', '-z', '+1'], gives: 'x\nf\ny\nf\n1\n' },
    {
      name: 'chunks one below the other',
      text: 'a\nb\na\nb\n',
      lines: ['-a', '+1', '@@', '-a', '+2'],
      gives: '1\nb\n2\nb\n',
    },
    { name: 'not above the chunk before', text: 'a\nb\n', lines: ['-b', '+1', '@@', '-a', '+2'], problem: true },
    { name: 'the end of a file', text: 'a\nb\na\n', lines: ['-a', '+1', '*** End of File'], gives: 'a\nb\n1\n' },
    { name: 'white space at ends stays', text: 'a  \nb\n', lines: [' a', '-b', '+c'], gives: 'a  \nc\n' },
    { name: 'white space before is not guessed', text: '  a\n', lines: ['-a', '+b'], problem: true },
    { name: 'CRLF and BOM stay', text: '\ufeffa\r\nb\r\n', lines: ['-b', '+c', '+d'], gives: '\ufeffa\r\nc\r\nd\r\n' },
    { name: 'no last line end stays', text: 'a\nb', lines: ['-a', '+c'], gives: 'c\nb' },
    { name: 'into an empty file', text: '', lines: ['+a'], gives: 'a\n' },
    { name: 'all of it', text: 'a\n', lines: ['-a'], gives: '' },
    { name: 'an empty line that stays', text: 'a\n\nb\n', lines: [' a', '', '-b', '+c'], gives: 'a\n\nc\n' },
  ]
  test.each(cases)('$name', ({ text, lines, gives, problem }) => {
    const parsed = parsePatch(
      ['<<EOF', '*** Begin Patch', '*** Update File: a', ...lines, '*** End Patch', 'EOF'].join('\n'),
    )
    const change = 'changes' in parsed ? parsed.changes[0] : undefined
    if (change?.kind !== 'update') return expect(parsed).toBe('a patch')
    const patched = applyChunks(text, change.chunks)
    if (problem === true) expect(patched).toHaveProperty('problem')
    else expect(patched).toEqual({ text: gives })
  })
})
