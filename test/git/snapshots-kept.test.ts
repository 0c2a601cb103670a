/** When snapshots are taken: in which order at the end of a run, and that a host which is killed around one neither loses nor repeats it. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FAILPOINTS } from '../../src/core/failpoints.ts'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import type { Home } from '../commands/cli.ts'
import { asksFor, eachWithGitHome, IN_CLONE } from '../support/git-setting.ts'
import { type GitUpstream, gitText, openUpstream } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let cli: Home
let upstream: GitUpstream
eachWithGitHome((made) => {
  ;({ cli, upstream } = made)
})

const TOOLS = `${IN_CLONE}  // Until the host's repository has a snapshot of the phase: a phase is told, and only then the next one changes the clone.
  const kept = clone + '/../../../git/app.git/refs/snapshots/'
  const phase = async (name, seq) => {
    me.emit('resolver:phase', { name })
    while (!fs.existsSync(kept + seq)) await sleep(20)
  }
`

async function added(behaviour: string, hasServer = false, manifest: Record<string, unknown> = {}): Promise<string> {
  upstream.create('org/app', { a: '1\n' })
  const asks = asksFor(['org/app'], { git_server: hasServer })
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

test('work that went back after a push is kept on top of the push (S-DIR-15-SNAPSHOT)', async () => {
  const name = await added(
    `sh('echo 2 >> a')
    await phase('first', 1)
    sh('git commit -qam Work && echo 3 >> a && git commit -qam More && git push -q origin HEAD && git checkout -q HEAD^ -- a')
    me.finish({ status: 'completed' })`,
    true,
  )
  expect((await cli.with({ env: env() }, 'run', name)).code).toBe(0)
  const [id = ''] = instanceIds(cli.home)
  expect(gitText(bareOf(id), ['log', '--format=%s', 'refs/start..refs/snapshots/2'])).toBe(
    'Snapshot 2: end\nMore\nWork',
  )
  expect(gitText(bareOf(id), ['show', 'refs/snapshots/2:a'])).toBe('1\n2')
})

test('a clone that needs a token names the setting, in run and in explain', async () => {
  const name = await added(`me.finish({ status: 'completed' })`)
  const closed = await openUpstream({ token: 'sesame' })
  closed.create('org/app', { a: '1\n' })
  const ran = await cli.with({ env: { RESOLVE_GIT_BASE_URL: closed.base } }, 'run', name)
  await closed.close()
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('Set RESOLVE_GIT_HOST_TOKEN') })
  expect((await cli.run('instance', 'explain', '@last')).stdout).toContain('Set RESOLVE_GIT_HOST_TOKEN')
})

test('a clone that the resolver removed is told, and the run completes (reliability F41)', async () => {
  const name = await added(`fs.rmSync(clone, { recursive: true })
    me.finish({ status: 'completed' })`)
  expect((await cli.with({ env: env() }, 'run', name)).code).toBe(0)
  const [id = ''] = instanceIds(cli.home)
  const warnings = eventsOf(cli.home, id).filter(({ event }) => event.data['kind'] === 'snapshot_failed')
  expect(warnings.map(({ event }) => event.data['detail'])).toEqual([expect.stringContaining('its clone was removed')])
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
