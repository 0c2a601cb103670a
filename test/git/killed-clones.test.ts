/** A host that is killed while it clones: the next one brings the instance to its end, with a whole workspace (R48, reliability F1). */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FAILPOINTS } from '../../src/core/failpoints.ts'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import type { Home } from '../commands/cli.ts'
import { asksFor, eachWithGitHome } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let cli: Home
let upstream: GitUpstream
eachWithGitHome((made) => {
  ;({ cli, upstream } = made)
})

const steps = [...FAILPOINTS.filter((name) => name.startsWith('workspace.')), 'launch.configured', 'launch.spawned']

test.each(steps)('killed at %s', { timeout: 60_000 }, async (step) => {
  for (const name of ['one', 'two']) upstream.create(`org/${name}`, { a: name })
  const asks = asksFor(['org/one', 'org/two'])
  const ends = `me.finish({ status: 'completed', output: me.config.workspace.map(({ path }) => fs.readFileSync(path + '/a', 'utf8')).join(' ') })`
  const resolver = plainResolver(ends, {}, asks)
  const env = { RESOLVE_GIT_BASE_URL: upstream.base }
  expect((await cli.run('resolver', 'add', resolver.dir)).code).toBe(0)
  const killed = await cli.with({ env: { ...env, RESOLVE_FAILPOINTS: `${step}=kill` } }, 'run', resolver.name)
  expect(killed.code).toBeNull()
  const watch = await cli.with({ env }, 'instance', 'watch', '@last', '--json')
  expect(JSON.parse(watch.stdout)).toMatchObject({ status: 'completed', output: 'one two' })
  const [id = ''] = instanceIds(cli.home)
  const { root, project } = instancePaths(cli.home, id)
  for (const name of ['one', 'two']) {
    expect(gitText(join(project, 'workspace', name), ['fsck', '--strict'])).toBe('')
    expect(gitText(join(project, 'workspace', name), ['status', '--porcelain'])).toBe('')
  }
  expect(existsSync(join(root, 'git', 'stage'))).toBe(false)
  expect(readdirSync(join(cli.home, 'git/cache')).filter((name) => /lock|new/.test(name))).toEqual([])
  const ready = eventsOf(cli.home, id).filter(({ event }) => event.event_type === 'platform.git.ready')
  expect(ready).toHaveLength(1)
})

test('git prune removes what was not used for a while, and the next instance fetches it again', {
  timeout: 60_000,
}, async () => {
  upstream.create('org/one', { a: '1' })
  const asks = asksFor(['org/one'])
  const resolver = plainResolver(`me.finish({ status: 'completed' })`, {}, asks)
  const env = { RESOLVE_GIT_BASE_URL: upstream.base }
  await cli.run('resolver', 'add', resolver.dir)
  expect((await cli.with({ env }, 'run', resolver.name)).code).toBe(0)
  expect(JSON.parse((await cli.run('git', 'prune', '--json')).stdout)).toMatchObject({ removed: [], kept: 1 })
  const dry = await cli.run('git', 'prune', '--older-than', '0s', '--dry-run')
  expect(dry.stdout).toContain(upstream.urlOf('org/one'))
  expect(dry.stderr).toMatch(/^Would remove 1 repository \(/m)
  const pruned = await cli.run('git', 'prune', '--older-than', '0s', '--json')
  expect(JSON.parse(pruned.stdout)).toMatchObject({
    removed: [{ kind: 'repository', url: upstream.urlOf('org/one') }],
    kept: 0,
  })
  expect(readdirSync(join(cli.home, 'git/cache'))).toEqual([])
  expect((await cli.with({ env }, 'run', resolver.name)).code).toBe(0)
})
