/** Forms on a real terminal: create, answer and message; a question of a run; two terminals at the same question. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { fixture } from '../support/fixtures.ts'
import { openTerminal, skipsTmux, type Terminal, type TerminalOptions } from '../support/tmux-terminal.ts'
import { doer, type Home, newHome } from './cli.ts'

describe.skipIf(skipsTmux)('forms on a real terminal', { timeout: 60_000 }, () => {
  let place: Home
  const opened: Terminal[] = []

  beforeAll(async () => {
    place = newHome()
    for (const source of [doer(), fixture('three-checks').dir])
      expect((await place.run('resolver', 'add', source)).code).toBe(0)
  })

  afterEach(() => {
    for (const terminal of opened.splice(0)) terminal.close()
  })

  afterAll(() => place.end())

  function open(options: TerminalOptions = {}): Terminal {
    const terminal = openTerminal({ ...options, env: { RESOLVE_HOME: place.home, ...options.env } })
    opened.push(terminal)
    return terminal
  }

  async function newest(): Promise<{ status: string; input: Record<string, unknown>; instance_id: string }> {
    return JSON.parse((await place.run('instance', 'show', '@last', '--json')).stdout)
  }

  async function count(): Promise<number> {
    return JSON.parse((await place.run('instance', 'list', '--all', '--json')).stdout).instances.length
  }

  test('a disclosed field is filled in, and a hidden one is not submitted (S-FORM-21)', async () => {
    const terminal = open()
    terminal.resolve('run', 'tour', '-i', 'subject=a mill', '--edit', '--detach')
    await terminal.until('[ Run ]')
    expect(terminal.screen()).toContain('│ a mill')
    expect(terminal.screen()).not.toContain('Inscription')
    terminal.keys('Tab', 'Tab', 'Space')
    await terminal.until('Inscription *')
    // The focus stays on the box.
    expect(terminal.screen()).toContain('› [x] Put up a plaque')
    terminal.keys('Tab', 'For Ada', 'BTab', 'Space')
    await terminal.until(/\[ \] Put up a plaque\n {4}Asks for its inscription\n\n/)
    terminal.keys('Space')
    // It was kept meanwhile.
    await terminal.until('│ For Ada')
    terminal.keys('Tab', 'Enter')
    await terminal.until('[ended 0]')
    expect((await newest()).input).toEqual({ subject: 'a mill', pace: 'brisk', plaque: true, inscription: 'For Ada' })
    expect((await place.run('instance', 'cancel', '@last')).code).toBe(0)
  })

  test('three failing checks are shown at once, at 40 columns too, and nothing is created before they pass', async () => {
    const terminal = open({ columns: 40 })
    const before = await count()
    terminal.resolve('run', 'three-checks')
    await terminal.until('[ Run ]')
    terminal.keys('BTab', 'Enter')
    await terminal.until('3 checks fail')
    for (const message of ['✗ Say your name', '✗ Say where to write to', '✗ Choose a city'])
      expect(terminal.screen()).toContain(message)
    expect(terminal.screen()).toContain('› Name *')
    terminal.keys('Ada', 'Enter')
    await terminal.until('2 checks fail')
    terminal.keys('ada@example.org', 'Enter', 'ber')
    await terminal.until('› Berlin')
    terminal.keys('Enter', 'one', 'C-j', 'two', 'Enter')
    expect(await terminal.until('[ended 0]')).toContain('Ada <ada@example.org> in berlin: "one\\ntwo"')
    expect(await count()).toBe(before + 1)
  })

  test('with every required field given, no form is shown', async () => {
    const terminal = open()
    terminal.resolve('run', 'three-checks', '-i', 'name=Ada', '-i', 'email=a@b.co', '-i', 'city=cairo')
    expect(await terminal.until('[ended 0]')).not.toContain('[ Run ]')
  })

  test('Esc and Ctrl-C cancel: nothing is created, exit code 130', async () => {
    const before = await count()
    for (const key of ['Escape', 'C-c']) {
      const terminal = open()
      terminal.resolve('run', 'three-checks', '-i', 'name=Ada')
      await terminal.until('│ Ada')
      terminal.keys(key)
      const shown = await terminal.until('[ended 130]')
      expect(shown).toContain('No instance was created.')
      expect(terminal.screen()).not.toContain('[ Run ]')
    }
    expect(await count()).toBe(before)
  })

  test('Ctrl-E writes a text of many lines in an editor', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'resolve-editor-'))
    const editor = join(directory, 'editor.sh')
    writeFileSync(editor, 'printf "and the editor\'s\\n" >> "$2"\n')
    const terminal = open({ env: { VISUAL: `sh ${editor} --wait` } })
    terminal.resolve('run', 'three-checks', '-i', 'name=Ada', '-i', 'email=a@b.co', '-i', 'city=cairo', '--edit')
    await terminal.until('[ Run ]')
    terminal.keys('Tab', 'Tab', 'Tab', 'mine', 'C-e')
    await terminal.until("│ and the editor's")
    terminal.keys('Enter')
    expect(await terminal.until('[ended 0]')).toContain('in cairo: "mine\\nand the editor\'s"')
    rmSync(directory, { recursive: true })
  })

  test('a question of a run is answered below its log, also after it was put aside', async () => {
    const terminal = open({ rows: 14 })
    terminal.resolve('run', 'doer', '-i', 'do=ask')
    await terminal.until('[ Answer ]')
    expect(terminal.screen()).toMatch(
      /question gate-1: Go on\?\n[\s\S]*◆ waiting for you[\s\S]*› go\n {2}│ \(•\) Yes {2}\( \) No/,
    )
    terminal.keys('Right', 'Tab', 'becau')
    await terminal.until('│ becau')
    terminal.keys('Escape')
    await terminal.until('a: answer it')
    expect(terminal.screen()).not.toContain('[ Answer ]')
    terminal.keys('a')
    // Where it was, with what it held.
    await terminal.until('[ Answer ]')
    terminal.keys('se', 'Enter')
    expect(await terminal.until('[ended 0]')).toContain('went on: no because because')
  })

  test('in a question one Ctrl-C only warns, a second one stops the instance', async () => {
    const terminal = open()
    terminal.resolve('run', 'doer', '-i', 'do=ask')
    await terminal.until('[ Answer ]')
    terminal.keys('C-c')
    await terminal.until('Not stopped yet')
    expect((await newest()).status).toBe('awaiting_input')
    terminal.keys('C-c')
    expect(await terminal.until('[ended 3]')).toMatch(/⊘ doer [0-9a-f]{12} cancelled/)
    expect(terminal.screen()).not.toContain('[ Answer ]')
  })

  test('of two terminals that answer one question the first wins, and the form of the other closes and names the winner (R25)', async () => {
    const [first, second] = [open(), open({ columns: 40 })]
    first.resolve('run', 'doer', '-i', 'do=ask')
    await first.until('[ Answer ]')
    second.resolve('instance', 'answer', '@last')
    await second.until('[ Answer ]')
    second.keys('Tab', 'second')
    first.keys('Tab', 'first')
    await first.until('│ first')
    await second.until('│ second')
    second.keys('Enter')
    await second.until('[ended 0]')
    const shown = await first.until('[ended 0]')
    expect(shown).toMatch(/"gate-1" was answered by .+ \(cli\)\./)
    expect(shown).toContain('went on: yes because second')
    expect(first.screen()).not.toContain('[ Answer ]')
  })

  test('a late answer ends with exit code 7 and names who answered first, also while the form is open', async () => {
    const [first, second] = [open(), open()]
    first.resolve('run', 'doer', '-i', 'do=ask-twice', '--detach')
    await first.until('[ended 0]')
    await expect.poll(async () => (await newest()).status).toBe('awaiting_input')
    for (const terminal of [first, second]) terminal.resolve('instance', 'answer', '@last', 'gate-1')
    await second.until('[ Answer ]')
    await first.until('[ Answer ]')
    first.keys('Tab', 'because', 'Enter')
    await first.until('Answered "gate-1"')
    expect(await second.until('[ended 7]')).toMatch(/"gate-1" was already answered by .+ \(cli\)/)
    expect((await place.run('instance', 'cancel', '@last')).code).toBe(0)
  })

  test('Esc leaves a question open, with exit code 130 and the command that answers it', async () => {
    const terminal = open()
    terminal.resolve('run', 'doer', '-i', 'do=ask', '--detach')
    await terminal.until('[ended 0]')
    await expect.poll(async () => (await newest()).status).toBe('awaiting_input')
    terminal.resolve('instance', 'answer', '@last')
    await terminal.until('[ Answer ]')
    terminal.keys('Escape')
    expect(await terminal.until('[ended 130]')).toMatch(/"gate-1" is still open[\s\S]*resolve instance answer/)
    expect((await newest()).status).toBe('awaiting_input')
    expect((await place.run('instance', 'cancel', '@last')).code).toBe(0)
  })

  test('a message is filled in and sent', async () => {
    const terminal = open()
    terminal.resolve('run', 'doer', '-i', 'do=sleep', '--detach')
    await terminal.until('[ended 0]')
    await expect.poll(async () => (await newest()).status).toBe('running')
    terminal.resolve('instance', 'message', '@last')
    await terminal.until('[ Send ]')
    terminal.keys('Enter')
    await terminal.until('✗ Say something.')
    terminal.keys('hello', 'Enter')
    expect(await terminal.until('Sent "note" as message 1.')).toContain('[ended 0]')
    expect((await place.run('instance', 'cancel', '@last')).code).toBe(0)
  })

  test('without colour the form can still be read and filled in', async () => {
    const terminal = open({ env: { NO_COLOR: '1' } })
    terminal.resolve('run', 'three-checks')
    await terminal.until('[ Run ]')
    terminal.keys('BTab', 'Enter')
    await terminal.until('3 checks fail')
    expect(terminal.painted()).not.toContain('\u001b[3')
    terminal.keys('Escape')
    await terminal.until('[ended 130]')
  })
})
