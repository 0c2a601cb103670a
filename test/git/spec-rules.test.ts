/** What a workspace spec may name: addresses, names, branches. Decided from the text alone. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { gitHosts } from '../../src/core/git/git-hosts.ts'
import { parseProgress, progressReporter } from '../../src/core/workspace/clone-progress.ts'
import { branchFault } from '../../src/core/workspace/ref-names.ts'
import { cacheKey } from '../../src/core/workspace/repo-cache.ts'
import { namesOf, planWorkspace } from '../../src/core/workspace/workspace-spec.ts'

function urlOf(url: string, env: NodeJS.ProcessEnv = {}): string {
  try {
    return planWorkspace({ repos: [{ url }] }, gitHosts(env), 'abcdef012345')?.repos[0]?.url ?? ''
  } catch (error) {
    return (error as Error).message.replace(/^.*made\. /, 'refused: ')
  }
}

const GITLAB = { RESOLVE_GIT_PROVIDER: 'gitlab', RESOLVE_GIT_BASE_URL: 'http://git.corp:8080/scm/api/v4' }

test.each([
  ['https://github.com/org/app', {}, 'https://github.com/org/app'],
  ['https://GitHub.com:443/org/app.git/', {}, 'https://github.com/org/app.git'],
  ['org/app', {}, 'https://github.com/org/app.git'],
  ['group/sub/app', GITLAB, 'http://git.corp:8080/scm/group/sub/app.git'],
  ['http://git.corp:8080/scm/a/b', GITLAB, 'http://git.corp:8080/scm/a/b'],
  ['https://git.corp/a/b', { RESOLVE_GIT_PRIVATE_HOSTS: 'git.corp' }, 'https://git.corp/a/b'],
  ['https://10.0.0.7/a/b', { RESOLVE_GIT_PRIVATE_HOSTS: '10.0.0.7' }, 'https://10.0.0.7/a/b'],
  ['git@github.com:org/app.git', { RESOLVE_GIT_SSH_HOSTS: 'github.com' }, 'git@github.com:org/app.git'],
  ['ssh://git@github.com:22/org/app', { RESOLVE_GIT_SSH_HOSTS: 'github.com' }, 'ssh://git@github.com:22/org/app'],
  ['https://github.com/org/app', { RESOLVE_GIT_ALLOW: 'github.com/org/*' }, 'https://github.com/org/app'],
])('the address %s is taken', (url, env, expected) => {
  expect(urlOf(url, env)).toBe(expected)
})

test.each([
  ['', {}],
  ['-x', {}],
  ['app', {}],
  ['org/app', { RESOLVE_GIT_PROVIDER: 'gitea' }],
  ['../app', {}],
  ['ext::sh -c x', {}],
  ['ext::x', {}],
  ['https:///org/app', {}],
  ['https://github.com', {}],
  ['https://github.com/', {}],
  ['https://github.com:0/a/b', {}],
  ['https://github.com:99999/a/b', {}],
  ['https://user:word@github.com/a/b', {}],
  ['https://github.com@evil.example/a/b', {}],
  ['https://github.com/a/b?x=1', {}],
  ['https://github.com/a/b#x', {}],
  ['https://github.com/a/../b', {}],
  ['https://github.com/a/%2e%2e/b', {}],
  ['https://github.com/a%2fb', {}],
  ['https://github.com/a/b%00', {}],
  ['https://github.com/a/.git', {}],
  ['https://github.com/a/x.lock', {}],
  ['https://github.com/a/b.git.git', {}],
  ['https://github.com/a/-b', {}],
  ['https://github.com/a b/c', {}],
  ['https://github.com/a\\b/c', {}],
  ['https://github.com/a/b\u202e', {}],
  ['http://github.com/a/b', {}],
  ['http://git.corp/a/b', GITLAB],
  ['https://localhost/a/b', {}],
  ['https://127.0.0.1/a/b', {}],
  ['https://2130706433/a/b', {}],
  ['https://0x7f000001/a/b', {}],
  ['https://[::1]/a/b', {}],
  ['https://metadata.google.internal/a/b', {}],
  ['git@github.com:org/app', {}],
  ['ssh://git@github.com/org/app', { RESOLVE_GIT_SSH_HOSTS: 'example.org' }],
  ['ssh://-oProxyCommand=x/org/app', { RESOLVE_GIT_SSH_HOSTS: '-oproxycommand=x' }],
  ['git@github.com:-x/app', { RESOLVE_GIT_SSH_HOSTS: 'github.com' }],
  ['git://github.com/a/b', {}],
  ['file:///etc/x', {}],
  ['/etc/x', {}],
  ['file://host/x', { RESOLVE_GIT_LOCAL: '/' }],
  ['https://github.com/other/app', { RESOLVE_GIT_ALLOW: 'github.com/org/*' }],
  ['https://github.com/orgs/app', { RESOLVE_GIT_ALLOW: 'github.com/org/*' }],
])('the address %j is refused with a sentence', (url, env) => {
  expect(urlOf(url, env)).toMatch(/^refused: .*: .{10,}\.$/s)
  expect(urlOf(url, env)).not.toContain('word@')
})

test('a path is taken only below a directory of the operator, after links', () => {
  const place = mkdtempSync(join(tmpdir(), 'local-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  for (const name of ['mine/app', 'others/app']) mkdirSync(join(place, name), { recursive: true })
  symlinkSync(join(place, 'others/app'), join(place, 'mine/link'))
  const env = { RESOLVE_GIT_LOCAL: join(place, 'mine') }
  expect(urlOf(join(place, 'mine/app'), env)).toMatch(/^file:\/\/.*\/mine\/app$/)
  expect(urlOf(`file://${place}/mine/app`, env)).toMatch(/^file:\/\//)
  for (const path of ['others/app', 'mine/link', 'mine/../others/app', 'mine', 'mine/none']) {
    expect(urlOf(join(place, path), env), path).toMatch(/^refused/)
    expect(urlOf(`file://${place}/${path}`, env), path).toMatch(/^refused/)
  }
})

test('every branch name that is taken is one for git too', () => {
  const names =
    'main a/b renovate/@types/node fix#1 ünder v1.0 a.b @ @{ a@{1 -x a..b .a a/.b a.lock a.lock/b a/ /a a//b a. a~1 a^ a:b a?b a*b [a a\\b HEAD refs/heads/a'
  const taken = [...names.split(' '), '', 'a b', 'a\tb', 'a\u007f', 'a\u200b', 'x'.repeat(300)].filter(
    (name) => branchFault(name) === null,
  )
  expect(taken).toEqual(['main', 'a/b', 'renovate/@types/node', 'fix#1', 'ünder', 'v1.0', 'a.b'])
  for (const name of taken) execFileSync('git', ['check-ref-format', `refs/heads/${name}`])
})

test('names of repositories differ also where case does not count', () => {
  const repos = ['App', 'app', 'APP', 'app'].map((name) => ({ name, owner: 'org' }))
  expect(namesOf(repos)).toEqual(['App', 'org-app', 'APP-2', 'app-3'])
})

test('a working branch is made from the name of the repository and the id, as a legal name', () => {
  const plan = planWorkspace({ repos: [{ url: 'org/a..b' }, { url: 'org/x' }] }, gitHosts({}), 'abcdef012345')
  expect(plan?.repos.map((repo) => repo.working_branch)).toEqual(['resolve/a.b-abcdef01', 'resolve/x-abcdef01'])
  expect(planWorkspace(null, gitHosts({}), 'abcdef012345')).toBeNull()
  expect(planWorkspace({ repos: [] }, gitHosts({}), 'abcdef012345')).toBeNull()
})

test('addresses of the same repository share a cache, and no others', () => {
  const keys = ['https://github.com/a/b', 'https://GITHUB.com/a/b.git', 'https://github.com/a/b/'].map(cacheKey)
  expect(new Set(keys).size).toBe(1)
  expect(cacheKey('https://github.com/a/B')).not.toBe(keys[0])
})

test('progress grows over the phases of a fetch, and is told once a second', () => {
  expect(parseProgress('remote: Counting objects: 50% (1/2)')).toEqual({ phase: 'Counting objects', fraction: 0.02 })
  expect(parseProgress('Receiving objects: 100% (9/9), 1 MiB | 2 MiB/s, done.')?.fraction).toBe(0.75)
  expect(parseProgress('remote: \u001b[31mhello: 50%')).toBeUndefined()
  const told: number[] = []
  let nowMs = 10_000
  const read = progressReporter(
    ({ fraction }) => told.push(fraction),
    () => nowMs,
  )
  for (const line of [
    'Receiving objects:  10% (1/9)',
    'Receiving objects:  20% (2/9)',
    'Receiving objects:  15% (2/9)',
  ])
    read(line)
  nowMs += 1_000
  read('Receiving objects:  60% (5/9)')
  expect(told).toEqual([0.12, 0.47])
})
