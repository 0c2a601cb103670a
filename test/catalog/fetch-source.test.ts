import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { fetchSource } from '../../src/core/git/fetch-source.ts'
import { gitEnvironment } from '../../src/core/git/git-environment.ts'
import { whyGitFailed } from '../../src/core/git/why-git-failed.ts'
import { repository, room, write } from './places.ts'

const target = () => join(room(), 'deeper', 'tree')

test('a branch, a tag, a commit, a shortened commit and the default branch are found (R5)', async () => {
  const origin = repository()
  const first = origin.publish({ 'a.txt': '1' })
  origin.git('tag', '-a', 'v1', '-m', 'first')
  const second = origin.publish({ 'a.txt': '2' })
  const third = origin.publish({ 'a.txt': '3' }, 'feature/x')
  const cases = [
    [null, second, '2'],
    ['main', second, '2'],
    ['v1', first, '1'],
    ['feature/x', third, '3'],
    [first, first, '1'],
    [first.slice(0, 9), first, '1'],
  ] as const
  for (const [ref, commit, content] of cases) {
    const into = target()
    expect(await fetchSource({ url: origin.url, ref, into }), String(ref)).toEqual({ commit })
    expect(readFileSync(join(into, 'a.txt'), 'utf8')).toBe(content)
    expect(readdirSync(into)).toEqual(['a.txt'])
    expect(readdirSync(join(into, '..'))).toEqual(['tree'])
  }
})

test('no link in a repository leads outside, and no hook of it runs (D12)', async () => {
  const origin = repository()
  const mark = join(room(), 'ran')
  symlinkSync('/etc/passwd', join(origin.work, 'link'))
  symlinkSync('/etc', join(origin.work, 'folder'))
  write(origin.work, {
    '.gitattributes': '* filter=evil\n*.bin filter=lfs\n',
    '.gitmodules': `[submodule "s"]\n\tpath = s\n\turl = ${origin.url}\n`,
    'big.bin': 'version https://git-lfs.github.com/spec/v1\n',
  })
  origin.publish({ 'hooks/post-checkout': `#!/bin/sh\ntouch ${mark}\n` })
  const into = target()
  await fetchSource({ url: origin.url, ref: null, into })
  for (const name of ['link', 'folder']) expect(lstatSync(join(into, name)).isFile(), name).toBe(true)
  expect(readFileSync(join(into, 'link'), 'utf8')).toBe('/etc/passwd')
  expect(existsSync(join(into, 'big.bin'))).toBe(true)
  expect(existsSync(mark)).toBe(false)
})

test('git settings and hooks of the user and of the machine are not used', async () => {
  const origin = repository()
  origin.publish({ 'a.txt': '1' })
  const home = room()
  const mark = join(home, 'ran')
  write(home, {
    '.gitconfig': `[init]\n\ttemplateDir = ${home}/template\n[core]\n\tsshCommand = touch ${mark}\n`,
    'template/hooks/post-checkout': `#!/bin/sh\ntouch ${mark}\n`,
  })
  execFileSync('chmod', ['+x', join(home, 'template/hooks/post-checkout')])
  const before = { ...process.env }
  Object.assign(process.env, {
    HOME: home,
    GIT_TEMPLATE_DIR: `${home}/template`,
    GIT_DIR: '/nowhere',
    GIT_EXEC_PATH: '/nowhere',
  })
  try {
    const { commit } = await fetchSource({ url: origin.url, ref: null, into: target() })
    expect(commit).toMatch(/^[0-9a-f]{40}$/)
  } finally {
    for (const name of ['HOME', 'GIT_TEMPLATE_DIR', 'GIT_DIR', 'GIT_EXEC_PATH']) {
      if (before[name] === undefined) delete process.env[name]
      else process.env[name] = before[name]
    }
  }
  expect(existsSync(mark)).toBe(false)
})

test('git gets an environment that is built from scratch', () => {
  const seen = gitEnvironment('https:ssh', {
    PATH: '/bin',
    HOME: '/home/ada',
    GIT_SSH_COMMAND: 'evil',
    LD_PRELOAD: 'x',
    RESOLVE_GIT_HOST_TOKEN: 's',
  })
  expect(Object.keys(seen).sort()).toMatchInlineSnapshot(`
    [
      "GIT_ALLOW_PROTOCOL",
      "GIT_ASKPASS",
      "GIT_ATTR_NOSYSTEM",
      "GIT_CONFIG_GLOBAL",
      "GIT_CONFIG_NOSYSTEM",
      "GIT_LFS_SKIP_SMUDGE",
      "GIT_NO_REPLACE_OBJECTS",
      "GIT_SSH_COMMAND",
      "GIT_TERMINAL_PROMPT",
      "LC_ALL",
      "PATH",
      "SSH_ASKPASS",
    ]
  `)
  expect(seen['GIT_SSH_COMMAND']).toMatch(/^ssh -oBatchMode=yes /)
})

test.each([
  [
    'a repository that is not there',
    () => `file://${room()}/none`,
    null,
    /does not appear to be a git repository|not exist/,
  ],
  ['a ref that is not there', () => withOneCommit(), 'nope', /couldn't find remote ref nope/],
  ['a commit that is not there', () => withOneCommit(), '0123456789abcdef0123456789abcdef01234567', /./],
  ['a transport git may not use', () => `ext::sh -c touch% ${room()}/x`, null, /not allowed/],
])('%s fails with the reason of git, and leaves nothing', async (_, url, ref, reason) => {
  const into = target()
  const failing = fetchSource({ url: url(), ref, into })
  await expect(failing).rejects.toMatchObject({ code: 'git_failed' })
  await expect(failing).rejects.toThrow(reason)
  expect(readdirSync(join(into, '..'))).toEqual([])
})

function withOneCommit(): string {
  const origin = repository()
  origin.publish({ 'a.txt': '1' })
  return origin.url
}

test('a repository over the size limit is refused', async () => {
  const origin = repository()
  origin.publish({ 'a.txt': 'x'.repeat(200_000) })
  const into = target()
  await expect(fetchSource({ url: origin.url, ref: null, into, maxBytes: 100_000 })).rejects.toThrow(
    /larger than 100000 bytes/,
  )
  expect(readdirSync(join(into, '..'))).toEqual([])
})

test('a fetch from a server that never answers ends at its limit, with git and its helper processes', async () => {
  const server = createServer(() => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as { port: number }
  const url = `https://127.0.0.1:${port}/x-${process.pid}`
  vi.stubEnv('RESOLVE_GIT_PRIVATE_HOSTS', '127.0.0.1')
  try {
    const into = target()
    await expect(fetchSource({ url, ref: null, into, limitMs: 1_500 })).rejects.toThrow(/longer than 1.5 s/)
    const calledOff = new AbortController()
    setTimeout(() => calledOff.abort(), 300)
    await expect(fetchSource({ url, ref: null, into, signal: calledOff.signal })).rejects.toThrow(/aborted/)
    // A process that was sent SIGKILL is gone a moment later.
    await expect.poll(() => runningWith(url)).toEqual([])
    expect(readdirSync(join(into, '..'))).toEqual([])
  } finally {
    vi.unstubAllEnvs()
    server.close()
  }
})

test('a host without a public address is not connected to, unless the operator names it', async () => {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.address() as { port: number }
  try {
    for (const host of ['127.0.0.1', 'localhost']) {
      const fetching = fetchSource({ url: `https://${host}:${port}/x/y`, ref: null, into: target() })
      await expect(fetching).rejects.toThrow(
        `${host} has no public address; the operator can name it in RESOLVE_GIT_PRIVATE_HOSTS.`,
      )
    }
    expect(connections).toBe(0)
    vi.stubEnv('RESOLVE_GIT_PRIVATE_HOSTS', 'localhost')
    await expect(fetchSource({ url: `https://localhost:${port}/x/y`, ref: null, into: target() })).rejects.toThrow(
      /TLS|SSL|gnutls/i,
    )
    expect(connections).toBeGreaterThan(0)
  } finally {
    vi.unstubAllEnvs()
    server.close()
  }
})

function runningWith(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })
}

test('without git the error says that git is missing', async () => {
  const before = process.env['PATH']
  process.env['PATH'] = room()
  try {
    await expect(fetchSource({ url: 'file:///x', ref: null, into: target() })).rejects.toMatchObject({
      code: 'git_missing',
    })
  } finally {
    process.env['PATH'] = before
  }
})

test('a git that is too old is named in the error', async () => {
  const before = process.env['PATH']
  const bin = room()
  writeFileSync(join(bin, 'git'), '#!/bin/sh\necho git version 2.30.1\n', { mode: 0o755 })
  process.env['PATH'] = bin
  try {
    await expect(fetchSource({ url: 'file:///x', ref: null, into: target() })).rejects.toThrow(
      /2\.30\.1 is older than 2\.38/,
    )
  } finally {
    process.env['PATH'] = before
  }
})

test('the reason is the line that says why, without secrets', () => {
  expect(whyGitFailed('Cloning…\nremote: hm\nfatal: repository not found\n')).toBe('repository not found.')
  expect(
    whyGitFailed(
      'git@x: Permission denied (publickey).\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n',
    ),
  ).toBe('git@x: Permission denied (publickey).')
  expect(whyGitFailed("fatal: unable to access 'https://user:s3cret@example.org/': no")).not.toContain('s3cret')
  expect(whyGitFailed('fatal: \u001b[31mred\u009b')).toBe('[31mred.')
  expect(whyGitFailed('')).toBe('the connection ended without a reason.')
})
