#!/usr/bin/env node
/**
 * Runs every npm script: `node scripts/task.mjs <task> [arguments]`. It installs Node 24 and the dependencies where they are
 * missing, builds where the task needs it and a source changed, and runs the task. Works on Node 18 and later.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withTaskLock } from './task-lock.mjs'
import { ensureDependencies, ensureNode, say, TaskError, taskEnvironment } from './toolchain.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const module = (path) => join(root, 'node_modules', path)
const build = join(root, 'scripts', 'build.mjs')

/** Tests with a long form, which RESOLVE_SOAK=1 selects; the opening sentence of each names its other settings. */
const soakFiles = [
  'test/faults/failpoints.test.ts',
  'test/faults/file-calls.test.ts',
  'test/faults/kill-loop.test.ts',
  'test/git-server/killed.test.ts',
]

/** Each task: whether it needs a build first, and the programs it runs in turn (with Node, or directly where they are binaries). */
const tasks = {
  demo: { builds: true, run: [join(root, 'scripts', 'demo.mjs')] },
  test: { builds: true, run: [module('vitest/vitest.mjs'), 'run'] },
  soak: { builds: true, run: [module('vitest/vitest.mjs'), 'run', ...soakFiles], env: { RESOLVE_SOAK: '1' } },
  build: { builds: true },
  bench: { builds: true, run: [join(root, 'bench', 'main.ts')] },
  'proof:renovate': { builds: true, run: [join(root, 'scripts', 'proof-renovate.mjs')] },
  'proof:agents': { run: [join(root, 'scripts', 'proof-agents.mjs')] },
  lint: { run: [module('@biomejs/biome/bin/biome'), 'check'] },
  format: { run: [module('@biomejs/biome/bin/biome'), 'check', '--write'] },
  types: {
    run: [module('typescript/bin/tsc'), '--noEmit', '-p', join(root, 'tsconfig.json')],
    // Only the page may use a browser's global names.
    after: [module('typescript/bin/tsc'), '--noEmit', '-p', join(root, 'tsconfig.web.json')],
  },
  'dead-exports': { run: [module('knip/bin/knip.js')] },
}

async function main([name, ...args]) {
  const task = Object.hasOwn(tasks, name ?? '') ? tasks[name] : undefined
  if (task === undefined) throw new TaskError(`A task is one of: ${Object.keys(tasks).join(', ')}.`)
  const node = await withTaskLock(root, async () => {
    const found = await ensureNode(root)
    await ensureDependencies(root, found)
    if (task.builds === true) await ensureBuilt(found)
    return found
  })
  for (const program of [task.run, task.after]) {
    const code = program === undefined ? 0 : await run(node, [...program, ...args], task.env)
    if (code !== 0) return code
  }
  return 0
}

async function ensureBuilt(node) {
  const code = await run(node, [build])
  if (code !== 0) throw new TaskError('The build failed; what it printed stands above.')
}

/** Runs a Node program with the checkout's tools first in PATH; passes signals on and returns the exit code. */
function run(node, args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, { cwd: root, stdio: 'inherit', env: { ...taskEnvironment(root, node), ...env } })
    const pass = (signal) => {
      // The terminal sends Ctrl-C to the child itself; passing it on would send it twice.
      if (signal === 'SIGINT' && process.stdin.isTTY) return
      child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, pass)
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      for (const name of signals) process.off(name, pass)
      resolve(code ?? 128 + (constants.signals[signal] ?? 0))
    })
  })
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error) => {
    say(error instanceof TaskError ? error.message : error.stack)
    process.exitCode = 1
  },
)
