/** A field for a feature spec on a real terminal: the editor with the example, faults with their lines, and the plain form. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { EXAMPLE_FEATURE_SPEC as EXAMPLE } from '../../src/core/feature-spec/example.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { fixture } from '../support/fixtures.ts'
import { openTerminal, skipsTmux, type Terminal } from '../support/tmux-terminal.ts'

describe.skipIf(skipsTmux)('a feature spec on a real terminal', { timeout: 60_000 }, () => {
  let place: Home
  let folder: string
  const opened: Terminal[] = []

  beforeAll(async () => {
    place = newHome()
    folder = mkdtempSync(join(tmpdir(), 'resolve-spec-terminal-'))
    expect((await place.run('resolver', 'add', fixture('wants-spec').dir)).code).toBe(0)
  })
  afterEach(() => {
    for (const terminal of opened.splice(0)) terminal.close()
  })
  afterAll(async () => {
    await place.end()
    rmSync(folder, { recursive: true, force: true })
  })

  function open(env: Record<string, string>): Terminal {
    const terminal = openTerminal({ columns: 120, rows: 40, env: { RESOLVE_HOME: place.home, VISUAL: '', ...env } })
    opened.push(terminal)
    return terminal
  }
  const newest = async () => JSON.parse((await place.run('instance', 'show', '@last', '--json')).stdout)

  test('the editor begins with the example; unchanged it counts as empty, and faults have their lines', async () => {
    const terminal = open({ EDITOR: `sh ${join(folder, 'editor.sh')}` })
    const edits = (script: string) => writeFileSync(join(folder, 'editor.sh'), script)
    edits('exit 0\n')
    terminal.resolve('run', 'wants-spec')
    await terminal.until('[ Run ]')
    terminal.keys('C-e')
    await terminal.until('[ Run ]')
    terminal.keys('Tab')
    await terminal.until('✗ Give a spec')
    edits('sed -i "s/(200 OK)/(2xx)/" "$1"\n')
    terminal.keys('BTab', 'C-e')
    await terminal.until('… 52 lines')
    terminal.keys('Tab')
    await terminal.until('✗ Line 23: "2xx" is not one status. Better: 201 instead of 2xx')
    edits('sed -i "s/(2xx)/(200 OK)/" "$1"\n')
    terminal.keys('BTab', 'C-e')
    await terminal.until(/› Spec \*\n(?![\s\S]*✗)/)
    terminal.keys('Tab', 'Enter')
    await terminal.until('[ended 0]')
    expect((await newest()).input.spec).toBe(EXAMPLE)
  })

  test('the plain form reads lines up to a line with a full stop, and asks again with the faults', async () => {
    const terminal = open({ TERM: 'dumb', RESOLVE_SCREEN_READER: '1' })
    terminal.resolve('run', 'wants-spec')
    await terminal.until('Spec, several lines; end with a line that has only "."')
    terminal.type('# Notes')
    terminal.type('')
    terminal.type('Adds notes.')
    terminal.type('.')
    await terminal.until('Line 3: The intent starts with "Adds"')
    await terminal.until('Spec [3 lines given], several lines')
    // tmux would take a line that begins with "- " for one of its options.
    const starred = EXAMPLE.trimEnd().replaceAll(/^- /gm, '* ')
    for (const line of starred.split('\n')) terminal.type(line)
    terminal.type('.')
    await terminal.until('[ended 0]')
    expect((await newest()).input.spec).toBe(starred)
  })
})
