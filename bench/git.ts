/**
 * Measures clones, pushes and create-pr of an instance beside plain git on the same repository: from the first event of the setup to the
 * workspace, and in the worker. The upstream is a directory, so that no server is measured twice.
 */
import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLocalPlatform } from '../src/core/platform/local/local.ts'
import { TEST_GIT_ENVIRONMENT } from '../test/support/git-server.ts'
import { createdOn, eventsOf, storyOf, temporaryHome } from '../test/support/instances.ts'
import { plainResolver } from '../test/support/plain-resolver.ts'
import type { Part, Sample } from './figure.ts'
import { sized } from './quick.ts'

const COLD = 'a repository of 75 MiB, cold cache → workspace'
const WARM = 'the same, nothing new upstream'
const PUSH = 'push of 20 MiB to the git server'
const PULL = 'create-pr with one small commit'
const FILES = sized(2_800, 50)
const FILE_BYTES = 27 * 1024
const TIMES = sized(2, 1)
const PUSH_KIB = sized(20 * 1024, 256)

export const git: Part = {
  figures: [
    { name: COLD, against: 'git clone file://', goal: { most: 1.15 } },
    { name: WARM, against: '–', goal: { most: 250 }, unit: 'ms' },
    { name: PUSH, against: 'git push file://', goal: { most: 1.3 } },
    { name: PULL, against: 'git push file://', goal: { most: 4 } },
  ],
  rounds: 3,
  round,
}

const resolver = (isServed: boolean) =>
  plainResolver(
    isServed ? PUSHES : `me.finish({ status: 'completed' })`,
    { name: isServed ? 'pushes' : 'clones' },
    `me.on['resolver.getWorkspaceSpec'] = ({ params }) => ({ repos: [{ url: params.url }], git_server: ${isServed} })`,
  )

/** Each commit is pushed to a bare repository beside it and to the git server, in turn. */
const PUSHES = `
  const { execFileSync } = await import('node:child_process')
  const [{ path: cwd }] = me.config.workspace
  const sh = (line) => execFileSync('/bin/sh', ['-ec', line], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  const timed = (line) => { const begin = performance.now(); sh(line); return performance.now() - begin }
  sh('git clone --quiet --bare . ../bare.git')
  const plain = 'git push --quiet file://' + cwd + '/../bare.git HEAD:refs/heads/work'
  const pairs = { push: [], pull: [] }
  const both = (at, ours) => { const pair = at % 2 === 0 ? { bare: timed(plain), ours: timed(ours) } : { ours: timed(ours), bare: timed(plain) }; return pair }
  for (let at = 0; at < me.params.times; at += 1) {
    sh('head -c ' + me.params.kib + 'k /dev/urandom > noise && git add noise && git commit -qm noise')
    pairs.push.push(both(at, 'git push --quiet origin HEAD'))
    sh('echo ' + at + ' > small && git add small && git commit -qm small')
    pairs.pull.push(both(at, 'create-pr --title Work'))
  }
  me.finish({ status: 'completed', output: JSON.stringify(pairs) })`

async function round(): Promise<Sample[]> {
  const place = mkdtempSync(join(tmpdir(), 'bench-git-'))
  const upstream = join(place, 'app.git')
  process.env['RESOLVE_GIT_LOCAL'] = place
  const samples: Sample[] = []
  try {
    await makeRepository(upstream)
    for (let at = 0; at < TIMES; at += 1) {
      const home = temporaryHome()
      try {
        const bare = plainClone(upstream, join(place, `bare-${at}`))
        samples.push({ figure: COLD, ours: await clonedIn(home, upstream), bare })
        for (let warm = 0; warm < TIMES; warm += 1)
          samples.push({ figure: WARM, value: await clonedIn(home, upstream) })
        if (at === 0) samples.push(...(await pushed(home, upstream)))
      } finally {
        rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
      }
    }
    return samples
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

/** Files that do not compress, so that the pack has their size. */
async function makeRepository(path: string): Promise<void> {
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', path], { env: TEST_GIT_ENVIRONMENT })
  const child = spawn('git', ['fast-import', '--quiet'], {
    cwd: path,
    env: TEST_GIT_ENVIRONMENT,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  child.stdin.write('commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 5\nBegin\n')
  for (let number = 0; number < FILES; number += 1) {
    const name = `part-${number % 40}/file-${number}`
    child.stdin.write(`M 100644 inline ${name}\ndata ${FILE_BYTES}\n`)
    if (!child.stdin.write(randomBytes(FILE_BYTES))) await once(child.stdin, 'drain')
    child.stdin.write('\n')
  }
  child.stdin.end()
  await once(child, 'exit')
}

function plainClone(upstream: string, to: string): number {
  const begin = performance.now()
  execFileSync('git', ['clone', '--quiet', `file://${upstream}`, to], { env: TEST_GIT_ENVIRONMENT })
  const time = performance.now() - begin
  rmSync(to, { recursive: true })
  return time
}

/** Milliseconds from the first event of the setup to the workspace. */
async function clonedIn(home: string, upstream: string): Promise<number> {
  const id = await ran(home, false, { url: `file://${upstream}` })
  return timeOf(home, id, 'platform.git.ready') - timeOf(home, id, 'platform.setup.starting')
}

async function pushed(home: string, upstream: string): Promise<Sample[]> {
  const id = await ran(home, true, { url: `file://${upstream}`, times: TIMES * 2, kib: PUSH_KIB })
  const { push, pull } = JSON.parse(storyOf(home, id).output as string) as Record<
    string,
    { ours: number; bare: number }[]
  >
  return [
    ...(push ?? []).map((pair) => ({ figure: PUSH, ...pair })),
    ...(pull ?? []).map((pair) => ({ figure: PULL, ...pair })),
  ]
}

async function ran(home: string, isServed: boolean, input: Record<string, unknown>): Promise<string> {
  const made = resolver(isServed)
  const platform = await openLocalPlatform({ home, builtins: join(home, 'none') })
  try {
    const id = await createdOn(platform, made, { input, host: 'here' })
    await platform.over(id)
    return id
  } finally {
    await platform.close()
    rmSync(made.dir, { recursive: true, force: true })
  }
}

function timeOf(home: string, id: string, type: string): number {
  const found = eventsOf(home, id).find(({ event }) => event.event_type === type)
  return Date.parse(found?.event.timestamp ?? '')
}
