/** Hosts that are killed at each step of a worker's promotion: the next host finishes it, and the worker gets its answer. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FAILPOINTS, type Failpoint } from '../../src/core/failpoints.ts'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import { readOwner } from '../../src/core/store/owners.ts'
import type { Home } from '../commands/cli.ts'
import { DOUBLES } from '../support/forges/all.ts'
import { type DoubleHandler, doubleHandler, FORGE_TOKEN } from '../support/forges/double.ts'
import { asksFor, eachWithGitHome } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let cli: Home
let upstream: GitUpstream
let forge: DoubleHandler
eachWithGitHome(
  (made) => {
    ;({ cli, upstream } = made)
  },
  () => {
    forge = doubleHandler(DOUBLES.gitea.dialect, ['/api/'])
    return { token: FORGE_TOKEN, intercept: forge.handle }
  },
)

const STEPS = FAILPOINTS.filter((name) => name.startsWith('promotion.'))
/** Passed only while the pull request is made: by the first two hosts. */
const ONCE: string[] = ['promotion.asked', 'promotion.created'] satisfies Failpoint[]
const AGAIN = STEPS.filter((step) => !ONCE.includes(step))

/** Promotes one commit after the other until it is told to end; notes each that it got an answer for. */
const WORKS = `
  const { execFile } = await import('node:child_process')
  const [{ path: cwd }] = me.config.workspace
  const sh = (line) => new Promise((done) => execFile('/bin/sh', ['-ec', line], { cwd }, (error, stdout, stderr) => done(error === null ? stdout.trim() : (fs.appendFileSync(cwd + '/../refused', stderr), undefined))))
  for (let number = 1; !fs.existsSync(cwd + '/../end'); number += 1) {
    await sh('echo ' + number + ' > work && git add -A && git commit -qm Work-' + number)
    while ((await sh('create-pr --title Work --promote')) === undefined) await sleep(50)
    fs.appendFileSync(cwd + '/../answered', (await sh('git rev-parse HEAD')) + '\\n')
  }
  me.finish({ status: 'completed' })`

test('twenty kills of the host with an open promotion end at one pull request, and no answer is lost (reliability F1)', {
  timeout: 300_000,
}, async () => {
  upstream.create('tea/repo', { a: '1' })
  const asks = asksFor(['tea/repo'], { git_server: true })
  const resolver = plainResolver(WORKS, {}, asks)
  expect((await cli.run('resolver', 'add', resolver.dir)).code).toBe(0)
  const env = {
    RESOLVE_GIT_PROVIDER: 'gitea',
    RESOLVE_GIT_BASE_URL: upstream.base,
    RESOLVE_GIT_HOST_TOKEN: FORGE_TOKEN,
  }
  // The first host dies in the command; later ones are background hosts, which the command starts again with the same failpoint.
  const [first = '', second = ''] = ONCE
  const run = cli.start(
    { ...env, RESOLVE_FAILPOINTS: `${first}=kill` },
    'run',
    resolver.name,
    '-i',
    'delivery_mode=promote',
  )
  await expect.poll(() => instanceIds(cli.home)[0], { timeout: 30_000 }).toBeDefined()
  const [id = ''] = instanceIds(cli.home)
  const { project, owners, git } = instancePaths(cli.home, id)
  const told = (type: string) =>
    eventsOf(cli.home, id).filter(({ event }) => event.event_type === `platform.promotion.${type}`)
  await run.ended
  let kills = 1
  for (const step of [second, ...AGAIN, ...AGAIN, first]) {
    const before = readOwner(owners)?.epoch ?? 0
    const host = cli.start({ ...env, RESOLVE_FAILPOINTS: `${step}=kill` }, 'instance', 'watch', id)
    // One takes over and dies at the step, and another one takes over; at a step that is passed no more, it dies at any moment.
    const wanted = before + (step === first ? 1 : 2)
    await expect
      .poll(() => readOwner(owners)?.epoch ?? 0, { timeout: 60_000, interval: 20 })
      .toBeGreaterThanOrEqual(wanted)
    await new Promise((done) => setTimeout(done, kills * 20))
    host.kill('SIGKILL')
    const owner = readOwner(owners)
    if (owner !== undefined && owner.process.pid !== host.pid) endIfThere(owner.process.pid)
    await host.ended
    kills += (readOwner(owners)?.epoch ?? 0) - before
  }
  expect(kills).toBeGreaterThanOrEqual(20)
  const host = cli.start(env, 'instance', 'watch', id)
  const workspace = join(project, 'workspace')
  const answered = () =>
    existsSync(join(workspace, 'answered')) ? readFileSync(join(workspace, 'answered'), 'utf8').trim().split('\n') : []
  const before = answered().length
  await expect.poll(() => answered().length, { timeout: 60_000 }).toBeGreaterThan(before)
  writeFileSync(join(workspace, 'end'), '')
  expect(await until(cli.home, id, ({ status }) => ['completed', 'failed'].includes(status), 60_000)).toMatchObject({
    status: 'completed',
  })
  await host.ended
  const [branch] = forge.pulls.map(({ head }) => head)
  expect(forge.pulls).toMatchObject([{ target: 'main', title: 'Work' }])
  const tip = upstream.git('tea/repo', 'rev-parse', `refs/heads/${branch}`)
  expect(answered().at(-1)).toBe(tip)
  const kept = new Set(upstream.git('tea/repo', 'rev-list', tip).split('\n'))
  expect(answered().filter((commit) => !kept.has(commit))).toEqual([])
  const ended = told('completed').map(({ event }) => event.data['commit'])
  expect(answered().filter((commit) => !ended.includes(commit))).toEqual([])
  expect(told('failed').map(({ event }) => event.data)).toEqual([])
  expect(existsSync(join(workspace, 'refused')) ? readFileSync(join(workspace, 'refused'), 'utf8') : '').not.toContain(
    'refused',
  )
  expect(gitText(join(git, 'repo.git'), ['fsck', '--strict'])).not.toMatch(/missing|error|broken/)
})

/** It may have died at its step just now. */
function endIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It did.
  }
}
