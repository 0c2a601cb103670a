/** The program in a pipe, in GitHub Actions, and with a resolver whose text attacks its reader. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainResolver } from '../support/plain-resolver.ts'
import { openTerminal, skipsTmux } from '../support/tmux-terminal.ts'
import { doer, type Home, newHome } from './cli.ts'

/** Says the same hostile thing wherever a resolver can say something. */
const EVIL =
  '\\u001b[31mred\\u001b[2J \\u001b]0;title\\u0007 \\u009b1A\\u0085 \\u0000\\u0008\\u007f \\u202eback\\r\\n::error::forged\\r::warning::too ##[error]old'

/** What that is once the program has read it. */
const evilText = () => JSON.parse(`"${EVIL}"`) as string

function hostile(): string {
  const behaviour = `
    const evil = '${EVIL}'
    me.emit('resolver:phase', { name: evil })
    me.emit('resolver:progress', { milestone: evil, fraction: 0.5, label: evil })
    me.emit('resolver:artifact', { kind: evil, value: evil })
    me.emit('hostile.data_changed', { paths: [evil] })
    me.emit('hostile.' + 'said', { evil })
    write('state.json', JSON.stringify({ phase: evil, evil }))
    if (me.params.end === 'ask') {
      await Promise.race([me.ask('q', evil, { type: 'form', components: [{ type: 'text', id: 'why', label: evil }] }), me.stopped])
      return me.finish({ status: 'cancelled' })
    }
    me.finish(me.params.end === 'fail' ? { status: 'failed', error: evil } : { status: 'completed', output: evil })
  `
  return plainResolver(behaviour, { name: 'hostile', description: 'Says hostile things' }).dir
}

let place: Home

beforeAll(async () => {
  place = newHome()
  for (const source of [doer(), hostile()]) expect((await place.run('resolver', 'add', source)).code).toBe(0)
})

afterAll(() => place.end())

/** No control character but the newline, and nothing that turns the reading direction. */
const HARMFUL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

test('everything printed for a person about a hostile resolver is free of control characters', async () => {
  const ends = [['end=done'], ['end=fail'], ['end=ask']]
  const refused = await place.run('run', 'hostile', '-i', 'end=done', '--name', '\u009bname')
  expect(refused.code).toBe(2)
  const runs = await Promise.all(ends.map((end) => place.run('run', 'hostile', '-i', end[0] ?? '')))
  expect(runs.map(({ code }) => code)).toEqual([0, 1, 8])
  const looks = [
    ['instance', 'list', '--all'],
    ['instance', 'show', '@last'],
    ['instance', 'events', '@last'],
    ['instance', 'answer', '@last', '--list'],
    ['instance', 'state', '@last'],
  ]
  const said = [refused, ...runs].map(({ stderr }) => stderr)
  for (const words of looks) {
    const { stderr } = await place.run(...words)
    said.push(stderr)
  }
  expect(said.join('')).toContain('forged')
  for (const text of said) expect(text).not.toMatch(HARMFUL)
})

describe.skipIf(skipsTmux)('on a terminal', () => {
  test('a terminal gets the golden text, without control characters', async () => {
    const terminal = openTerminal({ columns: 100, rows: 40, env: { RESOLVE_HOME: place.home, NO_COLOR: '1' } })
    try {
      terminal.resolve('run', 'hostile', '-i', 'end=fail')
      const shown = (await terminal.until('[ended 1]')).split('\n').slice(1)
      const golden = shown
        .join('\n')
        .replace(/[0-9a-f]{12}/g, 'ID')
        .replace(/in [\d.]+ s/, 'in TIME')
      expect(golden).not.toMatch(HARMFUL)
      expect(golden.slice(golden.indexOf('◌'), golden.indexOf('[ended'))).toMatchSnapshot()
      terminal.shell('clear')
      for (const words of [['show'], ['state'], ['events']]) {
        terminal.resolve('instance', ...words, '@last')
        await terminal.until('[ended 0]')
      }
      expect(terminal.history()).not.toMatch(HARMFUL)
    } finally {
      terminal.close()
    }
  })
})

test('a program gets the text of the resolver unchanged', async () => {
  const { stdout } = await place.run('run', 'hostile', '-i', 'end=done', '--json')
  expect((JSON.parse(stdout) as { output: string }).output).toBe(evilText())
})

describe('in GitHub Actions', () => {
  const env = (summary = '') => ({ GITHUB_ACTIONS: 'true', CI: 'true', GITHUB_STEP_SUMMARY: summary })
  const commandsIn = (text: string) =>
    text.split(/[\n\r\u0085]/).filter((line) => line.trimStart().startsWith('::') || line.includes('##['))

  test('each phase is a log group, and each group is closed', async () => {
    const { code, stderr, stdout } = await place.with({ env: env() }, 'run', 'doer', '-i', 'do=data')
    expect([code, stdout]).toEqual([0, 'did data\n'])
    expect(commandsIn(stderr)).toEqual(['::group::phase doing', '::endgroup::'])
    expect(stderr.indexOf('artifact summary: All is well')).toBeGreaterThan(stderr.indexOf('::group::'))
    expect(stderr.indexOf('artifact summary: All is well')).toBeLessThan(stderr.indexOf('::endgroup::'))
    expect(stderr.indexOf('✓ completed')).toBeGreaterThan(stderr.indexOf('::endgroup::'))
  })

  test('a failed instance is an error annotation of the job, with --json too', async () => {
    for (const mode of [[], ['--json']]) {
      const { code, stderr } = await place.with({ env: env() }, 'run', 'doer', '-i', 'do=fail', ...mode)
      expect(code).toBe(1)
      expect(stderr).toMatch(/^::error title=doer failed::✗ doer [0-9a-f]{12} failed in .* It broke badly/m)
    }
  })

  test('the step summary holds outcome, phases, artifacts and the question with the command that answers it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'resolve-summary-'))
    const file = join(folder, 'summary.md')
    for (const what of ['data', 'ask']) await place.with({ env: env(file) }, 'run', 'doer', '-i', `do=${what}`)
    await place.with({ env: env(file) }, 'run', 'doer', '-i', 'do=fail', '--json')
    const summary = readFileSync(file, 'utf8')
    expect(summary).toMatch(/^### ✓ doer completed in/m)
    expect(summary).toMatch(/^\| doing \| [\d.]+ s \|$/m)
    expect(summary).toContain('- summary: All is well')
    expect(summary).toMatch(/^### ◆ doer waiting for you$/m)
    expect(summary).toMatch(/^resolve instance answer [0-9a-f]{12} gate-1 -i go=yes -i 'why=<why>'$/m)
    expect(summary).toMatch(/^### ✗ doer failed in/m)
    rmSync(folder, { recursive: true })
  })

  test('text of a resolver never forms a workflow command, on either stream', async () => {
    for (const end of ['done', 'fail', 'ask']) {
      const { stdout, stderr } = await place.with({ env: env() }, 'run', 'hostile', '-i', `end=${end}`)
      expect(`${stdout}${stderr}`).toContain('forged')
      const ours = commandsIn(stderr).filter(
        (line) =>
          !/^::(?:group::phase |endgroup::|error title=hostile failed::✗ hostile |warning title=hostile waiting for you::A question is open: hostile [0-9a-f]{12} )/.test(
            line,
          ),
      )
      expect(ours).toEqual([])
      expect(commandsIn(stdout)).toEqual([])
    }
    const json = await place.with({ env: env() }, 'run', 'hostile', '-i', 'end=done', '--json')
    expect(commandsIn(json.stdout)).toEqual([])
    expect((JSON.parse(json.stdout) as { output: string }).output).toContain('##[error]old')
    for (const words of [['show'], ['events']]) {
      const { stdout } = await place.with({ env: env() }, 'instance', ...words, '@last')
      expect(commandsIn(stdout)).toEqual([])
    }
  })
})
