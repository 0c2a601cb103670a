/** The git server in the life of an instance with local workers: what a resolver reaches, and what the host keeps of it (docs/git.md). */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { filesWith } from '../support/files-with.ts'
import { asksFor, eachWithGitPlatform, IN_CLONE } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

const TOKEN = 'canary-token-of-the-git-host'
const NEEDS = { capabilities_required: ['gitea'] }

/** What the behaviours use: git and create-pr as a resolver finds them. */
const TOOLS = `${IN_CLONE}  const work = (name) => sh('echo ' + name + ' > ' + name + ' && git add -A && git commit -qm ' + name)
  const { base_url: server, token } = me.config.git_provider
  const go = (name) => new Promise((done) => { const look = () => fs.existsSync(root + '/data/' + name) ? done() : setTimeout(look, 20); look() })
`

let home: string
let platform: LocalPlatform
let upstream: GitUpstream

const { reopen } = eachWithGitPlatform(
  (made) => {
    ;({ home, platform, upstream } = made)
  },
  () => ({ token: TOKEN, env: { RESOLVE_GIT_PROVIDER: 'gitea' } }),
)

// Before the platform is closed: hooks run in the reverse of their order.
afterEach(async () => {
  for (const { instance_id: id } of (await platform.list({ status: ['starting', 'running', 'paused'] })).records)
    await platform.stop(id, { force: true }).catch(() => {})
})

async function created(behaviour: string, manifest: object = NEEDS): Promise<string> {
  const asks = asksFor(['org/app'])
  const resolver = plainResolver(TOOLS + behaviour, { ...manifest }, asks)
  await (await platform.catalog()).add(resolver.dir, { cwd: home })
  return (await platform.create({ resolver: 'plain', input: {} })).instance_id
}

const dataOf = (id: string, type: string) =>
  eventsOf(home, id)
    .filter(({ event }) => event.event_type === type)
    .map(({ event }) => event.data)

/** Asked at the end of an instance: by then no part of its server is left. */
function isServerGone(id: string): boolean {
  const { pid, start } = JSON.parse(readFileSync(join(instancePaths(home, id).git, 'server.json'), 'utf8')) as {
    pid: number
    start: string
  }
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(` ${start} `)
  } catch {
    return true
  }
}

// verifies: S-PLUG-04-SERVER S-SVC-14 S-DIR-10 S-DIR-12 S-DIR-13 S-DIR-14
test('a resolver with the capability pushes and opens a pull request at its own git server', {
  timeout: 60_000,
}, async () => {
  upstream.create('org/app', { 'a.txt': 'a\n' })
  const start = upstream.git('org/app', 'rev-parse', 'main')
  const id = await created(`
    work('one'); sh('git push -q origin HEAD')
    work('two')
    const url = sh('create-pr --title "Better words" --body "All of them."')
    const answer = await fetch(server + '/api/v1/repos/admin/app/pulls', { headers: { authorization: 'token ' + token } })
    const [pull] = await answer.json()
    me.finish({ status: 'completed', output: JSON.stringify({ url, pull: pull.title, body: pull.body, config: { ...me.config, params: null }, hidden: [...token].reverse().join(''), remote: sh('git remote get-url origin') }) })`)
  const story = await until(home, id, ({ status }) => ['completed', 'failed'].includes(status), 50_000)
  expect(story).toMatchObject({ status: 'completed', error: null })
  const { url, pull, body, config, hidden, remote } = JSON.parse(story.output as string)
  expect({ pull, body, remote }).toEqual({
    pull: 'Better words',
    body: 'All of them.',
    remote: `${config.git_provider.base_url}/admin/app.git`,
  })
  expect(config).toMatchObject({
    git_provider: { type: 'gitea', base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) },
    credentials: { git_host_token: '' },
    platform_url: config.git_provider.base_url,
    capabilities: ['git-server'],
  })
  const { git: directory } = instancePaths(home, id)
  const bare = join(directory, 'app.git')
  const branch = story.repos?.[0]?.working_branch as string
  const head = gitText(bare, ['rev-parse', `refs/heads/${branch}`])
  expect(gitText(bare, ['rev-parse', 'refs/start'])).toBe(start)
  expect(gitText(bare, ['rev-parse', 'refs/upstream/main'])).toBe(start)
  expect(gitText(bare, ['log', '--format=%s', `refs/start..${head}`])).toBe('two\none')
  expect(gitText(bare, ['fsck', '--strict'])).toBe('')
  const pushes = dataOf(id, 'platform.git.pushed')
  expect(pushes.map(({ to }) => to).at(-1)).toBe(head)
  expect(pushes).toContainEqual({
    repo: 'app',
    ref: `refs/heads/${branch}`,
    from: null,
    to: expect.any(String),
    forced: false,
  })
  expect(dataOf(id, 'platform.git.pull_request')).toEqual([
    {
      repo: 'app',
      number: 1,
      action: 'opened',
      title: 'Better words',
      head: branch,
      base: 'main',
      commit: head,
      url,
      next: expect.any(Number),
    },
  ])
  expect(story.git).toMatchObject({
    pulls: [{ number: 1, title: 'Better words' }],
    pushes: [{ repo: 'app', commit: head }],
  })
  // R48: each part is a step of the setup.
  const done = dataOf(id, 'platform.setup.progress').filter(({ exit_code: code }) => code === 0)
  expect(done.map(({ step, total, description }) => [step, total, description])).toEqual([
    [1, 2, 'Start the git server'],
    [2, 2, 'Clone app'],
  ])
  // The token of the server opens nothing now, and is nowhere; the one of the upstream never was with the worker.
  await expect.poll(() => isServerGone(id), { timeout: 5_000 }).toBe(true)
  expect(existsSync(join(directory, 'token'))).toBe(false)
  expect(config.git_provider.token).toBe('[redacted]')
  const used = [...hidden].reverse().join('')
  expect(used).toMatch(/^[0-9a-f]{64}$/)
  expect(filesWith(instancePaths(home, id).root, [TOKEN, used])).toEqual([])
})

test('the next host finds the server, and journals what was pushed while there was none', {
  timeout: 60_000,
}, async () => {
  upstream.create('org/app', { 'a.txt': 'a\n' })
  const id = await created(`
    work('one'); sh('git push -q origin HEAD')
    await go('alone')
    work('two'); sh('create-pr --title "While no host was there"')
    fs.writeFileSync(root + '/data/pushed', '')
    await go('end')
    me.finish({ status: 'completed' })`)
  await until(home, id, ({ git }) => git?.pushes.length === 1, 30_000)
  await platform.close()
  const data = join(instancePaths(home, id).project, '.resolve/data')
  mkdirSync(data, { recursive: true })
  writeFileSync(join(data, 'alone'), '')
  await expect.poll(() => existsSync(join(data, 'pushed')), { timeout: 30_000 }).toBe(true)
  expect(dataOf(id, 'platform.git.pull_request')).toEqual([])
  platform = await reopen()
  await platform.rename(id, 'adopted')
  await until(home, id, ({ git }) => git?.pulls.length === 1, 30_000)
  writeFileSync(join(data, 'end'), '')
  const story = await until(home, id, ({ status }) => status === 'completed', 30_000)
  expect(dataOf(id, 'platform.git.pull_request')).toMatchObject([{ number: 1, title: 'While no host was there' }])
  expect(dataOf(id, 'platform.git.pushed')).toHaveLength(2)
  expect(story.adoptions).toBeGreaterThan(0)
  await expect.poll(() => isServerGone(id), { timeout: 5_000 }).toBe(true)
})

test('a server that is killed is started again; a lost directory is made again from the repository of the host', {
  timeout: 90_000,
}, async () => {
  upstream.create('org/app', { 'a.txt': 'a\n' })
  const id = await created(`
    const tried = async (line) => { for (;;) try { return sh(line) } catch (error) { await sleep(100) } }
    work('one'); sh('create-pr --title First')
    await go('killed')
    work('two'); await tried('git push -q origin HEAD')
    await go('lost')
    work('three'); await tried('create-pr --title Second')
    const read = () => fetch(server + '/api/v1/repos/admin/app/pulls?state=all', { headers: { authorization: 'token ' + token } })
    me.finish({ status: 'completed', output: JSON.stringify((await (await read()).json()).map(({ number, title, state }) => [number, title, state])) })`)
  const { git: directory, project } = instancePaths(home, id)
  const data = join(project, '.resolve/data')
  const server = () => JSON.parse(readFileSync(join(directory, 'server.json'), 'utf8')) as { pid: number; port: number }
  await until(home, id, ({ git }) => git?.pulls.length === 1, 30_000)
  mkdirSync(data, { recursive: true })
  const first = server()
  process.kill(first.pid, 'SIGKILL')
  writeFileSync(join(data, 'killed'), '')
  const bare = join(directory, 'app.git')
  const subjects = () => gitText(bare, ['log', '--format=%s', '--branches', '--not', 'refs/start'])
  await expect.poll(subjects, { timeout: 30_000 }).toBe('two\none')
  expect(server().port).toBe(first.port)
  // The server sees that its directory is gone, and ends by itself.
  rmSync(join(directory, 'server'), { recursive: true, maxRetries: 5 })
  writeFileSync(join(data, 'lost'), '')
  const story = await until(home, id, ({ status }) => ['completed', 'failed'].includes(status), 50_000)
  expect(story).toMatchObject({ status: 'completed' })
  expect(JSON.parse(story.output as string)).toEqual([[1, 'Second', 'open']])
  expect(subjects()).toBe('three\ntwo\none')
  const warnings = dataOf(id, 'platform.watchdog.warning').map(({ kind }) => kind)
  expect(warnings).toEqual(['git_server_lost'])
  await expect.poll(() => isServerGone(id), { timeout: 5_000 }).toBe(true)
})

test('a server that ends again and again is started three times, then the host warns and waits', {
  timeout: 90_000,
}, async () => {
  upstream.create('org/app', { 'a.txt': 'a\n' })
  const id = await created(`me.emit('plain.begun'); await go('end'); me.finish({ status: 'completed' })`)
  const { git, project } = instancePaths(home, id)
  const pid = () => (JSON.parse(readFileSync(join(git, 'server.json'), 'utf8')) as { pid: number }).pid
  await expect.poll(() => dataOf(id, 'plain.begun').length, { timeout: 30_000 }).toBe(1)
  for (let ends = 1; ends <= 4; ends += 1) {
    const before = pid()
    process.kill(before, 'SIGKILL')
    if (ends < 4) await expect.poll(pid, { timeout: 20_000 }).not.toBe(before)
  }
  await expect
    .poll(() => dataOf(id, 'platform.watchdog.warning'), { timeout: 20_000 })
    .toMatchObject([{ kind: 'git_server', value: 3, limit: 3 }])
  // The run goes on without it, and its end does not wait.
  mkdirSync(join(project, '.resolve/data'), { recursive: true })
  writeFileSync(join(project, '.resolve/data/end'), '')
  expect(await until(home, id, ({ status }) => ['completed', 'failed'].includes(status), 30_000)).toMatchObject({
    status: 'completed',
  })
})

test('a pause stops the server, and a resume starts it with the same address and token (S-DIR-14-GITEA)', {
  timeout: 60_000,
}, async () => {
  upstream.create('org/app', { 'a.txt': 'a\n' })
  const id = await created(
    `
    work('run' + (me.resume ? 2 : 1)); sh('create-pr --title Work' + (me.resume ? 'Again' : ''))
    const seen = server + ' ' + token
    if (seen !== process.env.GITEA_URL + ' ' + process.env.GITEA_TOKEN) me.finish({ status: 'failed', error: 'no GITEA_' })
    else if (!me.resume) { fs.writeFileSync(clone + '/../seen', seen); me.finish({ status: 'paused' }) }
    else me.finish({ status: 'completed', output: String(fs.readFileSync(clone + '/../seen', 'utf8') === seen) })`,
    { ...NEEDS, supports_resume: true },
  )
  await until(home, id, ({ status }) => ['paused', 'failed'].includes(status), 30_000)
  await expect.poll(() => isServerGone(id), { timeout: 5_000 }).toBe(true)
  await platform.resume(id)
  const story = await until(home, id, ({ status }) => ['completed', 'failed'].includes(status), 30_000)
  expect(story).toMatchObject({ status: 'completed', output: 'true' })
  expect(dataOf(id, 'platform.git.pull_request').map(({ action }) => action)).toEqual(['opened', 'updated'])
  expect(dataOf(id, 'platform.git.pushed')).toHaveLength(2)
  await expect.poll(() => isServerGone(id), { timeout: 5_000 }).toBe(true)
})
