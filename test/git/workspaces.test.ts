/** Instances with a workspace: what their resolvers find, what is told of it, and how they fail (docs/git.md). */
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { instanceIds, instancePaths } from '../../src/core/store/home.ts'
import { filesWith } from '../support/files-with.ts'
import { eachWithGitPlatform } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

const TOKEN = 'canary-token-of-the-git-host'
const ENDS = `me.finish({ status: 'completed', output: JSON.stringify(me.config.workspace) })`

let home: string
let platform: LocalPlatform
let upstream: GitUpstream

eachWithGitPlatform(
  (made) => {
    ;({ home, platform, upstream } = made)
  },
  () => ({ token: TOKEN, env: { RESOLVE_GIT_PROVIDER: 'gitea' } }),
)

/** The spec is a JavaScript expression of `params` and `available_credentials`. */
async function added(spec: string, behaviour = ENDS, manifest = {}): Promise<void> {
  const asks = `me.on['resolver.getWorkspaceSpec'] = ({ params, available_credentials }) => (${spec})`
  await (await platform.catalog()).add(plainResolver(behaviour, manifest, asks).dir, { cwd: home })
}

async function run(input = {}) {
  const { instance_id: id } = await platform.create({ resolver: 'plain', input })
  const story = await until(home, id, ({ status }) => ['completed', 'failed', 'paused'].includes(status))
  return { id, story, clone: (name: string) => join(instancePaths(home, id).project, 'workspace', name) }
}

const GIVEN = 'params.spec'
const spec = (...repos: unknown[]) => ({ spec: { repos } })

test('the repositories of a workspace are there before the resolver runs (S-PLUG-04, S-DIR-09)', async () => {
  upstream.create('org/app', { 'src/a.txt': 'a\n', 'README.md': 'hi\n' })
  const dev = upstream.commit('org/app', { 'dev.txt': 'dev\n' }, 'dev')
  upstream.create('org/lib', { b: 'b\n' })
  await added(GIVEN)
  const { id, story, clone } = await run(
    spec({ url: 'org/app', branch: 'dev' }, { url: upstream.urlOf('org/lib'), branch: null }),
  )
  expect(story).toMatchObject({ status: 'completed' })
  const [working, other] = ['app', 'lib'].map((name) => `resolve/${name}-${id.slice(0, 8)}`)
  expect(JSON.parse(story.output as string)).toMatchObject([
    {
      repo: 'app',
      path: clone('app'),
      url: upstream.urlOf('org/app'),
      base: 'main',
      commit: dev,
      working_branch: working,
    },
    { repo: 'lib', path: clone('lib'), base: 'main', working_branch: other, remote: 'origin' },
  ])
  expect(readFileSync(join(clone('app'), 'dev.txt'), 'utf8')).toBe('dev\n')
  const app = (...args: string[]) => gitText(clone('app'), args)
  expect(app('branch', '--show-current')).toBe(working)
  expect(app('rev-parse', 'HEAD')).toBe(dev)
  expect(app('rev-parse', 'origin/dev')).toBe(dev)
  expect(app('status', '--porcelain')).toBe('')
  expect(readdirSync(join(clone('app'), '.git'))).not.toContain('hooks')
  expect(app('config', '--local', '--list').split('\n').sort()).toEqual([
    'core.bare=false',
    'core.filemode=true',
    'core.logallrefupdates=true',
    'core.repositoryformatversion=0',
    'push.autosetupremote=true',
    'remote.origin.fetch=+refs/heads/*:refs/remotes/origin/*',
    `remote.origin.url=${upstream.urlOf('org/app')}`,
    'user.email=resolve@localhost',
    'user.name=resolve',
  ])
  const told = eventsOf(home, id).map(({ event }) => event)
  const types = told.map(({ event_type }) => event_type).filter((type) => /setup|git\.ready|launched/.test(type))
  expect([types[0], ...types.slice(-3)]).toEqual([
    'platform.setup.starting',
    'platform.setup.completed',
    'platform.git.ready',
    'platform.worker.launched',
  ])
  expect(told.find(({ event_type }) => event_type === 'platform.git.ready')?.data).toMatchObject({
    repos: [
      { name: 'app', branch: 'dev', base: 'main', commit: dev, cached: false, lfs: 0, submodules: [] },
      { name: 'lib', branch: 'main', base: 'main', cached: false },
    ],
    server: null,
  })
  const done = told.filter(({ data }) => data['fraction'] === 1).map(({ data }) => data['description'])
  expect(done).toEqual(['Clone app', 'Clone lib'])
  // The token is in the config of the worker, and in no other file of the clone, the cache or the journal.
  for (const place of [join(home, 'git'), instancePaths(home, id).root]) expect(filesWith(place, [TOKEN])).toEqual([])
  expect(existsSync(join(instancePaths(home, id).root, 'git', 'stage'))).toBe(false)
})

test('a second instance transfers nothing, and shares no file with the cache or the first one', async () => {
  upstream.create('org/app', { a: 'a\n' })
  await added(GIVEN)
  const first = await run(spec({ url: 'org/app' }))
  const second = await run(spec({ url: `${upstream.base}/org/app` }))
  expect(first.story.repos?.[0]).toMatchObject({ cached: false })
  expect(second.story.repos?.[0]).toMatchObject({ cached: true })
  const objects = readdirSync(join(second.clone('app'), '.git/objects'), { recursive: true, encoding: 'utf8' })
  const files = objects
    .map((name) => statSync(join(second.clone('app'), '.git/objects', name)))
    .filter((one) => one.isFile())
  expect(files.length).toBeGreaterThan(0)
  expect(files.every(({ nlink }) => nlink === 1)).toBe(true)
  expect(existsSync(join(second.clone('app'), '.git/objects/info/alternates'))).toBe(false)
  // The upstream is asked each time: who may not read it any more gets nothing from the cache.
  vi.stubEnv('RESOLVE_GIT_HOST_TOKEN', 'revoked')
  expect((await run(spec({ url: 'org/app' }))).story).toMatchObject({
    status: 'failed',
    error: { code: 'repo_auth_failed' },
  })
})

test('a workspace begins at a tag, at a commit, or in an empty repository; links, LFS files and submodules are told', async () => {
  upstream.create('org/app', {
    '.gitattributes': '*.bin filter=lfs\n',
    'a.bin': 'version https://git-lfs.github.com/spec/v1\n',
  })
  upstream.git('org/app', 'tag', '-a', 'v1', '-m', 'one', 'main')
  const first = upstream.git('org/app', 'rev-parse', 'main')
  upstream.commit('org/app', { '.gitmodules': '[submodule "s"]\n\tpath = vendor/s\n\turl = ../s\n' })
  upstream.create('org/new')
  upstream.git('org/new', 'symbolic-ref', 'HEAD', 'refs/heads/trunk')
  await added(`({ ...${GIVEN}, working_branch: 'fix/it' })`)
  const { story, clone } = await run(
    spec({ url: 'org/app', branch: 'v1' }, { url: 'org/app', branch: first }, { url: 'org/app' }, { url: 'org/new' }),
  )
  expect(story.error).toBeNull()
  expect(story.repos).toMatchObject([
    { name: 'app', branch: 'v1', base: 'main', commit: first, lfs: 1, submodules: [] },
    { name: 'org-app', branch: null, base: 'main', commit: first },
    { name: 'app-2', branch: 'main', lfs: 1, submodules: ['vendor/s'] },
    { name: 'new', branch: 'trunk', base: 'trunk', commit: null },
  ])
  for (const name of ['app', 'org-app', 'app-2'])
    expect(gitText(clone(name), ['branch', '--show-current'])).toBe('fix/it')
  expect(gitText(clone('new'), ['symbolic-ref', 'HEAD'])).toBe('refs/heads/fix/it')
  expect(readFileSync(join(clone('app'), 'a.bin'), 'utf8')).toContain('git-lfs')
  const said = eventsOf(home, story.creation.instance_id).flatMap(({ event }) => event.data['output'] ?? [])
  expect(said).toContain('1 file is only a pointer to Git LFS; submodules stay empty: vendor/s')
  expect(said).toContain('the repository is empty')
})

test('a link in a repository stays a link, and a file below it is never written through it', async () => {
  upstream.create('org/app', { a: '1' })
  const path = upstream.pathOf('org/app')
  const blob = gitText(path, ['hash-object', '-w', '--stdin'], '/etc/passwd')
  gitText(path, ['update-index', '--add', '--cacheinfo', `120000,${blob},link`])
  const commit = gitText(path, ['commit-tree', gitText(path, ['write-tree']), '-p', 'main', '-m', 'link'])
  gitText(path, ['update-ref', 'refs/heads/main', commit])
  await added(GIVEN)
  const { clone } = await run(spec({ url: 'org/app' }))
  expect(lstatSync(join(clone('app'), 'link')).isSymbolicLink()).toBe(true)
  expect(gitText(clone('app'), ['status', '--porcelain'])).toBe('')
})

test.each([
  [
    'a branch that is not there',
    { url: 'org/app', branch: 'develp' },
    'repo_ref_missing',
    /"develp".*nearest names: develop/,
  ],
  ['a commit that is not there', { url: 'org/app', branch: '0'.repeat(40) }, 'repo_ref_missing', /000/],
  ['a repository that is not there', { url: 'org/none' }, /repo_auth_failed|repo_clone_failed/, /org\/none/],
])('%s ends the instance before a worker begins, and is told', async (_, repo, code, message) => {
  upstream.create('org/app', { a: '1' })
  upstream.commit('org/app', { b: '2' }, 'develop')
  await added(GIVEN)
  const { id, story } = await run(spec(repo))
  expect(story).toMatchObject({ status: 'failed', incarnation: 0, error: { code: expect.stringMatching(code) } })
  expect(story.error?.detail).toMatch(message)
  const failed = eventsOf(home, id).find(({ event }) => event.event_type === 'platform.setup.failed')
  expect(failed?.event.data).toMatchObject({ cause: 'repo_clone', error: story.error?.detail })
  expect(filesWith(home, [TOKEN])).toEqual([])
})

test('a resume clones nothing and changes nothing in the workspace', async () => {
  upstream.create('org/app', { a: '1' })
  const once = `if (!me.resume) { fs.writeFileSync(me.config.workspace[0].path + '/mine', 'x'); me.write('state.json', '{}'); me.finish({ status: 'paused' }) }
    else me.finish({ status: 'completed', output: me.config.workspace[0].working_branch })`
  await added(GIVEN, once, { supports_resume: true })
  const { id, clone } = await run(spec({ url: 'org/app' }))
  await until(home, id, ({ status }) => status === 'paused')
  await platform.resume(id)
  const story = await until(home, id, ({ status }) => status === 'completed')
  expect(story.output).toBe(`resolve/app-${id.slice(0, 8)}`)
  // It only looks whether the upstream has moved on (test/git/resumed.test.ts).
  const types = eventsOf(home, id).map(({ event }) => event.event_type)
  expect(types.filter((type) => /setup\.starting|git\.ready/.test(type))).toHaveLength(2)
  expect(gitText(clone('app'), ['rev-parse', 'origin/main'])).toBe(upstream.git('org/app', 'rev-parse', 'main'))
  expect(readFileSync(join(clone('app'), 'mine'), 'utf8')).toBe('x')
})

test('a workspace that is refused makes no instance and asks no server', async () => {
  await added(GIVEN)
  const create = (given: unknown) => platform.create({ resolver: 'plain', input: { spec: given } })
  const wrong: [unknown, RegExp][] = [
    [{ repos: 'org/app' }, /repos: it must be a list/],
    [{ repos: Array(9).fill({ url: 'org/app' }) }, /at most 8/],
    [{ repos: [{}] }, /needs a url/],
    [{ repos: [{ url: 'https://u:secret@example.org/a/b' }] }, /…@example.org\/a\/b: it has a user or a password/],
    [{ repos: [{ url: 'org/app', branch: '-x' }] }, /begins with "-"/],
    [{ repos: [{ url: 'org/app' }], working_branch: 'a..b' }, /working_branch a..b: it has dots/],
  ]
  for (const [given, message] of wrong) {
    await expect(create(given), JSON.stringify(given)).rejects.toMatchObject({
      code: 'repo_refused',
      message: expect.stringMatching(message),
    })
  }
  expect(instanceIds(home)).toEqual([])
  expect(upstream.requests).toEqual([])
})
