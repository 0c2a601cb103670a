/** Hosts and git servers that are killed, at the start and with an open push: every push that was answered reaches the host once. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import type { Home } from '../commands/cli.ts'
import { asksFor, eachWithGitHome, IN_CLONE } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let cli: Home
let upstream: GitUpstream
eachWithGitHome((made) => {
  ;({ cli, upstream } = made)
})

const ASKS = asksFor(['org/app'], { git_server: true })
const TOOLS = IN_CLONE

function server(id: string): { pid: number; start: string } {
  return JSON.parse(readFileSync(join(instancePaths(cli.home, id).git, 'server.json'), 'utf8'))
}

function isGone(id: string): boolean {
  const { pid, start } = server(id)
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(` ${start} `)
  } catch {
    return true
  }
}

async function added(behaviour: string): Promise<string> {
  upstream.create('org/app', { a: '1' })
  const resolver = plainResolver(TOOLS + behaviour, {}, ASKS)
  expect((await cli.run('resolver', 'add', resolver.dir)).code).toBe(0)
  return resolver.name
}

const steps = ['workspace.fetched', 'workspace.cloned', 'workspace.placed', 'workspace.ready', 'launch.configured']

test.each(steps)(
  'a host killed at %s leaves a server that the next one uses and ends',
  { timeout: 60_000 },
  async (step) => {
    const name = await added(`
    sh('echo x > x && git add -A && git commit -qm Work && create-pr --title Work')
    me.finish({ status: 'completed' })`)
    const env = { RESOLVE_GIT_BASE_URL: upstream.base }
    const killed = await cli.with({ env: { ...env, RESOLVE_FAILPOINTS: `${step}=kill` } }, 'run', name)
    expect(killed.code).toBeNull()
    const watch = await cli.with({ env }, 'instance', 'watch', '@last', '--json')
    expect(JSON.parse(watch.stdout)).toMatchObject({ status: 'completed' })
    const [id = ''] = instanceIds(cli.home)
    const types = eventsOf(cli.home, id).map(({ event }) => event.event_type)
    expect(types.filter((type) => /^platform\.git\.(ready|pushed|pull)/.test(type))).toEqual([
      'platform.git.ready',
      'platform.git.pushed',
      'platform.git.pull_request',
    ])
    await expect.poll(() => isGone(id), { timeout: 5_000 }).toBe(true)
  },
)

test('twenty kills of the host and of the server with an open push lose and repeat nothing (reliability F1)', {
  timeout: 240_000,
}, async () => {
  // Each push that the server answered is noted; one that it did not answer is tried again.
  const name = await added(`
    const { execFile } = await import('node:child_process')
    const push = () => new Promise((done) => execFile('git', ['push', '-q', 'origin', 'HEAD'], { cwd: clone }, (error) => done(error === null)))
    for (let number = 1; !fs.existsSync(clone + '/../end'); number += 1) {
      sh('head -c 300000 /dev/urandom > noise && git add -A && git commit -qm Work-' + number)
      while (!(await push())) await sleep(50)
      fs.appendFileSync(clone + '/../answered', sh('git rev-parse HEAD') + '\\n')
    }
    me.finish({ status: 'completed' })`)
  const env = { RESOLVE_GIT_BASE_URL: upstream.base }
  let host = cli.start(env, 'run', name)
  await expect.poll(() => instanceIds(cli.home)[0], { timeout: 30_000 }).toBeDefined()
  const [id = ''] = instanceIds(cli.home)
  const { project, git, owners } = instancePaths(cli.home, id)
  const noted = join(project, 'workspace/answered')
  const answered = () => (existsSync(noted) ? readFileSync(noted, 'utf8').trim().split('\n') : [])
  const pushed = () => eventsOf(cli.home, id).filter(({ event }) => event.event_type === 'platform.git.pushed')
  for (let kill = 0; kill < 20; kill += 1) {
    const before = answered().length
    await expect.poll(() => answered().length, { timeout: 60_000, interval: 20 }).toBeGreaterThan(before)
    // Every other host lives until it has told a push.
    const told = pushed().length
    if (kill % 2 === 1) await expect.poll(() => pushed().length, { timeout: 60_000 }).toBeGreaterThan(told)
    // Each time at another moment of the push that follows.
    await new Promise((done) => setTimeout(done, kill * 7))
    const owner = readOwner(owners)?.process.pid as number
    host.kill('SIGKILL')
    if (owner !== host.pid) process.kill(owner, 'SIGKILL')
    process.kill(server(id).pid, 'SIGKILL')
    await host.ended
    host = cli.start(env, 'instance', 'watch', id)
  }
  appendFileSync(join(project, 'workspace/end'), '')
  const story = await until(cli.home, id, ({ status }) => ['completed', 'failed'].includes(status), 60_000)
  expect(story).toMatchObject({ status: 'completed' })
  await host.ended
  const bare = join(git, 'app.git')
  expect(gitText(bare, ['fsck', '--strict'])).not.toMatch(/missing|error|broken/)
  const head = gitText(bare, ['rev-parse', `refs/heads/${story.repos?.[0]?.working_branch}`])
  const kept = new Set(gitText(bare, ['rev-list', head]).split('\n'))
  expect(answered().filter((commit) => !kept.has(commit))).toEqual([])
  const told = pushed().map(({ event }) => [event.data['from'], event.data['to'], event.data['forced']])
  // Each begins where the one before it ended.
  expect(told.map(([from]) => from)).toEqual([null, ...told.map(([, to]) => to)].slice(0, told.length))
  expect(told.at(-1)?.slice(1)).toEqual([head, false])
  await expect.poll(() => isGone(id), { timeout: 5_000 }).toBe(true)
})
