/** A resumed instance: nothing is cloned again, and what happened upstream meanwhile is told (docs/git.md, The repository of the host). */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { eachWithGitPlatform } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let home: string
let platform: LocalPlatform
let upstream: GitUpstream

eachWithGitPlatform(
  (made) => {
    ;({ home, platform, upstream } = made)
  },
  () => ({ token: 'sesame' }),
)

/** It pauses, and in its next run it goes on until it is told to end. */
async function paused(repos: readonly object[]): Promise<string> {
  const asks = `me.on['resolver.getWorkspaceSpec'] = () => ({ repos: ${JSON.stringify(repos)} })`
  const works = `
    if (!me.resume) return me.finish({ status: 'paused' })
    const end = me.config.workspace_path + '/end'
    while (!fs.existsSync(end)) await sleep(20)
    me.finish({ status: 'completed' })`
  await (await platform.catalog()).add(plainResolver(works, { supports_resume: true }, asks).dir, { cwd: home })
  const { instance_id: id } = await platform.create({ resolver: 'plain', input: {} })
  await until(home, id, ({ status }) => ['paused', 'failed'].includes(status))
  return id
}

const told = (id: string, type: string) =>
  eventsOf(home, id)
    .filter(({ event }) => event.event_type === type)
    .map(({ event }) => event.data)

async function end(id: string): Promise<void> {
  writeFileSync(join(instancePaths(home, id).project, 'workspace/end'), '')
  expect(await until(home, id, ({ status }) => ['completed', 'failed'].includes(status))).toMatchObject({
    status: 'completed',
  })
}

test('each repository whose branch moved on is told once, and the workspace stays as it was (S-DIR-15-BEHIND)', async () => {
  upstream.create('org/app', { a: '1' })
  upstream.create('org/lib', { a: '1' })
  upstream.commit('org/lib', { b: '1' }, 'dev')
  const id = await paused([{ url: 'org/app' }, { url: 'org/lib', branch: 'dev' }])
  upstream.commit('org/app', { a: '2' })
  const tip = upstream.commit('org/app', { a: '3' })
  // Another branch than that of the work.
  upstream.commit('org/lib', { a: '2' })
  await platform.resume(id)
  await expect
    .poll(() => told(id, 'platform.git.behind'), { timeout: 20_000 })
    .toEqual([{ repo: 'app', branch: 'main', commit: tip, commits: 2 }])
  const { git, project } = instancePaths(home, id)
  expect(gitText(join(git, 'app.git'), ['rev-parse', 'refs/upstream/main'])).toBe(tip)
  expect(gitText(join(project, 'workspace/app'), ['rev-list', '--count', 'HEAD'])).toBe('1')
  await end(id)
  expect([told(id, 'platform.git.behind').length, told(id, 'platform.git.ready').length]).toEqual([1, 1])
})

test('an upstream that is gone disturbs no resumed run', async () => {
  upstream.create('org/app', { a: '1' })
  const id = await paused([{ url: 'org/app' }])
  rmSync(upstream.pathOf('org/app'), { recursive: true })
  await platform.resume(id)
  await until(home, id, ({ status }) => status === 'running')
  await end(id)
  expect(told(id, 'platform.git.behind')).toEqual([])
})
