/** What each tool does and refuses, called by a session. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { applyEdits } from '../../src/sessions/tools/apply-edits.ts'
import { bench } from './calls.ts'

describe('files', () => {
  test('read numbers lines, goes on from an offset, lists a directory, and refuses what is not text', async () => {
    const { at, run } = bench()
    writeFileSync(join(at.workspace, 'a.txt'), 'one\ntwo\nthree\n')
    writeFileSync(join(at.workspace, 'b.bin'), Buffer.from([1, 0, 2]))
    writeFileSync(join(at.workspace, 'long.txt'), 'x'.repeat(3_000))
    const [whole, part, listing, binary, long, missing] = await run([
      ['read', { path: 'a.txt' }],
      ['read', { path: 'a.txt', offset: 2, limit: 1 }],
      ['read', { path: '.' }],
      ['read', { path: 'b.bin' }],
      ['read', { path: 'long.txt' }],
      ['read', { path: 'gone.txt' }],
    ])
    expect(whole).toEqual({ output: '     1\tone\n     2\ttwo\n     3\tthree', isError: false })
    expect(part?.output).toBe('     2\ttwo\n[lines 2 to 2 of 3; go on with offset 3]')
    expect(listing?.output.split('\n')).toEqual(['a.txt', 'b.bin', 'long.txt'])
    expect(binary).toMatchObject({ isError: true, output: expect.stringContaining('not text') })
    expect(long?.output).toContain('[line cut]')
    expect(missing).toEqual({ output: 'There is no gone.txt.', isError: true })
  })

  test('a file is changed only after it was read, and only as it was read', async () => {
    const { at, run } = bench()
    const file = join(at.workspace, 'a.txt')
    writeFileSync(file, 'one\r\ntwo\r\n', { mode: 0o755 })
    const results = await run([
      ['write', { path: 'a.txt', content: 'x' }],
      ['edit', { path: 'a.txt', old_string: 'one', new_string: '1' }],
      ['read', { path: 'a.txt' }],
      ['shell', { command: 'echo three >> a.txt' }],
      ['edit', { path: 'a.txt', old_string: 'one', new_string: '1' }],
      ['read', { path: 'a.txt' }],
      [
        'edit',
        {
          path: 'a.txt',
          edits: [
            { old_string: 'one', new_string: '1' },
            { old_string: 'two', new_string: '2' },
          ],
        },
      ],
      ['write', { path: 'deep/er/new.txt', content: 'new' }],
      ['edit', { path: 'deep/er/new.txt', old_string: 'new', new_string: 'newer' }],
    ])
    expect(results.map(({ isError }) => isError)).toEqual([true, true, false, false, true, false, false, false, false])
    expect(results[0]?.output).toContain('Read a.txt before')
    expect(results[4]?.output).toContain('has changed since')
    expect(readFileSync(file, 'utf8')).toBe('1\r\n2\r\nthree\n')
    expect(execFileSync('stat', ['-c', '%a', file], { encoding: 'utf8' }).trim()).toBe('755')
    expect(readFileSync(join(at.workspace, 'deep/er/new.txt'), 'utf8')).toBe('newer')
  })

  test.each(['../.resolve/config.json', '/etc/passwd', 'out/passwd', 'inside/config.json'])(
    '%s can be neither read nor written',
    async (path) => {
      const { at, run } = bench()
      writeFileSync(join(at.dir, 'config.json'), '{"secret":1}')
      symlinkSync('/etc', join(at.workspace, 'out'))
      symlinkSync(at.dir, join(at.workspace, 'inside'))
      const results = await run([
        ['read', { path }],
        ['write', { path: `${path}.new`, content: 'x' }],
      ])
      expect(results.map(({ isError }) => isError)).toEqual([true, true])
      expect(JSON.stringify(results)).not.toMatch(/secret|root:/)
    },
  )
})

describe('edits', () => {
  const cases = [
    { name: 'once', text: 'a b c', edits: [{ old_string: 'b', new_string: 'x' }], gives: 'a x c' },
    { name: 'twice is a problem', text: 'b b', edits: [{ old_string: 'b', new_string: 'x' }], problem: /2 times/ },
    { name: 'all', text: 'b b', edits: [{ old_string: 'b', new_string: 'x', replace_all: true }], gives: 'x x' },
    {
      name: 'CRLF stays',
      text: 'a\r\nb\r\n',
      edits: [{ old_string: 'a\nb', new_string: 'a\nc' }],
      gives: 'a\r\nc\r\n',
    },
    { name: 'BOM stays', text: '\ufeffa', edits: [{ old_string: 'a', new_string: 'b' }], gives: '\ufeffb' },
    {
      name: 'against the original',
      text: 'a b',
      edits: [
        { old_string: 'a', new_string: 'b' },
        { old_string: 'b', new_string: 'a' },
      ],
      gives: 'b a',
    },
    {
      name: 'overlap',
      text: 'abc',
      edits: [
        { old_string: 'ab', new_string: 'x' },
        { old_string: 'bc', new_string: 'y' },
      ],
      problem: /overlap/,
    },
    {
      name: 'other spaces are not guessed',
      text: 'a  b',
      edits: [{ old_string: 'a b', new_string: 'x' }],
      problem: /white space/,
    },
    { name: 'no pattern of replacement', text: 'a', edits: [{ old_string: 'a', new_string: '$&$1' }], gives: '$&$1' },
  ]
  test.each(cases)('$name', ({ text, edits, gives, problem }) => {
    const edited = applyEdits(text, edits)
    if (problem !== undefined) expect(edited).toMatchObject({ problem: expect.stringMatching(problem) })
    else expect(edited).toMatchObject({ text: gives })
  })
})

test.each([true, false])('search and glob, in a repository: %s', async (isRepository) => {
  const { at, run } = bench()
  mkdirSync(join(at.workspace, 'src'))
  writeFileSync(join(at.workspace, 'src/a.ts'), 'const found = 1\n')
  writeFileSync(join(at.workspace, 'src/b.md'), 'found here\n')
  writeFileSync(join(at.workspace, 'many.txt'), 'hit\n'.repeat(300))
  if (isRepository) {
    execFileSync('git', ['init', '-q'], { cwd: at.workspace })
    writeFileSync(join(at.workspace, '.gitignore'), 'ignored.ts\n')
    writeFileSync(join(at.workspace, 'ignored.ts'), 'found\n')
    // A clone may name a program here: it must not run.
    execFileSync('git', ['config', 'core.fsmonitor', `touch ${join(at.workspace, 'ran')}; false`], {
      cwd: at.workspace,
    })
  }
  const results = await run([
    ['search', { pattern: 'fou(nd)' }],
    ['search', { pattern: 'FOUND', ignore_case: true, files: '**/*.ts' }],
    ['search', { pattern: 'found', path: 'src/b.md' }],
    ['search', { pattern: 'hit' }],
    ['search', { pattern: 'nothing like it' }],
    ['search', { pattern: '(' }],
    ['search', { pattern: '--open-files-in-pager=touch ran' }],
    ['glob', { pattern: '**/*.ts' }],
    ['glob', { pattern: '../**' }],
  ])
  const [found, only, one, many, none, broken, , names, climbing] = results
  expect(found?.output.split('\n').sort()).toEqual(['src/a.ts:1:const found = 1', 'src/b.md:1:found here'])
  expect(only?.output).toBe('src/a.ts:1:const found = 1')
  expect(one?.output).toMatch(/b\.md:1:found here$/)
  expect(many?.output.split('\n')).toHaveLength(101)
  expect(none).toEqual({ output: 'No hits.', isError: false })
  expect(broken?.isError).toBe(true)
  expect(names?.output).toBe('src/a.ts')
  expect(climbing?.output).not.toContain('.resolve')
  expect(existsSync(join(at.workspace, 'ran'))).toBe(false)
})

describe('shell', () => {
  test('gives what was printed and the code, without a terminal, an input or the channel to the host', async () => {
    const { run } = bench()
    const [said, failed, env] = await run([
      ['shell', { command: 'echo out; echo err >&2; read -r line || echo "no input"' }],
      ['shell', { command: 'exit 3' }],
      ['shell', { command: 'echo "$CI:$GIT_TERMINAL_PROMPT:$RESOLVE_CHANNEL"; test -t 1 || echo "no terminal"' }],
    ])
    expect(said).toEqual({ output: 'out\nerr\nno input\n[exit code 0]', isError: false })
    expect(failed).toEqual({ output: '[exit code 3]', isError: true })
    expect(env?.output).toContain('1:0:\nno terminal')
  })

  test('a script can write to /dev/stdout and /dev/stderr by name', async () => {
    const { run } = bench()
    const [nul, said] = await run([
      ['shell', { command: 'echo \0' }],
      ['shell', { command: 'echo one > /dev/stdout; echo two > /dev/stderr; echo three' }],
    ])
    expect(nul?.isError).toBe(true)
    expect(said).toEqual({ output: 'one\ntwo\nthree\n[exit code 0]', isError: false })
  })

  test('a long output is cut in its middle, and whole in a file that the model can read', async () => {
    const { at, run } = bench()
    const [cut, jot] = await run([
      ['shell', { command: 'seq 1 20000' }],
      ['shell', { command: 'yes | head -c 20000000' }],
    ])
    expect(cut?.output).toMatch(/^1\n2\n/)
    expect(cut?.output).toContain('20000\n[exit code 0]')
    const path = /all in (\S+)\]/.exec(cut?.output ?? '')?.[1] ?? ''
    expect(path.startsWith(at.dir)).toBe(true)
    expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(20_000)
    const [first] = await run([['read', { path }]])
    // Of another session: its outputs are closed.
    expect(first?.isError).toBe(true)
    expect(jot?.output).toContain(`the first ${8 * 1024 * 1024} in`)
    expect(Buffer.byteLength(jot?.output ?? '')).toBeLessThan(32 * 1024)
  })

  test('a limit ends everything that the command started, also what left its group', async () => {
    const { at, run } = bench()
    const pids = join(at.workspace, 'pids')
    const command = `setsid bash -c 'echo $$ >> ${pids}; exec sleep 300' & (trap "" TERM; echo $BASHPID >> ${pids}; sleep 300) & echo started; wait`
    const [ended] = await run([['shell', { command, timeout_seconds: 1 }]])
    expect(ended).toMatchObject({ isError: true, output: expect.stringContaining('ended after 1 s') })
    const all = readFileSync(pids, 'utf8').trim().split('\n')
    expect(all).toHaveLength(2)
    for (const pid of all) expect(existsSync(`/proc/${pid}/exe`), pid).toBe(false)
  })

  test('a child in the background does not hold the call, and is named', async () => {
    const { run } = bench()
    const began = Date.now()
    const [said] = await run([['shell', { command: 'sleep 300 & echo $!' }]])
    expect(Date.now() - began).toBeLessThan(60_000)
    const pid = Number(said?.output.split('\n')[0])
    expect(said?.output).toContain(`still running: ${pid} "sleep 300"`)
    process.kill(pid, 'SIGKILL')
  })

  test('jobs run on, are read and ended', async () => {
    const { at, run } = bench()
    const results = await run([
      ['shell', { command: 'echo $$ > pid; echo begun; exec sleep 300', background: true }],
      ['shell', { command: 'until test -s pid; do sleep 0.05; done; sleep 0.3' }],
      ['jobs', { action: 'list' }],
      ['jobs', { action: 'read', id: 'job-1' }],
      ['jobs', { action: 'end', id: 'job-1' }],
      ['jobs', { action: 'read', id: 'job-9' }],
    ])
    expect(results[0]?.output).toContain('Started job-1')
    expect(results[2]?.output).toMatch(/^job-1: running/)
    expect(results[3]?.output).toContain('begun')
    expect(results[4]?.output).toContain('Ended job-1')
    expect(results[5]?.isError).toBe(true)
    expect(existsSync(`/proc/${readFileSync(join(at.workspace, 'pid'), 'utf8').trim()}/exe`)).toBe(false)
  })

  test('a stop ends the command and rejects the run', async () => {
    const { at, run } = bench()
    const running = run([['shell', { command: 'echo $$ > pid; exec sleep 300' }]])
    const pid = join(at.workspace, 'pid')
    while (!existsSync(pid) || readFileSync(pid, 'utf8') === '') await sleep(20)
    at.stop.abort(new Error('stopped by a person'))
    await expect(running).rejects.toThrow('stopped by a person')
    expect(existsSync(`/proc/${readFileSync(pid, 'utf8').trim()}/exe`)).toBe(false)
    // The turn stays open: a resume goes on with it.
    expect(at.completed).toEqual([])
  })
})

test('a session that is readOnly has no tool that writes or runs', async () => {
  const { at, run } = bench()
  const results = await run(
    [
      ['write', { path: 'a', content: 'x' }],
      ['shell', { command: 'touch a' }],
      ['own', { n: 1 }],
      ['look', { n: 2 }],
    ],
    {
      readOnly: true,
      ownTools: {
        own: { description: 'writes', input: { type: 'object' }, run: () => 'ran' },
        look: { description: 'looks', input: { type: 'object' }, readOnly: true, run: ({ n }) => `looked ${n}` },
      },
    },
  )
  expect(results.map(({ isError }) => isError)).toEqual([true, true, true, false])
  expect(results[3]?.output).toBe('looked 2')
  expect(existsSync(join(at.workspace, 'a'))).toBe(false)
})

test('an own tool that throws is told to the model, and a result that is too long is cut', async () => {
  const { run } = bench()
  const input = { type: 'object' }
  const [thrown, long] = await run(
    [
      ['breaks', {}],
      ['floods', {}],
    ],
    {
      ownTools: {
        breaks: { description: 'breaks', input, run: () => Promise.reject(new TypeError('no such thing')) },
        floods: { description: 'floods', input, run: () => 'é'.repeat(100_000) },
      },
    },
  )
  expect(thrown).toEqual({ output: 'no such thing', isError: true })
  expect(Buffer.byteLength(long?.output ?? '')).toBeLessThanOrEqual(50 * 1024)
  expect(long?.output).not.toContain('\ufffd')
})
