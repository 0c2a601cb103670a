/** The built-in resolver `change`: the first commit of a new user, through the platform (docs/git.md). */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { root } from '../house/source-files.ts'
import { eachWithGitPlatform } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { until } from '../support/instances.ts'

let home: string
let platform: LocalPlatform
let upstream: GitUpstream

eachWithGitPlatform((made) => {
  ;({ home, platform, upstream } = made)
  upstream.create('org/app', { 'README.md': 'The gate is open.\nThe gate is old.\n', 'src/a.txt': 'a' })
})

async function change(input: Record<string, unknown>) {
  const { instance_id: id } = await platform.create({
    resolver: 'change',
    input: { repository: 'org/app', file: 'README.md', delivery_mode: 'commit', ...input },
  })
  const story = await until(home, id, ({ status }) => ['completed', 'failed'].includes(status))
  const root = instancePaths(home, id).project
  return { id, story, clone: join(root, 'workspace', 'app') }
}

test('it replaces a text, commits it on the working branch and leaves the patch', async () => {
  const { id, story, clone } = await change({ search: 'gate', replacement: 'door', title: 'Name the door' })
  expect(story.status, JSON.stringify(story.error)).toBe('completed')
  expect(readFileSync(join(clone, 'README.md'), 'utf8')).toBe('The door is open.\nThe door is old.\n')
  const branch = `resolve/app-${id.slice(0, 8)}`
  expect(gitText(clone, ['log', '-1', '--format=%s %D'])).toContain(`Name the door HEAD -> ${branch}`)
  expect(gitText(clone, ['status', '--porcelain'])).toBe('')
  expect(story.output).toMatch(new RegExp(`^Committed [0-9a-f]{10} on ${branch}: 2 places in README.md\\.`))
  expect(story.artifacts).toMatchObject([{ kind: 'file', value: 'change.patch' }])
  const patch = join(instancePaths(home, id).project, '.resolve/data/change.patch')
  // The patch fits the upstream: what a user does who has no git server.
  const theirs = join(home, 'theirs')
  execFileSync('git', ['clone', '--quiet', upstream.pathOf('org/app'), theirs], { stdio: 'pipe' })
  gitText(theirs, ['am', '--quiet', patch])
  expect(gitText(theirs, ['log', '-1', '--format=%s'])).toBe('Name the door')
})

test("the way of the README: a repository of this machine, its difference, and the work in a clone of one's own", async () => {
  const src = join(home, 'src')
  const app = join(src, 'app')
  execFileSync('git', ['clone', '--quiet', upstream.pathOf('org/app'), app], { stdio: 'pipe' })
  const cli = (...args: string[]) => {
    const env = { ...process.env, RESOLVE_HOME: home, RESOLVE_GIT_LOCAL: src, GIT_CONFIG_GLOBAL: '/dev/null' }
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'bin/run.js'), ...args], { env })
    return { status, words: `${stdout}${stderr}` }
  }
  const edit = ['-i', 'file=README.md', '-i', 'search=gate', '-i', 'replacement=door']
  const ran = cli('run', 'change', '-i', `repository=${app}`, ...edit)
  expect(ran, ran.words).toMatchObject({ status: 0 })
  expect(ran.words).toContain('resolve instance pull')
  expect(ran.words).not.toContain('promote')
  expect(cli('instance', 'diff', '@last').words).toContain('1 file, +2 -2')
  expect(cli('instance', 'pull', '@last', '--into', app, '--switch').status).toBe(0)
  expect(readFileSync(join(app, 'README.md'), 'utf8')).toBe('The door is open.\nThe door is old.\n')
  // The commit of the resolver, not a snapshot of its files.
  expect(gitText(app, ['log', '--format=%s', 'origin/main..HEAD'])).toBe('Change README.md')
  for (const place of [join(src, 'nowhere'), src]) {
    const wrong = cli('instance', 'pull', '@last', '--into', place)
    expect(wrong).toMatchObject({
      status: 2,
      words: expect.stringMatching(/(does not exist|is no clone)\. .*--into DIR/s),
    })
  }
  const missing = cli('run', 'change', '-i', `repository=${join(src, 'nowhere')}`, ...edit)
  expect(missing.words).toContain('it does not exist')
  expect(missing.words).not.toContain('export RESOLVE_GIT_LOCAL')
  const tilde = cli('run', 'change', '-i', 'repository=~/src/app', ...edit)
  expect(tilde.words).toContain('$HOME')
  expect(cli('instance', 'diff', '@last', 'README.md').words).toContain('--path README.md')
  const refused = cli('instance', 'promote', '@last')
  expect(refused).toMatchObject({ status: 5, words: expect.stringContaining('resolve instance pull') })
})

test('it appends a text on a line of its own', async () => {
  const { story, clone } = await change({ file: 'src/a.txt', edit: 'append', addition: 'b' })
  expect(story.status, JSON.stringify(story.error)).toBe('completed')
  expect(readFileSync(join(clone, 'src/a.txt'), 'utf8')).toBe('a\nb\n')
})

test('what can not be edited is told, and no file outside the clone is touched', async () => {
  const outside = join(home, 'outside.txt')
  writeFileSync(outside, 'gate')
  const link = join(home, 'link')
  execFileSync('git', ['clone', '--quiet', upstream.pathOf('org/app'), link], { stdio: 'pipe' })
  symlinkSync(outside, join(link, 'way-out'))
  gitText(link, ['add', '.'])
  gitText(link, ['commit', '--quiet', '-m', 'A link'])
  gitText(link, ['push', '--quiet', 'origin', 'HEAD:main'])
  const told = async (input: Record<string, unknown>) =>
    (await change({ search: 'gate', ...input })).story.error?.detail
  expect(await told({ search: 'window' })).toBe('README.md does not contain the text to replace')
  for (const file of ['no.txt', 'src', '../../../outside.txt', 'way-out', '.git/config'])
    expect(await told({ file }), file).toBe(`${file} is no file of the repository`)
  expect(readFileSync(outside, 'utf8')).toBe('gate')
  expect(existsSync(outside)).toBe(true)
})
