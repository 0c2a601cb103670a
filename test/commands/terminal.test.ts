/** On a real terminal: the live view, its keys; on one that cannot be drawn on, the plain form. Needs python3 for the terminal. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { doer, type Home, newHome } from './cli.ts'

const hasPython = spawnSync('python3', ['-c', 'import pty']).status === 0
const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')
const CTRL_C = '\u0003'

describe.skipIf(!hasPython)('on a terminal', () => {
  let place: Home

  beforeAll(async () => {
    place = newHome()
    expect((await place.run('resolver', 'add', doer())).code).toBe(0)
  })

  afterAll(() => place.end())

  /** Types each of the keys once the text before it has been shown. */
  function onTerminal(keys: [string, string][], ...args: string[]): { code: number | null; shown: string } {
    return onTerminalOf('xterm-256color', keys, ...args)
  }

  /** A terminal that cannot be drawn on: forms are asked by the line. */
  function onDumbTerminal(keys: [string, string][], ...args: string[]): { code: number | null; shown: string } {
    return onTerminalOf('dumb', keys, ...args)
  }

  function onTerminalOf(
    kind: string,
    keys: [string, string][],
    ...args: string[]
  ): { code: number | null; shown: string } {
    const words = [
      join(import.meta.dirname, 'on-terminal.py'),
      '60',
      JSON.stringify(keys),
      '--',
      process.execPath,
      program,
      ...args,
    ]
    const env = { ...process.env, CI: '', NO_COLOR: '', TERM: kind, RESOLVE_HOME: place.home }
    const { status, stdout } = spawnSync('python3', words, { env, encoding: 'utf8' })
    return { code: status, shown: stripVTControlCharacters(stdout).replaceAll('\r', '') }
  }

  async function statusOf(name: string): Promise<string | undefined> {
    const { stdout } = await place.run('instance', 'list', '--all', '--json')
    const { instances } = JSON.parse(stdout) as { instances: { name: string | null; status: string }[] }
    return instances.find((one) => one.name === name)?.status
  }

  test('one Ctrl-C only warns, a second one stops the instance', async () => {
    const { code, shown } = onTerminal(
      [
        ['● running', CTRL_C],
        ['Not stopped yet', CTRL_C],
      ],
      ...['run', 'doer', '-i', 'do=sleep', '--name', 'twice'],
    )
    expect(code).toBe(3)
    expect(shown).toMatch(/⊘ doer [0-9a-f]{12} cancelled/)
    expect(await statusOf('twice')).toBe('cancelled')
  })

  test('d detaches, and the instance goes on', async () => {
    const { code, shown } = onTerminal(
      [
        ['● running', ''],
        ['d: leave it running', 'd'],
      ],
      'run',
      'doer',
      '-i',
      'do=sleep',
      '--name',
      'left',
    )
    expect(code).toBe(0)
    expect(shown).toContain('Left; the instance continues')
    expect(await statusOf('left')).toBe('running')
  })

  test('Ctrl-C ends watch, and the instance goes on', async () => {
    const { code } = onTerminal([['d or Ctrl-C: leave', CTRL_C]], 'watch')
    expect(code).toBe(0)
    expect(await statusOf('left')).toBe('running')
    expect((await place.run('instance', 'stop', '@last')).code).toBe(0)
  })

  test('a form is asked line by line, and asked again with every failing message', () => {
    const { code, shown } = onDumbTerminal(
      [
        ['number or value', '2\r'],
        ['why', '\r'],
        ['Say why.', ''],
        ['number or value [no]', '\r'],
        ['why', 'because\r'],
      ],
      ...['run', 'doer', '-i', 'do=ask'],
    )
    expect(code).toBe(0)
    expect(shown).toContain('went on: no because because')
  })

  test('Ctrl-C at a question leaves it open, with the command that answers it', () => {
    const { code, shown } = onDumbTerminal([['number or value', CTRL_C]], 'run', 'doer', '-i', 'do=ask')
    expect(code).toBe(8)
    expect(shown).toMatch(/resolve instance answer [0-9a-f]{12}\s*$/)
  })

  test('missing input is asked line by line', () => {
    const { code, shown } = onDumbTerminal(
      [
        ['do:', 'this\r'],
        ['count:', '\r'],
        ['loud [y/N]', 'y\r'],
      ],
      ...['run', 'doer'],
    )
    expect(code).toBe(0)
    expect(shown).toContain('did this!')
  })

  test('a disclosed field is asked for when it appears', () => {
    const { code, shown } = onDumbTerminal(
      [
        ['What to build', '\r'],
        ['number or value [brisk]', 'instant\r'],
        ['Put up a plaque [y/N]', 'y\r'],
        ['Inscription', 'For Ada\r'],
      ],
      ...['run', 'tour', '--edit', '--dry-run'],
    )
    expect(code).toBe(0)
    expect(shown).toContain('The input is valid for tour')
  })

  test('a terminal that is closed leaves the instance running', async () => {
    onTerminal([['● running', 'HANGUP']], 'run', 'doer', '-i', 'do=sleep', '--name', 'hung-up')
    expect(await statusOf('hung-up')).toBe('running')
    expect((await place.run('instance', 'stop', '@last')).code).toBe(0)
  })

  test('--no-input asks no question', () => {
    const { code, shown } = onTerminal([], 'run', 'doer', '-i', 'do=ask', '--no-input')
    expect(code).toBe(8)
    expect(shown).not.toContain('number or value')
  })
})
