/** Git itself against the git server: clones, pushes, protocols, access, rules and limits. */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { commitFiles, gitIn, startGitServer } from '../support/git-server.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'resolve-git-test-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))
  return path
}

test('a repository is cloned and pushed with every version of the protocol', async () => {
  const server = await startGitServer()
  await server.addRepository('app')
  const at = folder()
  for (const version of ['0', '1', '2']) {
    const work = join(at, `v${version}`)
    await gitIn(at, '-c', `protocol.version=${version}`, 'clone', '--quiet', server.cloneUrl('app'), work)
    const commit = await commitFiles(work, { [`v${version}.txt`]: version }, `By version ${version}`)
    await gitIn(work, '-c', `protocol.version=${version}`, 'push', '--quiet', 'origin', 'HEAD:main')
    expect(await gitIn(at, 'ls-remote', server.cloneUrl('app'), 'refs/heads/main')).toContain(commit)
  }
})

test('shallow and partial clones work, and an empty repository gives an unborn branch', async () => {
  const server = await startGitServer()
  await server.addRepository('app', { 'a.txt': 'a\n' })
  await server.host('POST', '/host/repositories', { name: 'empty', default_branch: 'trunk' })
  const at = folder()
  const first = join(at, 'first')
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('app'), first)
  await commitFiles(first, { 'a.txt': 'b\n' }, 'Second')
  await gitIn(first, 'push', '--quiet')
  await gitIn(at, 'clone', '--quiet', '--depth=1', server.cloneUrl('app'), 'shallow')
  expect(await gitIn(join(at, 'shallow'), 'rev-list', '--count', 'HEAD')).toBe('1')
  await gitIn(at, 'clone', '--quiet', '--filter=blob:none', '--no-checkout', server.cloneUrl('app'), 'partial')
  expect(await gitIn(join(at, 'partial'), 'show', 'HEAD~1:a.txt')).toBe('a')
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('empty'), 'empty')
  expect(await gitIn(join(at, 'empty'), 'symbolic-ref', 'HEAD')).toBe('refs/heads/trunk')
})

test('a push of 100 MB arrives whole', async () => {
  const server = await startGitServer()
  await server.addRepository('app')
  const at = folder()
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('app'), 'work')
  const work = join(at, 'work')
  writeFileSync(join(work, 'large.bin'), randomBytes(100 * 1024 * 1024))
  const commit = await commitFiles(work, {}, 'Large')
  await gitIn(work, 'push', '--quiet', 'origin', 'HEAD:main')
  expect(await gitIn(join(server.repos, 'app.git'), 'rev-parse', 'main')).toBe(commit)
  await gitIn(join(server.repos, 'app.git'), 'fsck', '--connectivity-only')
}, 60_000)

test('only the token of the instance opens it, in each form that clients send', async () => {
  const server = await startGitServer()
  await server.addRepository('app')
  const url = `${server.baseUrl}/api/v1/user`
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  const { token } = server
  for (const authorization of [`token ${token}`, `Bearer ${token}`, basic(`any:${token}`), basic(`${token}:`)]) {
    expect((await fetch(url, { headers: { authorization } })).status).toBe(200)
  }
  for (const authorization of ['', 'token other', basic(`${token}:other`), basic('no-colon'), 'Digest x']) {
    const response = await fetch(url, { headers: { authorization } })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Basic realm="Gitea"')
    expect(await response.json()).toEqual({ message: 'token is required', url: `${server.baseUrl}/api/swagger` })
  }
  const at = folder()
  await expect(gitIn(at, 'ls-remote', `${server.baseUrl}/admin/app.git`)).rejects.toThrow(/could not read Username/)
  await expect(gitIn(at, 'ls-remote', server.cloneUrl('app').replace(token, 'other'))).rejects.toThrow(/Authentication/)
  expect((await fetch(`${server.baseUrl}/api/v1/version`)).status).toBe(200)
  expect((await fetch(`${server.baseUrl}/api/healthz`)).status).toBe(200)
  // What the host asks for is not at the worker's door.
  expect((await fetch(`${server.baseUrl}/host/health`, { headers: { authorization: `token ${token}` } })).status).toBe(
    404,
  )
})

test('paths outside the known repositories are not found, whatever they are', async () => {
  const server = await startGitServer()
  await server.addRepository('app')
  const paths = [
    '/admin/other.git/info/refs?service=git-upload-pack',
    '/admin/..%2f..%2fetc.git/info/refs?service=git-upload-pack',
    '/admin/a%2fb.git/info/refs?service=git-upload-pack',
    '/admin/.git/info/refs?service=git-upload-pack',
    '/admin/app.git/HEAD',
    '/admin/app.git/config',
    '/admin/app.git/objects/info/packs',
    '/admin/app.git/info/refs',
    '/admin/app.git/info/refs?service=git-upload-archive',
    '/admin/app.git/../app.git/info/refs?service=git-upload-pack',
  ]
  for (const path of paths) {
    const response = await fetch(server.baseUrl + path, { headers: { authorization: `token ${server.token}` } })
    const isNormalised = path.includes('/../')
    expect({ path, status: response.status }).toEqual({ path, status: isNormalised ? 200 : 404 })
  }
  for (const name of ['.git', '..', 'a/b', 'a%2fb', '-x', 'x.git', 'x.lock', '', 'a'.repeat(101)]) {
    expect((await server.host('POST', '/host/repositories', { name })).status).toBe(422)
  }
  expect(readdirSync(server.repos)).toEqual(['app.git'])
})

test('refs of the server alone and names that are no refs are refused with a sentence', async () => {
  const server = await startGitServer()
  await server.addRepository('app')
  const at = folder()
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('app'), 'work')
  const work = join(at, 'work')
  await commitFiles(work, { 'b.txt': 'b' }, 'Next')
  for (const ref of ['refs/pull/1/head', 'refs/upstream/heads/main']) {
    await expect(gitIn(work, 'push', 'origin', `HEAD:${ref}`)).rejects.toThrow(/git server alone|hidden ref/)
  }
  for (const ref of ['refs/heads/@', 'refs/heads/HEAD', 'refs/heads/refs/heads/x', 'refs/heads/-x']) {
    await expect(gitIn(work, 'push', 'origin', `HEAD:${ref}`)).rejects.toThrow(/not the name of a ref/)
  }
  // Pipelines push to the base itself.
  await gitIn(work, 'push', '--quiet', 'origin', 'HEAD:main', 'HEAD:refs/tags/v1')
  const hidden = await gitIn(join(server.repos, 'app.git'), 'for-each-ref', '--format=%(refname)')
  expect(hidden.split('\n')).toEqual(['refs/heads/main', 'refs/tags/v1'])
})

test('a push over the limit of the instance is refused, and leaves nothing', async () => {
  const server = await startGitServer()
  await server.addRepository('app')
  const at = folder()
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('app'), 'work')
  const work = join(at, 'work')
  await commitFiles(work, { 'b.txt': 'b' }, 'Next')
  // A sparse file: it counts as its length and takes no space.
  const large = join(server.repos, 'app.git', 'large')
  writeFileSync(large, '')
  truncateSync(large, 3 * 1024 ** 3)
  await expect(gitIn(work, 'push', 'origin', 'HEAD:main')).rejects.toThrow(/507: .*the limit is/)
  rmSync(large)
  expect(readdirSync(join(server.repos, 'app.git', 'objects')).filter((name) => name.startsWith('tmp'))).toEqual([])
  await gitIn(work, 'push', '--quiet', 'origin', 'HEAD:main')
})

test('a client that breaks off leaves no process and no half push', async () => {
  const server = await startGitServer()
  await server.addRepository('app')
  const stop = new AbortController()
  const headers = {
    authorization: `token ${server.token}`,
    'content-type': 'application/x-git-receive-pack-request',
  }
  const endless = new ReadableStream<Uint8Array>({
    async pull(controller) {
      controller.enqueue(new Uint8Array(64 * 1024).fill(48))
      await new Promise((resolve) => setTimeout(resolve, 5))
    },
  })
  const push = fetch(`${server.baseUrl}/admin/app.git/git-receive-pack`, {
    method: 'POST',
    headers,
    body: endless,
    duplex: 'half',
    signal: stop.signal,
  } as RequestInit)
  push.catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 100))
  stop.abort()
  await expect.poll(() => childrenOf(server.pid)).toEqual([])
  expect(existsSync(join(server.repos, 'app.git'))).toBe(true)
})

test('fifty clones at once all succeed', async () => {
  const server = await startGitServer()
  await server.addRepository('app', { 'a.txt': 'a'.repeat(100_000) })
  const at = folder()
  const names = Array.from({ length: 50 }, (_, number) => `clone-${number}`)
  await Promise.all(names.map((name) => gitIn(at, 'clone', '--quiet', '--bare', server.cloneUrl('app'), name)))
  expect(readdirSync(at)).toHaveLength(50)
}, 60_000)

test('a tag of a file is pushed and moved, and told', async () => {
  const server = await startGitServer()
  await server.addRepository('app', { 'a.txt': 'a\n' })
  const at = folder()
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('app'), 'work')
  const work = join(at, 'work')
  await gitIn(work, 'tag', 'file', 'HEAD:a.txt')
  await gitIn(work, 'push', '--quiet', 'origin', 'file')
  await gitIn(work, 'tag', '-f', 'file', 'HEAD')
  await gitIn(work, 'push', '--quiet', '--force', 'origin', 'file')
  expect(await gitIn(at, 'ls-remote', server.cloneUrl('app'), 'refs/tags/file')).toContain('refs/tags/file')
})

function childrenOf(pid: number): string[] {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === String(pid)
    } catch {
      return false
    }
  })
}
