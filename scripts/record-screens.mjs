#!/usr/bin/env node
/**
 * Records the pictures of docs/screens from the built program in a real terminal (tmux): `node scripts/record-screens.mjs`,
 * with Node 24, after `npm run build`. Values that differ between recordings (ids, times, the user's name) are replaced by
 * fixed ones.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openTerminal, resolveLine } from '../test/support/tmux-terminal.ts'
import { screenSvg } from './screen-svg.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = join(root, 'docs', 'screens')

const COLUMNS = 80
const ROWS = 20

async function main() {
  mkdirSync(folder, { recursive: true })
  await recordRun()
}

/** A run from start to end; its question is answered from another terminal. */
async function recordRun() {
  const home = mkdtempSync(join(tmpdir(), 'resolve-screens-'))
  const terminal = openTerminal({ columns: COLUMNS, rows: ROWS, env: { RESOLVE_HOME: home } })
  const frames = []
  const take = async (wanted, seconds) => {
    await terminal.until(wanted)
    // Further output: data files are noticed slightly later.
    await sleep(600)
    frames.push({ screen: steady(terminal.painted(), frames.length), seconds })
  }
  try {
    terminal.type(`resolve() { ${resolveLine()} "$@"; }; clear`)
    await sleep(300)
    terminal.type("resolve run tour -i 'subject=a lighthouse' -i pace=slow --on-input wait", false)
    await take('on-input wait', 1.5)
    terminal.keys('Enter')
    await take('phase surveying', 1.5)
    await take('waiting for you', 4)
    answer(home)
    for (const part of ['walls', 'windows', 'roof']) await take(`Building the ${part}`, 1.2)
    await take(/✓ tour \w+ completed/, 6)
  } finally {
    terminal.close()
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
  const title = 'resolve run tour: phases and progress, a question answered elsewhere, the result'
  writeFileSync(join(folder, 'run.svg'), screenSvg({ frames, columns: COLUMNS, rows: ROWS, title }))
}

function answer(home) {
  const words = ['instance', 'answer', '@last', '-i', 'go=true', '-i', 'note=Mind the gulls', '-i', 'foreman=Ada']
  const env = { ...process.env, RESOLVE_HOME: home }
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'bin', 'run.js'), ...words], {
    env,
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
}

/** Makes the picture independent of the time and of the user who records it. */
function steady(screen, at) {
  return screen
    .replace(/\b[0-9a-f]{12}\b/g, '3fa27c01d9be')
    .replace(/\b\d+(?:\.\d)? s\b/g, `${(at * 1.6 + 0.4).toFixed(1)} s`)
    .replace(/last event (?:now|\d+s ago)/g, 'last event now')
    .replace(/by \S+ \(cli\)/g, 'by ada (cli)')
}

await main()
