/** A real terminal for a test: tmux on a socket of its own. What runs in it is typed at, resized, closed and looked at. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { quoteWord } from '../../src/core/primitives/quote-word.ts'

const program = join(import.meta.dirname, '..', '..', 'bin', 'run.js')

/** CI brings tmux; elsewhere a machine may lack it, and says so once a file. */
export const hasTmux = spawnSync('tmux', ['-V']).status === 0
export const skipsTmux = !hasTmux && ['', undefined].includes(process.env['CI'])
if (skipsTmux) process.stderr.write('tmux is missing: the tests on a real terminal are skipped.\n')

export interface TerminalOptions {
  columns?: number
  rows?: number
  env?: Record<string, string>
}

export interface Terminal {
  /** Types a line, and Enter after it. */
  type(line: string, enter?: boolean): void
  /** Runs a shell line in the pane; at its end `[ended CODE]` stands there. */
  shell(line: string): void
  /** The same for the built program. */
  resolve(...args: string[]): void
  /** Keys by tmux's names (`C-c`, `Enter`), or letters. */
  keys(...names: string[]): void
  resize(columns: number, rows: number): void
  /** The rows that are visible now. */
  screen(): string
  /** Everything since the terminal was opened, lines that were wrapped joined again. */
  history(): string
  /** The visible rows with their colours. */
  painted(): string
  /** Waits until the screen or what scrolled away has it. Throws with what is shown instead. */
  until(wanted: string | RegExp, limitMs?: number): Promise<string>
  /** The terminal goes away, as when its window is closed. */
  close(): void
}

/** A shell line that runs the built program. */
export function resolveLine(...args: string[]): string {
  return [process.execPath, program, ...args].map(quoteWord).join(' ')
}

export function openTerminal({ columns = 80, rows = 24, env = {} }: TerminalOptions = {}): Terminal {
  const place = mkdtempSync(join(tmpdir(), 'resolve-tmux-'))
  const surroundings: NodeJS.ProcessEnv = {
    ...process.env,
    ...{ CI: '', NO_COLOR: '', FORCE_COLOR: '', GITHUB_ACTIONS: '', TMUX: '', LC_ALL: 'C.UTF-8', SHELL: '/bin/sh' },
    ...{ TMUX_TMPDIR: place, PS1: '$ ' },
    ...env,
  }
  const tmux = (...args: string[]) => {
    const words = ['-u', '-L', 'test', '-f', '/dev/null', ...args]
    return spawnSync('tmux', words, { env: surroundings, encoding: 'utf8', timeout: 10_000 })
  }
  const size = ['-x', String(columns), '-y', String(rows)]
  const opened = tmux('new-session', '-d', '-s', 'test', ...size, 'exec sh')
  if (opened.status !== 0) throw new Error(`tmux: ${opened.stderr}`)
  tmux('set-option', '-g', 'status', 'off')
  tmux('resize-window', '-t', 'test', ...size)
  const type = (line: string, enter = true) => {
    tmux('send-keys', '-t', 'test', '-l', line)
    if (enter) tmux('send-keys', '-t', 'test', 'Enter')
  }
  // The line as it is typed must not look like its own end.
  const shell = (line: string) => type(`${line}; printf '[ended %s]\\n' $?`)
  const capture = (...options: string[]) => tmux('capture-pane', '-p', '-t', 'test', ...options).stdout
  const terminal: Terminal = {
    type,
    shell,
    resolve: (...args) => shell(resolveLine(...args)),
    keys(...names) {
      for (const name of names) tmux('send-keys', '-t', 'test', name)
    },
    resize: (x, y) => void tmux('resize-window', '-t', 'test', '-x', String(x), '-y', String(y)),
    screen: () => capture(),
    history: () => capture('-J', '-S', '-'),
    painted: () => capture('-e'),
    async until(wanted, limitMs = 30_000) {
      const end = Date.now() + limitMs
      for (;;) {
        const shown = stripVTControlCharacters(terminal.history())
        const found = typeof wanted === 'string' ? shown.includes(wanted) : wanted.test(shown)
        if (found) return shown
        if (Date.now() > end) throw new Error(`The terminal never showed ${String(wanted)}, but:\n${shown}`)
        await sleep(60)
      }
    },
    close() {
      tmux('kill-session', '-t', 'test')
      tmux('kill-server')
      rmSync(place, { recursive: true, force: true })
    },
  }
  return terminal
}
