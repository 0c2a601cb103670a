/** Measures whole processes of the built command line: version and list against a bare Node, a run against the bare handshake. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../test/house/source-files.ts'
import { inTurn, type Part, type Sample } from './figure.ts'
import { sized } from './quick.ts'

const VERSION = 'resolve --version'
const LIST = 'resolve instance list'
const RUN = 'instance run hello --json'
const TIMES = sized(9, 3)
const INSTANCES = 10

export const start: Part = {
  figures: [
    { name: VERSION, against: 'node -e 0', goal: { most: 1.5 } },
    { name: LIST, against: 'node -e 0', goal: { most: 3 } },
    { name: RUN, against: 'a bare handshake with hello, plus instance list', goal: { most: 1.3 } },
  ],
  rounds: 3,
  round,
}

async function round(): Promise<Sample[]> {
  const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  const env = { ...process.env, RESOLVE_HOME: home, XDG_CACHE_HOME: join(home, 'cache'), NO_COLOR: '1' }
  const took = (...args: string[]): number => {
    const begin = performance.now()
    const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
    const ms = performance.now() - begin
    if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`)
    return ms
  }
  const resolve = (...args: string[]) => took(join(root, 'bin', 'run.js'), ...args)
  const run = () => resolve('instance', 'run', 'hello', '--input', 'name=Ada', '--json')
  const list = () => resolve('instance', 'list')
  const handshake = () =>
    took(join(import.meta.dirname, 'bare-handshake.mjs'), join(root, 'dist/resolvers/hello/resolver.js'))
  const bareNode = () => took('-e', '0')
  try {
    for (let n = 0; n < INSTANCES; n += 1) run()
    return [
      ...(await inTurn(VERSION, TIMES, () => resolve('--version'), bareNode)),
      ...(await inTurn(LIST, TIMES, list, bareNode)),
      ...(await inTurn(RUN, TIMES, run, () => handshake() + list())),
    ]
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
