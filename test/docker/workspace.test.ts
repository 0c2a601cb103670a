/** A workspace in a container: the clone is the worker's own, also where the resolver could be asked only after its setup (R48). */
import { chmodSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import type { Home } from '../commands/cli.ts'
import { describeWithDocker, removeContainersOf, testImage } from '../support/docker.ts'
import { asksFor, eachWithGitHome } from '../support/git-setting.ts'
import type { GitUpstream } from '../support/git-upstream.ts'
import { eventsOf } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

process.env['RESOLVE_WORKER_IMAGE'] = testImage()

let cli: Home
let upstream: GitUpstream
eachWithGitHome(
  (made) => {
    ;({ cli, upstream } = made)
  },
  undefined,
  removeContainersOf,
)

/** Commits with the git of the image, where it has one. */
const WORKS = `const [{ path, working_branch }] = me.config.workspace
  const { execFileSync } = await import('node:child_process')
  fs.writeFileSync(path + '/new', 'x')
  let made = 'no git'
  try {
    const git = (...args) => execFileSync('git', args, { cwd: path, encoding: 'utf8' }).trim()
    git('add', '-A'); git('commit', '-qm', 'Work'); made = git('branch', '--show-current') === working_branch ? 'committed' : 'lost'
  } catch (error) { if (error.code !== 'ENOENT') made = String(error.stderr || error) }
  me.finish({ status: 'completed', output: [path, me.config.working_directory === path, fs.statSync(path + '/a').uid === process.getuid(), made].join(' ') })`

describeWithDocker('a workspace in a container', { timeout: 120_000 }, () => {
  test.each([
    ['whose resolver is prepared', {}],
    ['whose resolver is asked after its setup', { setup_commands: ['touch /opt/made'] }],
  ])('%s is at /project/workspace, and the worker owns it (S-DIR-09)', async (_, container) => {
    upstream.create('org/app', { a: '1', 'deep/b': '2' })
    const asks = asksFor(['org/app'])
    const resolver = plainResolver(WORKS, { container }, asks)
    chmodSync(resolver.dir, 0o755)
    const env = { RESOLVE_GIT_BASE_URL: upstream.base }
    expect((await cli.run('resolver', 'add', resolver.dir, '--no-prepare')).code).toBe(0)
    const run = await cli.with({ env }, 'run', resolver.name, '--executor', 'docker', '--json')
    const { status, output, error } = JSON.parse(run.stdout)
    expect({ status, error }).toEqual({ status: 'completed', error: null })
    expect(output).toMatch(/^\/project\/workspace\/app true true (committed|no git)$/)
    const [id = ''] = instanceIds(cli.home)
    const clone = join(instancePaths(cli.home, id).project, 'workspace/app')
    expect(lstatSync(join(clone, 'deep/b')).uid).toBe(lstatSync(clone).uid)
    const types = eventsOf(cli.home, id).map(({ event }) => event.event_type)
    expect(types.indexOf('platform.git.ready')).toBeLessThan(types.indexOf('platform.container.creating'))
  })
})
