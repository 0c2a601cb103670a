/** Snapshots of a workspace in a container: a container of its own reads it, and nothing of this machine gets into them (docs/git.md, Seeing the work). */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import type { Home } from '../commands/cli.ts'
import { containersOf, describeWithDocker, removeContainersOf, testImage } from '../support/docker.ts'
import { asksFor, eachWithGitHome } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
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

async function added(behaviour: string): Promise<string> {
  upstream.create('org/app', { a: '1\n' })
  const asks = asksFor(['org/app'])
  const clone = 'const clone = me.config.workspace[0].path\n'
  const resolver = plainResolver(clone + behaviour, { container: { network: 'none' } }, asks)
  chmodSync(resolver.dir, 0o755)
  expect((await cli.run('resolver', 'add', resolver.dir, '--no-prepare')).code).toBe(0)
  return resolver.name
}

const env = () => ({ RESOLVE_GIT_BASE_URL: upstream.base })
const diffOf = async (id: string) =>
  JSON.parse((await cli.run('instance', 'diff', id, '--patch', '--json')).stdout).diff

describeWithDocker('snapshots of a workspace in a container', { timeout: 120_000 }, () => {
  test('are taken at a phase, for a reader and at the end, without a container that stays', async () => {
    const name = await added(`
      fs.appendFileSync(clone + '/a', '2\\n'); fs.writeFileSync(clone + '/new', 'x')
      me.emit('resolver:phase', { name: 'first' })
      await me.ask('go', 'Go on?')
      fs.appendFileSync(clone + '/a', '3\\n')
      me.finish({ status: 'completed' })`)
    expect((await cli.with({ env: env() }, 'run', name, '--executor', 'docker', '--detach')).code).toBe(0)
    const [id = ''] = instanceIds(cli.home)
    const story = await until(
      cli.home,
      id,
      ({ requests, snapshots = [] }) => requests.length === 1 && snapshots.length === 1,
      60_000,
    )
    expect(story.snapshots).toMatchObject([{ repo: 'app', seq: 1, cause: 'phase first' }])
    expect(await diffOf(id)).toMatchObject({ head: { live: true }, files_total: 2, additions: 2 })
    expect((await cli.run('instance', 'answer', id, 'go')).code).toBe(0)
    await until(cli.home, id, ({ status }) => status === 'completed', 60_000)
    const diff = await diffOf(id)
    expect(diff).toMatchObject({ head: { live: false, snapshot: 2 }, files_total: 2, additions: 3, skipped: [] })
    const bare = join(instancePaths(cli.home, id).git, 'app.git')
    expect(gitText(bare, ['show', 'refs/snapshots/2:a'])).toBe('1\n2\n3')
    expect(gitText(bare, ['fsck', '--strict'])).not.toMatch(/missing|error|broken/)
    expect(await containersOf(id)).toEqual([])
  })

  test('hold nothing of this machine where the clone or the workspace is a link', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'canary-'))
    mkdirSync(join(outside, 'app'))
    writeFileSync(join(outside, 'app', 'canary'), 'canary of the host')
    chmodSync(outside, 0o755)
    const name = await added(`
      const workspace = clone.replace(/.app$/, '')
      if (me.params.what === 'clone') { fs.rmSync(clone, { recursive: true }); fs.symlinkSync(me.params.outside + '/app', clone) }
      else { fs.renameSync(workspace, workspace + '-moved'); fs.symlinkSync(me.params.outside, workspace) }
      me.finish({ status: 'completed' })`)
    try {
      for (const what of ['clone', 'workspace']) {
        const input = ['-i', `what=${what}`, '-i', `outside=${outside}`]
        const run = await cli.with({ env: env() }, 'run', name, '--executor', 'docker', '--json', ...input)
        const { status, error, instance_id: id } = JSON.parse(run.stdout)
        expect({ status, error }).toEqual({ status: 'completed', error: null })
        const told = eventsOf(cli.home, id).filter(({ event }) => event.event_type === 'platform.git.snapshot')
        expect(told).toEqual([])
        expect((await cli.run('instance', 'diff', id)).code).not.toBe(0)
      }
    } finally {
      rmSync(outside, { recursive: true, force: true })
    }
  })
})
