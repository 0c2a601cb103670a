/** The pickers: what they show at 80 and 40 columns, what keys do; and on a real terminal they, `list --watch` and `prune`. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { render } from 'ink-testing-library'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Choice, narrowed, Picker } from '../../src/terminal/input/picker.tsx'
import { drawn } from '../support/drawn.ts'
import { doer, type Home, newHome } from './cli.ts'

const CHOICES: Choice<string>[] = [
  { value: 'a', label: '3fa2b1c0d4e5  ? waiting for you', detail: 'tour the north wing 3m' },
  { value: 'b', label: '9b1c00aa77de  ● running', detail: 'hello 5m' },
  {
    value: 'c',
    label: '77de9b1c00aa  ✓ completed',
    detail: 'a resolver whose name goes on and on for more columns than there are 2d',
  },
]

function picker(columns: number, rows = 24, choices = CHOICES) {
  const done: (string | undefined)[] = []
  const view = render(
    <Picker
      title="Which instance?"
      choices={choices}
      columns={columns}
      rows={rows}
      onDone={(choice) => done.push(choice?.value as string | undefined)}
    />,
  )
  const press = async (keys: string) => {
    view.stdin.write(keys)
    await drawn()
  }
  return { done, press, frame: () => view.lastFrame() ?? '' }
}

const DOWN = '\u001b[B'

test('at 80 columns', () => {
  expect(picker(80).frame()).toMatchInlineSnapshot(`
    "Which instance? (3)
    › 3fa2b1c0d4e5  ? waiting for you  tour the north wing 3m
      9b1c00aa77de  ● running  hello 5m
      77de9b1c00aa  ✓ completed  a resolver whose name goes on and on for more colu…
    ↑↓ move  type to filter  Enter pick  Esc cancel"
  `)
})

test('at 40 columns', () => {
  expect(picker(40).frame()).toMatchInlineSnapshot(`
    "Which instance? (3)
    › 3fa2b1c0d4e5  ? waiting for you  tour…
      9b1c00aa77de  ● running  hello 5m
      77de9b1c00aa  ✓ completed  a resolver…
    ↑↓, type, Enter pick, Esc cancel"
  `)
})

test('a long list scrolls in itself and never outgrows the terminal', async () => {
  const many = Array.from({ length: 50 }, (_, n) => ({ value: `${n}`, label: `choice ${n}`, detail: '' }))
  const { press, frame, done } = picker(40, 8, many)
  await press('')
  for (let n = 0; n < 20; n += 1) await press(DOWN)
  expect(frame().split('\n').length).toBeLessThan(8)
  expect(frame()).toContain('› choice 20')
  await press('\r')
  expect(done).toEqual(['20'])
})

test('letters filter the list, Enter picks the chosen row, Esc and Ctrl-C pick nothing', async () => {
  const { press, frame, done } = picker(80)
  await press('')
  await press('wing')
  expect(frame()).toContain('Which instance? (1 of 3)  wing')
  await press('x')
  expect(frame()).toContain('No match.')
  await press('\r')
  expect(done).toEqual([])
  await press('\u007f')
  await press('\r')
  await press('\u0003')
  expect(done).toEqual(['a', undefined])
})

test('a row must contain every typed word, in any order and case', () => {
  expect(narrowed(CHOICES, 'TOUR waiting').map((choice) => choice.value)).toEqual(['a'])
  expect(narrowed(CHOICES, '').length).toBe(3)
})

const hasTmux = spawnSync('tmux', ['-V']).status === 0
if (!hasTmux) console.warn('tmux is missing: the pickers are not tried on a terminal.')

describe.skipIf(!hasTmux && process.env['CI'] === undefined)('on a terminal', () => {
  const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')
  let place: Home
  let folder: string
  let tmux: (...args: string[]) => string

  beforeAll(async () => {
    place = newHome()
    expect((await place.run('resolver', 'add', doer())).code).toBe(0)
    for (const name of ['north', 'south']) await place.run('run', 'doer', '-i', 'do=ask', '--name', name)
    await place.run('run', 'doer', '-i', 'do=this', '--name', 'over')
  })

  afterAll(() => place.end())

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'resolve-tmux-'))
    const socket = join(folder, 'socket')
    tmux = (...args) => execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...args], { encoding: 'utf8' })
  })

  afterEach(() => {
    tmux('kill-server')
    rmSync(folder, { recursive: true })
  })

  /** Gives the command on a terminal of 80 columns; its exit code is shown when it has ended. */
  function open(...words: string[]): void {
    const quoted = [process.execPath, program, ...words].map((word) => `'${word}'`).join(' ')
    const env = [`RESOLVE_HOME=${place.home}`, 'CI=', 'NO_COLOR=', 'FORCE_COLOR=', 'GITHUB_ACTIONS=']
    const command = `env ${env.map((one) => `'${one}'`).join(' ')} ${quoted}; echo "ended with $?"; sleep 60`
    tmux('new-session', '-d', '-x', '80', '-y', '24', command)
  }

  const screen = () => tmux('capture-pane', '-p')
  const shows = (text: string | RegExp) => expect.poll(screen, { interval: 50 }).toMatch(text)

  test('answer without an id lists only instances that wait, and answers the picked one', async () => {
    open('instance', 'answer', '--color', 'never', '-i', 'why=because')
    await shows('Which instance? (2)')
    expect(screen()).not.toContain('over')
    tmux('send-keys', 'north')
    await shows('1 of 2')
    tmux('send-keys', 'Enter')
    await shows('Answered "gate-1"')
    await shows('ended with 0')
    // Nothing of the list stays.
    expect(screen()).not.toContain('Which instance')
    const { stdout } = await place.run('inbox', '--json')
    const { questions } = JSON.parse(stdout) as { questions: { name: string }[] }
    expect(questions.map((question) => question.name)).toEqual(['south'])
  })

  test('after the pick the form is asked on the same terminal', async () => {
    await place.run('run', 'doer', '-i', 'do=ask', '--name', 'east')
    open('instance', 'answer', '--color', 'never')
    await shows('Which instance? (2)')
    tmux('send-keys', 'east')
    await shows('1 of 2')
    tmux('send-keys', 'Enter')
    await shows('Go on?')
    // However the form asks: the process does not end by itself.
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(screen()).not.toContain('ended with')
  })

  test('show offers all instances with arrow keys; Esc ends with 130', async () => {
    open('instance', 'show')
    await shows(/Which instance\? \(4\)/)
    tmux('send-keys', 'Down')
    await shows(/› [0-9a-f]{12} .*(over|north|south)/)
    tmux('send-keys', 'Escape')
    await shows('No choice was made.')
    await shows('ended with 130')
  })

  test('run without a resolver offers a list of resolvers', async () => {
    open('run', '-i', 'name=Ada')
    await shows(/Which resolver\? \(7\)/)
    tmux('send-keys', 'hello')
    await shows('1 of 7')
    tmux('send-keys', 'Enter')
    await shows('Hello, Ada!')
  })

  test('list --watch repaints in place, and earlier lines of the scrollback stay', async () => {
    const listed = await place.run('instance', 'list', '--all', '--json')
    const { instances } = JSON.parse(listed.stdout) as { instances: unknown[] }
    const quoted = `env 'RESOLVE_HOME=${place.home}' CI= '${process.execPath}' '${program}'`
    tmux(
      'new-session',
      '-d',
      '-x',
      '80',
      '-y',
      // The page fills the rows once the new one is in it: cleared from its first cell, it would go into the scrollback.
      String(instances.length + 3),
      `seq 1 40; ${quoted} instance list --watch; echo "ended with $?"; sleep 60`,
    )
    await shows('waiting for you')
    await place.run('run', 'doer', '-i', 'do=fail', '--name', 'fresh')
    await shows(/failed .*fresh/)
    // Its age goes on: the full page is painted again.
    const painted = screen()
    await expect.poll(screen).not.toBe(painted)
    const all = tmux('capture-pane', '-p', '-S', '-').split('\n')
    expect(all.filter((line) => /^\d+$/.test(line)).map(Number)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1))
    expect(all.filter((line) => line.startsWith('ID ')).length).toBe(1)
    tmux('send-keys', 'C-c')
    await shows('ended with 130')
  })

  test('prune lists what it would remove and asks; any answer but yes removes nothing', async () => {
    const before = await place.run('instance', 'list', '--all', '--json')
    open('instance', 'prune', '--older-than', '0')
    await shows(/Remove \d instances?, .* permanently\? \[y\/N\]/)
    tmux('send-keys', 'Enter')
    await shows('Nothing was removed.')
    await shows('ended with 0')
    expect((await place.run('instance', 'list', '--all', '--json')).stdout).toBe(before.stdout)
  })
})
