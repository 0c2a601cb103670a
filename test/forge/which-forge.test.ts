import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { ResolveError } from '../../src/core/errors.ts'
import { busyPause, ForgeHttp } from '../../src/core/forge/forge-http.ts'
import { credentialsFor } from '../../src/core/forge/forge-token.ts'
import { FORGES } from '../../src/core/forge/forges.ts'
import { gitSettings, hostOfToken } from '../../src/core/forge/git-settings.ts'
import { findForge } from '../../src/core/forge/which-forge.ts'
import { wordsOf } from '../../src/core/forge/words.ts'
import { openGitAccess } from '../../src/core/git/git-access.ts'
import { gitHosts } from '../../src/core/git/git-hosts.ts'
import { FORGE_NAMES, type ForgeName, gitUserOf } from '../../src/core/git/git-providers.ts'
import { DOUBLES } from '../support/forges/all.ts'
import { openDouble } from '../support/forges/double.ts'

const http = new ForgeHttp()
afterAll(() => http.close())

const none = gitSettings({})

// address, forge, api, git, owner
const PLACES: readonly [string, ForgeName, string, string, string][] = [
  ['https://github.com/o/r.git', 'github', 'https://api.github.com', 'https://github.com/o/r.git', 'o'],
  ['https://github.com/o/r', 'github', 'https://api.github.com', 'https://github.com/o/r.git', 'o'],
  ['git@github.com:o/r.git', 'github', 'https://api.github.com', 'https://github.com/o/r.git', 'o'],
  ['ssh://git@ssh.github.com:443/o/r.git', 'github', 'https://api.github.com', 'https://github.com/o/r.git', 'o'],
  ['https://acme.ghe.com/o/r', 'github', 'https://api.acme.ghe.com', 'https://acme.ghe.com/o/r.git', 'o'],
  ['https://gitlab.com/g/s/t/r.git', 'gitlab', 'https://gitlab.com/api/v4', 'https://gitlab.com/g/s/t/r.git', 'g/s/t'],
  ['https://codeberg.org/o/r', 'gitea', 'https://codeberg.org/api/v1', 'https://codeberg.org/o/r.git', 'o'],
  ['https://bitbucket.org/w/r', 'bitbucket', 'https://api.bitbucket.org/2.0', 'https://bitbucket.org/w/r.git', 'w'],
  ['https://dev.azure.com/o/p/_git/r', 'azure', 'https://dev.azure.com/o/p', 'https://dev.azure.com/o/p/_git/r', 'o/p'],
  ['https://dev.azure.com/o/_git/r', 'azure', 'https://dev.azure.com/o/r', 'https://dev.azure.com/o/r/_git/r', 'o/r'],
  [
    'git@ssh.dev.azure.com:v3/o/my%20p/r',
    'azure',
    'https://dev.azure.com/o/my%20p',
    'https://dev.azure.com/o/my%20p/_git/r',
    'o/my p',
  ],
  [
    'https://o.visualstudio.com/p/_git/r',
    'azure',
    'https://o.visualstudio.com/p',
    'https://o.visualstudio.com/p/_git/r',
    'p',
  ],
]
test.each(PLACES)('%s', async (address, forge, api, git, owner) => {
  expect(await findForge(address, none, http)).toMatchObject({ forge, api, git, owner })
})

// provider, base, address, api, git
const OWN: readonly [string, string, string, string, string][] = [
  // The address of an API is taken for the forge's.
  [
    'github',
    'https://api.github.com',
    'https://github.com/o/r',
    'https://api.github.com',
    'https://github.com/o/r.git',
  ],
  ['gitlab', 'https://acme.org/api/v4', 'https://acme.org/g/r', 'https://acme.org/api/v4', 'https://acme.org/g/r.git'],
  [
    'github',
    'https://ghe.acme.org',
    'https://ghe.acme.org/o/r',
    'https://ghe.acme.org/api/v3',
    'https://ghe.acme.org/o/r.git',
  ],
  [
    'gitlab',
    'https://acme.org/gitlab',
    'https://acme.org/gitlab/g/r.git',
    'https://acme.org/gitlab/api/v4',
    'https://acme.org/gitlab/g/r.git',
  ],
  [
    'forgejo',
    'https://acme.org:8443/',
    'https://acme.org:8443/o/r',
    'https://acme.org:8443/api/v1',
    'https://acme.org:8443/o/r.git',
  ],
  [
    'bitbucket-server',
    'https://b.acme.org/ctx',
    'https://b.acme.org/ctx/scm/~ada/r.git',
    'https://b.acme.org/ctx/rest/api/1.0',
    'https://b.acme.org/ctx/scm/~ada/r.git',
  ],
  [
    'azure-devops',
    'https://tfs.acme.org',
    'https://tfs.acme.org/c/p/_git/r',
    'https://tfs.acme.org/c/p',
    'https://tfs.acme.org/c/p/_git/r',
  ],
  // Workspaces that were cloned by ssh are promoted by https.
  [
    'gitea',
    'https://acme.org:8443',
    'ssh://git@acme.org:2222/o/r.git',
    'https://acme.org:8443/api/v1',
    'https://acme.org:8443/o/r.git',
  ],
]
test.each(OWN)('%s of %s: %s', async (provider, base, address, api, git) => {
  const settings = gitSettings({ RESOLVE_GIT_PROVIDER: provider, RESOLVE_GIT_BASE_URL: base })
  expect(await findForge(address, settings, http)).toMatchObject({ api, git })
})

test.each([
  'https://github.com/o',
  'https://github.com/o/r/tree/main',
  'https://github.com/o/..%2fr',
  'https://github.com/o/%2e%2e',
  'https://unknown.example/o/r',
  'file:///tmp/r',
  '/tmp/r',
  'https:///o/r',
  'https://dev.azure.com/o/p/r',
  '',
])('%j is of no known forge', async (address) => {
  const error = await findForge(address, none, http).catch((thrown: ResolveError) => thrown)
  expect(error).toMatchObject({ code: 'forge_unknown' })
})

test('another port of the own host is another server', async () => {
  const settings = gitSettings({ RESOLVE_GIT_PROVIDER: 'gitea', RESOLVE_GIT_BASE_URL: 'https://acme.org:8443' })
  await expect(findForge('https://acme.org/o/r', settings, http)).rejects.toMatchObject({ code: 'forge_unknown' })
})

test('a provider does not change what a known host is', async () => {
  const settings = gitSettings({ RESOLVE_GIT_PROVIDER: 'gitea' })
  expect(await findForge('https://github.com/o/r', settings, http)).toMatchObject({ forge: 'github' })
  expect(await findForge('https://git.acme.org/o/r', settings, http)).toMatchObject({ forge: 'gitea' })
})

test.each(['gitea', 'gitlab', 'bitbucket_server'] as const)(
  '%s on the own host is found by probes without the token',
  async (name) => {
    const { dialect, path } = DOUBLES[name]
    const double = await openDouble(dialect)
    const settings = gitSettings({ RESOLVE_GIT_BASE_URL: double.base, RESOLVE_GIT_HOST_TOKEN: 'secret' })
    expect(await findForge(`${double.base}${path}`, settings, http)).toMatchObject({ forge: name })
    expect(double.asked.every(({ headers }) => headers.authorization === undefined)).toBe(true)
    // Another host is not asked at all: its name came from a resolver.
    double.asked.length = 0
    await expect(findForge(`${double.base}${path}`, none, http)).rejects.toMatchObject({ code: 'forge_unknown' })
    expect(double.asked).toEqual([])
    await double.close()
  },
)

describe('tokens', () => {
  // verifies: R45-FORGE
  test('the token is for one host', async () => {
    expect(hostOfToken(gitSettings({}))).toBe('github.com')
    expect(hostOfToken(gitSettings({ RESOLVE_GIT_PROVIDER: 'gitlab' }))).toBe('gitlab.com')
    expect(hostOfToken(gitSettings({ RESOLVE_GIT_PROVIDER: 'gitea' }))).toBeUndefined()
    const settings = gitSettings({ RESOLVE_GIT_BASE_URL: 'https://git.acme.org', RESOLVE_GIT_HOST_TOKEN: 'x' })
    expect(hostOfToken(settings)).toBe('git.acme.org')
    const repo = await findForge('https://github.com/o/r', settings, http)
    expect(() => credentialsFor(repo, { settings })).toThrow('The token is for git.acme.org')
  })

  test.each(['', 'github', 'GitLab', 'gitea', 'forgejo', 'bitbucket', 'bitbucket-server', 'azure-devops'])(
    'a clone gives the token to the same host as a promotion: provider %j',
    async (provider) => {
      for (const base of ['', 'https://git.acme.org']) {
        const env = { RESOLVE_GIT_PROVIDER: provider, RESOLVE_GIT_BASE_URL: base }
        expect(gitHosts(env).forge.host).toBe(hostOfToken(gitSettings(env)) ?? '')
      }
    },
  )

  test('a provider without a public host, or one that is not known, sends the token nowhere', async () => {
    for (const provider of ['gitea', 'bitbucket_server', 'svn']) {
      const access = await openGitAccess(
        'https://github.com/o/r',
        gitHosts({ RESOLVE_GIT_PROVIDER: provider }),
        'secret',
      )
      expect(access.options.credentials).toBeUndefined()
      await access.close()
    }
  })

  test("a clone from Bitbucket splits a person's token into user and password, as a promotion does", async () => {
    const hosts = gitHosts({ RESOLVE_GIT_PROVIDER: 'bitbucket' })
    const access = await openGitAccess('https://bitbucket.org/o/r', hosts, 'ada:word')
    expect(access.options.credentials).toMatchObject({ username: 'ada', password: 'word' })
    await access.close()
  })

  test('settings that are wrong are named', () => {
    expect(() => gitSettings({ RESOLVE_GIT_PROVIDER: 'svn' })).toThrow('RESOLVE_GIT_PROVIDER=svn')
    for (const base of ['acme.org', 'ftp://acme.org', 'https://a:b@acme.org', 'https://acme.org/?q']) {
      expect(() => gitSettings({ RESOLVE_GIT_BASE_URL: base })).toThrow('RESOLVE_GIT_BASE_URL')
    }
  })

  test('a command gives the token; its failure names neither command nor output', async () => {
    const repo = await findForge('https://github.com/o/r', none, http)
    const good = credentialsFor(repo, { settings: { ...none, tokenCommand: 'echo abc' } })
    expect(await good.read()).toEqual({ secret: 'abc' })
    const bad = credentialsFor(repo, { settings: { ...none, tokenCommand: 'echo s3cret; exit 3' } })
    const error = (await bad.read().catch((thrown: ResolveError) => thrown)) as ResolveError
    expect(error).toMatchObject({ code: 'forge_auth_failed' })
    expect(error.message).toMatch(/exit code 3/)
    expect(error.message).not.toContain('s3cret')
  })

  test('a person at a terminal uses the credentials of their own git', async () => {
    const home = mkdtempSync(join(tmpdir(), 'forge-home-'))
    const helper = `!f() { cat > ${home}/asked; echo username=ada; echo password=to=ken; }; f`
    execFileSync('git', ['config', '--file', join(home, '.gitconfig'), 'credential.helper', helper])
    const [oldHome, oldGlobal] = [process.env['HOME'], process.env['GIT_CONFIG_GLOBAL']]
    process.env['HOME'] = home
    process.env['GIT_CONFIG_GLOBAL'] = join(home, '.gitconfig')
    try {
      const repo = await findForge('https://gitlab.com/g/r', none, http)
      expect(() => credentialsFor(repo, { settings: none })).toThrow('There is no token for it.')
      expect(await credentialsFor(repo, { settings: none, atTerminal: true }).read()).toEqual({
        user: 'ada',
        secret: 'to=ken',
      })
      writeFileSync(join(home, '.gitconfig'), '')
      const error = await credentialsFor(repo, { settings: none, atTerminal: true })
        .read()
        .catch((thrown: ResolveError) => thrown)
      expect(error).toMatchObject({ code: 'forge_auth_failed' })
    } finally {
      process.env['HOME'] = oldHome
      if (oldGlobal === undefined) delete process.env['GIT_CONFIG_GLOBAL']
      else process.env['GIT_CONFIG_GLOBAL'] = oldGlobal
    }
  })

  test('git gets the user name that each forge wants', () => {
    const users = FORGE_NAMES.map((name) => [name, gitUserOf(name, { secret: 'x' })])
    expect(Object.fromEntries(users)).toMatchObject({
      gitlab: 'oauth2',
      bitbucket: 'x-token-auth',
      github: 'x-access-token',
    })
    expect(gitUserOf('bitbucket', { user: 'ada@acme.org', secret: 'x' })).toBe('x-bitbucket-api-token-auth')
    expect(FORGES.bitbucket.headers({ user: 'ada', secret: 'x' })['authorization']).toBe(`Basic ${btoa('ada:x')}`)
  })
})

test.each([
  [
    { message: 'Validation Failed', errors: [{ message: 'No commits between a and b' }] },
    'Validation Failed No commits between a and b',
  ],
  [{ message: ['Another open merge request already exists'] }, 'Another open merge request already exists'],
  [{ message: { title: ['is too long', 'is bad'] } }, 'title is too long title is bad'],
  [{ error: 'invalid_token', error_description: 'Token was revoked.' }, 'invalid_token Token was revoked.'],
  [{ type: 'error', error: { message: 'Bad request', detail: 'more' } }, 'Bad request more'],
  [{ errors: [{ context: null, message: 'Only one', exceptionName: 'x' }] }, 'Only one'],
  [undefined, ''],
  [[1, 2], ''],
])('the words of %j', (body, words) => {
  expect(wordsOf(body, [])).toBe(words)
})

test('how long a forge asks to wait', () => {
  expect(busyPause(200, {}, '')).toBeUndefined()
  expect(busyPause(403, {}, 'Resource not accessible by integration')).toBeUndefined()
  expect(busyPause(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '130' }, '', 100_000)).toBe(30_000)
  expect(busyPause(403, { 'retry-after': '7' }, '')).toBe(7_000)
  expect(busyPause(403, {}, 'You have exceeded a secondary rate limit.')).toBe(60_000)
  expect(busyPause(429, { 'ratelimit-reset': '101' }, '', 100_000)).toBe(1_000)
})
