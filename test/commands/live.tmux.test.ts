/** The live view on a real terminal: leaving, stopping, watching from another pane, what scrolls away, colour, size. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { instancePaths } from '../../src/core/store/home.ts'
import { fixture } from '../support/fixtures.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { openTerminal, resolveLine, skipsTmux, type Terminal, type TerminalOptions } from '../support/tmux-terminal.ts'
import { doer, type Home, newHome } from './cli.ts'

/** Says `count` numbered phases, `pause` ms apart; at number `hold` until it is told to go on; then waits to be stopped where `wait` is given. */
function counter(): string {
  const behaviour = `
    me.emit('resolver:progress', { milestone: 'counting', fraction: 0.25, label: 'Counting' })
    for (let n = 1; n <= Number(me.params.count); n += 1) {
      me.emit('resolver:phase', { name: 'number ' + n + '.' })
      await sleep(Number(me.params.pause ?? 5))
      while (n === Number(me.params.hold) && !fs.existsSync(root + '/go-on')) await sleep(20)
    }
    if (me.params.wait === 'yes') await me.stopped
    me.finish({ status: me.params.wait === 'yes' ? 'cancelled' : 'completed', output: 'counted to ' + me.params.count })
  `
  const field = (id: string) => ({ type: 'text', id })
  const form = { type: 'form', components: ['count', 'pause', 'hold', 'wait'].map(field) }
  const setup = `me.on['resolver.getInstantiationSchema'] = () => (${JSON.stringify(form)})`
  return plainResolver(behaviour, { name: 'counter' }, setup).dir
}

describe.skipIf(skipsTmux)('on a real terminal', () => {
  let place: Home
  const opened: Terminal[] = []

  beforeAll(async () => {
    place = newHome()
    for (const source of [doer(), counter(), fixture('ignores-stop').dir])
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

  /** Lets the newest instance go on where it holds. */
  async function goOn(): Promise<void> {
    const { stdout } = await place.run('instance', 'show', '@last', '--json')
    const { instance_id: id } = JSON.parse(stdout) as { instance_id: string }
    writeFileSync(join(instancePaths(place.home, id).project, '.resolve', 'go-on'), '')
  }

  async function statusOf(name: string): Promise<string | undefined> {
    const { stdout } = await place.run('instance', 'list', '--all', '--json')
    const { instances } = JSON.parse(stdout) as { instances: { name: string | null; status: string }[] }
    return instances.find((one) => one.name === name)?.status
  }

  test('d detaches: the instance goes on under another host, and a second terminal watches it', async () => {
    const first = open()
    first.resolve('run', 'doer', '-i', 'do=sleep', '--name', 'left')
    await first.until('● running')
    await first.until('d: leave it running')
    first.keys('d')
    expect(await first.until('[ended 0]')).toContain('Left; the instance continues')
    expect(await statusOf('left')).toBe('running')
    const second = open()
    second.resolve('watch', '@last')
    await second.until('d or Ctrl-C: leave')
    second.keys('C-c')
    await second.until('[ended 0]')
    expect(await statusOf('left')).toBe('running')
    expect((await place.run('instance', 'stop', '@last')).code).toBe(0)
  })

  test('two terminals show the same run, and both end with it', async () => {
    const [first, second] = [open(), open({ columns: 40 })]
    first.resolve('run', 'counter', '-i', 'count=3', '-i', 'wait=yes', '--name', 'both')
    await first.until('phase number 3.')
    second.resolve('watch', '@last')
    await second.until('phase number 3.')
    await second.until('d or Ctrl-C: leave')
    first.keys('C-c')
    await first.until('Not stopped yet')
    // Nothing is stopped, and any other key takes the bar away.
    first.keys('x')
    await first.until(/^ {2}d: leave it running/m)
    expect(await statusOf('both')).toBe('running')
    first.keys('C-c', 'C-c')
    expect(await first.until('[ended 3]')).toMatch(/⊘ counter [0-9a-f]{12} cancelled/)
    expect(await second.until('[ended 3]')).toMatch(/⊘ counter [0-9a-f]{12} cancelled/)
  })

  test('three times Ctrl-C kills a worker that ignores a stop', { timeout: 60_000 }, async () => {
    const terminal = open()
    terminal.resolve('run', 'ignores-stop', '--name', 'forced')
    await terminal.until('● running')
    await terminal.until('d: leave it running')
    terminal.keys('C-c')
    await terminal.until('Not stopped yet')
    terminal.keys('C-c')
    await terminal.until('Ctrl-C again: force')
    expect(await statusOf('forced')).toBe('running')
    terminal.keys('C-c')
    expect(await terminal.until('[ended 3]', 20_000)).toMatch(/⊘ ignores-stop [0-9a-f]{12} cancelled/)
  })

  test('a terminal that is closed leaves the instance running under another host', async () => {
    const terminal = open()
    terminal.resolve('run', 'doer', '-i', 'do=sleep', '--name', 'closed')
    await terminal.until('● running')
    await terminal.until('d: leave it running')
    terminal.close()
    const adopted = async () => {
      const { stdout } = await place.run('instance', 'events', '@last', '--jsonl')
      return stdout.includes('platform.worker.adopted')
    }
    for (let tries = 0; tries < 40 && !(await adopted()); tries += 1) await sleep(250)
    expect(await adopted()).toBe(true)
    expect(await statusOf('closed')).toBe('running')
    const stopped = await place.run('instance', 'stop', '@last')
    expect([stopped.code, await statusOf('closed')]).toEqual([0, 'cancelled'])
  })

  test('200 events in a terminal of 12 rows: each line is in the scrollback once, and earlier lines stay', async () => {
    const terminal = open({ rows: 12 })
    terminal.shell('seq -f "before %g." 1 30')
    await terminal.until('[ended 0]')
    terminal.resolve('run', 'counter', '-i', 'count=200', '-i', 'hold=60')
    await terminal.until('phase number 60.')
    await expect.poll(terminal.screen).toMatch(/● running[\s\S]*Counting|Counting[\s\S]*● running/)
    await goOn()
    const shown = await terminal.until(/counted to 200[\s\S]*✓ counter \w+ completed/, 30_000)
    const lines = shown.split('\n')
    for (let number = 1; number <= 200; number += 1)
      expect(lines.filter((line) => line === `phase number ${number}.`).length, `number ${number}`).toBe(1)
    for (let number = 1; number <= 30; number += 1) expect(lines).toContain(`before ${number}.`)
    // The frame leaves nothing behind.
    expect(shown).not.toContain('d: leave it running')
    expect(lines.filter((line) => line.includes('● running')).length).toBe(1)
  })

  test('a terminal that is made smaller keeps every line and a frame that fits', async () => {
    const terminal = open({ columns: 100, rows: 30 })
    terminal.resolve('run', 'counter', '-i', 'count=150', '-i', 'pause=20', '-i', 'wait=yes')
    await terminal.until('phase number 20.')
    terminal.resize(40, 8)
    await terminal.until('phase number 90.')
    terminal.resize(60, 5)
    await terminal.until('phase number 150.')
    await terminal.until('d: leave it')
    expect(terminal.screen().trimEnd().split('\n').length).toBeLessThanOrEqual(5)
    terminal.keys('C-c', 'C-c')
    const lines = (await terminal.until('[ended 3]')).split('\n')
    for (let number = 1; number <= 150; number += 1)
      expect(lines.filter((line) => line === `phase number ${number}.`).length, `number ${number}`).toBe(1)
  })

  test('NO_COLOR=1: no colour anywhere, neither in the frame nor after it', async () => {
    const [plain, coloured] = [open({ env: { NO_COLOR: '1' } }), open()]
    for (const terminal of [plain, coloured]) terminal.resolve('run', 'counter', '-i', 'count=2', '-i', 'wait=yes')
    for (const terminal of [plain, coloured]) await terminal.until('d: leave it running')
    expect(coloured.painted()).toMatch(/\u001b\[[\d;]*m/)
    expect(plain.painted()).not.toMatch(/\u001b\[[\d;]*m/)
    for (const terminal of [plain, coloured]) terminal.keys('C-c', 'C-c')
    for (const terminal of [plain, coloured]) await terminal.until('[ended 3]')
    expect(coloured.painted()).toMatch(/\u001b\[[\d;]*m⊘/)
    expect(plain.painted()).not.toMatch(/\u001b\[[\d;]*m/)
  })

  test('stdout in a pipe gets the result alone while the view is live, and in colour, on stderr', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'resolve-piped-'))
    const file = join(folder, 'out')
    const terminal = open()
    terminal.shell(`${resolveLine('run', 'counter', '-i', 'count=40', '-i', 'hold=30')} | cat > ${file}`)
    await terminal.until('d: leave it running')
    await expect.poll(terminal.painted).toMatch(/\u001b\[[\d;]*m● running/)
    await goOn()
    await terminal.until('[ended 0]')
    expect(readFileSync(file, 'utf8')).toBe('counted to 40\n')
    rmSync(folder, { recursive: true })
  })

  test.each<[string, Record<string, string>]>([
    ['a screen reader', { RESOLVE_SCREEN_READER: '1' }],
    ['a screen reader that Ink knows', { INK_SCREEN_READER: 'true' }],
    ['a dumb terminal', { TERM: 'dumb' }],
  ])('for %s each line is written once and plain, without a live view', async (_, env) => {
    const terminal = open({ env })
    // A shell of tmux has the TERM of tmux.
    const name = env['TERM'] === undefined ? '' : `TERM=${env['TERM']} `
    terminal.shell(`${name}${resolveLine('run', 'counter', '-i', 'count=3', '-i', 'pause=300')}`)
    const shown = await terminal.until('[ended 0]')
    for (const line of ['● running', 'phase number 1.', 'phase number 3.', '✓ completed'])
      expect(shown.split('\n').filter((one) => one === line).length).toBe(1)
    expect(shown).not.toMatch(/last event|leave it/)
  })
})
