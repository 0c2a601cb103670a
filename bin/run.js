#!/usr/bin/env node
/**
 * The program `resolve`, as built. This file uses only syntax that Node 18 reads, so that an old Node gets as far as the
 * message that explains it. Runs {@link file://./../src/commands/main.ts}
 */
import { existsSync, readFileSync } from 'node:fs'
import module from 'node:module'
import { constants, homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const argv = process.argv.slice(2)

if (!isNewEnough(process.versions.node)) await runAgain()
else if (argv.length === 1 && ['--version', '-v', 'version'].includes(argv[0])) {
  // Answered before the command line is loaded, because scripts ask for it often.
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  process.stdout.write(`resolve ${version}\n`)
} else await start()

async function start() {
  const entry = join(root, 'dist', 'cli', 'main.js')
  if (!existsSync(entry)) {
    stop('resolve is not built in this checkout: run "npm run build" and give the command again.')
    return
  }
  // In the user's own cache directory: compiled code must be as trusted as the code itself.
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  if (process.env.NODE_COMPILE_CACHE === undefined) module.enableCompileCache(join(cache, 'resolve', 'compiled'))
  const { main } = await import('../dist/cli/main.js')
  await main(argv, root)
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > 24 || (major === 24 && minor >= 15)
}

/** Runs again with the Node that `npm run` fetched into this checkout. */
async function runAgain() {
  const node = join(root, 'tools', 'node24', 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node')
  if (!existsSync(node)) {
    const remedy = existsSync(join(root, 'scripts', 'task.mjs'))
      ? 'run "npm run build", which fetches one into this checkout where it can'
      : 'install it and put it first in PATH'
    stop(`resolve needs Node 24.15 or newer (this is ${process.version}): ${remedy}.`)
    return
  }
  const { spawn } = await import('node:child_process')
  const child = spawn(node, [fileURLToPath(import.meta.url), ...argv], { stdio: 'inherit' })
  const pass = (signal) => {
    // The terminal sends Ctrl-C to the child itself; passing it on would send it twice.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, pass)
  child.on('error', (error) => stop(`Can't start ${node}: ${error.message}.`))
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)))
}

function stop(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exitCode = 10 // "unavailable" in docs/exit-codes.md
}
