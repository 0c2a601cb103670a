/** When snapshots are taken: in which order at the end of a run, and that a host which is killed around one neither loses nor repeats it. */
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FAILPOINTS } from '../../src/core/failpoints.ts'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import { type Home, newHome } from '../commands/cli.ts'
import { type GitUpstream, gitText, openUpstream } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let cli: Home
let upstream: GitUpstream
beforeEach(async () => {
  cli = newHome()
  upstream = await openUpstream()
})
afterEach(async () => {
  await cli.end()
  await upstream.close()
})

const TOOLS = `const { execFileSync } = await import('node:child_process')
  const [{ path: clone, working_branch: branch }] = me.config.workspace
  const sh = (line) => execFileSync('/bin/sh', ['-ec', line], { cwd: clone, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
  // Until the host's repository has a snapshot of the phase: a phase is told, and only then the next one changes the clone.
  const kept = clone + '/../../../git/app.git/refs/snapshots/'
  const phase = async (name, seq) => {
    me.emit('resolver:phase', { name })
    while (!fs.existsSync(kept + seq)) await sleep(20)
  }
`

async function added(behaviour: string, hasServer = false, manifest: Record<string, unknown> = {}): Promise<string> {
  upstream.create('org/app', { a: '1\n' })
  const asks = `me.on['resolver.getWorkspaceSpec'] = () => ({ repos: [{ url: 'org/app' }], git_server: ${hasServer} })`
  const resolver = plainResolver(TOOLS + behaviour, manifest, asks)
  expect((await cli.run('resolver', 'add', resolver.dir)).code).toBe(0)
  return resolver.name
}

const env = () => ({ RESOLVE_GIT_BASE_URL: upstream.base })
const bareOf = (id: string) => join(instancePaths(cli.home, id).git, 'app.git')

/** What the journal tells of snapshots, and what the repository has of them: `seq cause`. */
function snapshotsOf(id: string): { told: string[]; kept: string[] } {
  const told = eventsOf(cli.home, id)
    .filter(({ event }) => event.event_type === 'platform.git.snapshot')
    .map(({ event: { data } }) => `${data['commit']} Snapshot ${data['seq']}: ${data['cause']}`)
  const format = '--format=%(objectname) %(subject)'
  const kept = gitText(bareOf(id), ['for-each-ref', '--sort=v:refname', format, 'refs/snapshots']).split('\n')
  return { told, kept }
}

test('the last push is fetched, then the last snapshot is made on top of it, then the end is told (S-DIR-15-SNAPSHOT)', async () => {
  const name = await added(
    `sh('echo 2 >> a && git commit -qam Work && git push -q origin HEAD && echo 3 >> a')
    me.finish({ status: 'completed' })`,
    true,
  )
  expect((await cli.with({ env: env() }, 'run', name)).code).toBe(0)
  const [id = ''] = instanceIds(cli.home)
  const events = eventsOf(cli.home, id).map(({ event }) => event)
  const order = events.map(({ event_type: type, data }) => (data['to'] === 'completed' ? 'completed' : type))
  const [pushed, snapshot, completed] = ['platform.git.pushed', 'platform.git.snapshot', 'completed'].map((type) =>
    order.lastIndexOf(type),
  )
  expect([pushed, snapshot, completed].every((at) => at !== -1)).toBe(true)
  expect([pushed, snapshot, completed]).toEqual([pushed, snapshot, completed].toSorted((a = 0, b = 0) => a - b))
  expect(order.at(-1)).toBe('completed')
  expect(events[snapshot ?? -1]?.data['cause']).toBe('end')
  const bare = bareOf(id)
  expect(gitText(bare, ['log', '--format=%s', 'refs/start..refs/snapshots/1'])).toBe('Snapshot 1: end\nWork')
  expect(gitText(bare, ['show', 'refs/snapshots/1:a'])).toBe('1\n2\n3')
  expect(gitText(bare, ['show', `refs/heads/resolve/app-${id.slice(0, 8)}:a`])).toBe('1\n2')
})

// verifies: S-DIR-15-SNAPSHOT
test('a pause leaves a snapshot, and so do the phases after the resume', async () => {
  const name = await added(
    `if (!me.resume) {
      sh('echo 2 >> a')
      await phase('first', 1)
      sh('echo 3 >> a')
      me.emit('test:waits')
      await me.stopped
      me.finish({ status: 'paused', checkpoint: {} })
      return
    }
    sh('echo 4 >> a')
    await phase('second', 3)
    me.finish({ status: 'completed' })`,
    false,
    { supports_resume: true },
  )
  expect((await cli.with({ env: env() }, 'run', name, '--detach')).code).toBe(0)
  const [id = ''] = instanceIds(cli.home)
  await expect
    .poll(() => eventsOf(cli.home, id).some(({ event }) => event.event_type === 'test:waits'), { timeout: 20_000 })
    .toBe(true)
  expect((await cli.run('instance', 'pause', id)).code).toBe(0)
  await until(cli.home, id, ({ status }) => status === 'paused')
  expect((await cli.run('instance', 'diff', id)).stdout).toContain('+2 -0')
  expect((await cli.with({ env: env() }, 'instance', 'resume', id)).code).toBe(0)
  const { told, kept } = snapshotsOf(id)
  expect(told).toEqual(kept)
  expect(told.map((line) => line.split(': ')[1])).toEqual(['phase first', 'pause', 'phase second'])
})

const steps = FAILPOINTS.filter((name) => name.startsWith('snapshot.'))

test.each([...steps, ...steps.map((step) => `${step}@2`), 'end.drained', 'end.preserved'])(
  'a host killed at %s neither loses nor repeats a snapshot (reliability F40)',
  { timeout: 60_000 },
  async (step) => {
    const name = await added(
      `sh('echo 2 >> a')
      await phase('first', 1)
      sh('echo 3 >> a')
      me.finish({ status: 'completed' })`,
    )
    const killed = await cli.with({ env: { ...env(), RESOLVE_FAILPOINTS: `${step}=kill` } }, 'run', name)
    expect(killed.code).toBeNull()
    const watch = await cli.with({ env: env() }, 'instance', 'watch', '@last', '--json')
    expect(JSON.parse(watch.stdout)).toMatchObject({ status: 'completed' })
    const [id = ''] = instanceIds(cli.home)
    const { told, kept } = snapshotsOf(id)
    expect(told).toEqual(kept)
    expect(told.map((line) => line.split(': ')[1])).toEqual(['phase first', 'end'])
    expect(gitText(bareOf(id), ['show', 'refs/snapshots/2:a'])).toBe('1\n2\n3')
    const order = eventsOf(cli.home, id).map(({ event }) => event.event_type)
    expect(order.lastIndexOf('platform.git.snapshot')).toBeLessThan(
      order.lastIndexOf('platform.instance.status_changed'),
    )
  },
)
