/** git against servers that mean harm: what the limits of run-git.ts and the way of git-access.ts stop (threats B6). */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openGitAccess } from '../../src/core/git/git-access.ts'
import { gitHosts } from '../../src/core/git/git-hosts.ts'
import { type GitEnd, type GitRun, runGit } from '../../src/core/git/run-git.ts'
import { whyGitFailed } from '../../src/core/git/why-git-failed.ts'
import { openUpstream } from '../support/git-upstream.ts'

const TOKEN = 'canary-token-of-the-operator'

function place(): string {
  const path = mkdtempSync(join(tmpdir(), 'hostile-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

async function serving(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Runs git with the way to `url` that an operator of the forge `base` has. */
async function reach(url: string, base: string, run: Partial<GitRun> = {}): Promise<GitEnd> {
  const access = await openGitAccess(url, gitHosts({ RESOLVE_GIT_BASE_URL: base }), TOKEN)
  const limits = { cwd: place(), deadline: Date.now() + 60_000, maxBytes: 50_000_000 }
  return await runGit({ args: ['ls-remote', url], ...limits, ...access.options, ...run }).finally(access.close)
}

const packet = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text

test('a server that sends references without an end ends git at its memory limit', async () => {
  const base = await serving((_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-advertisement' })
    response.write(`${packet('# service=git-upload-pack\n')}0000`)
    response.write(packet(`${'1'.repeat(40)} refs/heads/main\0multi_ack\n`))
    const one = packet(`${'1'.repeat(40)} refs/heads/${'x'.repeat(900)}\n`)
    const many = Buffer.from(one.repeat(4_000))
    const more = () => {
      if (!response.destroyed) response.write(many, more)
    }
    more()
  })
  const end = await reach(`${base}/org/repo.git`, base)
  expect(end).toMatchObject({ kind: 'failed' })
  expect(whyGitFailed(end.kind === 'failed' ? end.stderr : '')).toMatch(/more than git may hold in memory/)
}, 60_000)

test('a redirect is not followed, and the host that it names gets no token', async () => {
  const seen: (string | undefined)[] = []
  const other = await serving((request, response) => {
    seen.push(request.headers.authorization)
    response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end()
  })
  const base = await serving((request, response) => {
    response.writeHead(302, { Location: `${other}${request.url}` }).end()
  })
  const end = await reach(`${base}/org/repo.git`, base)
  expect(end).toMatchObject({ kind: 'failed', stderr: expect.stringContaining('302') })
  // A repository of another host is read without the token, and git gets none when it asks.
  expect(await reach(`${other}/org/repo.git`, base)).toMatchObject({ kind: 'failed' })
  expect(seen).toEqual([undefined])
})

test('the token reaches its own server, and stands in no argument, variable or address', async () => {
  const found: string[] = []
  let looked = 0
  const intercept = () => {
    looked += 1
    found.push(...processesWith(TOKEN))
    return false
  }
  const upstream = await openUpstream({ token: TOKEN, intercept })
  onTestFinished(() => upstream.close())
  const url = upstream.create('org/repo', { a: '1' })
  const end = await reach(url, upstream.base)
  expect(end).toMatchObject({ kind: 'done', stdout: expect.stringContaining('refs/heads/main') })
  // The first request is sent without it; git asks its helper after the refusal.
  expect(upstream.requests.map(({ authorization }) => authorization !== undefined)).toContain(true)
  expect(looked).toBeGreaterThan(1)
  expect(found).toEqual([])
})

function processesWith(text: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      const files = ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'latin1'))
      return /^\d+$/.test(pid) && files.join('').includes(text)
    } catch {
      return false
    }
  })
}

test('a name with a private address is not connected to', async () => {
  const end = await reach('https://localhost.localdomain:9/org/repo.git', 'https://git.example.org')
  expect(end).toMatchObject({ kind: 'failed', stderr: expect.stringMatching(/403|502|CONNECT/) })
  const access = await openGitAccess('https://localtest.invalid/x/y', gitHosts({}), TOKEN)
  expect(access.options.proxy).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(access.options.credentials).toBeUndefined()
  await access.close()
})

test('a server that sends bytes without an end is stopped at the size limit', async () => {
  const base = await serving((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-advertisement' })
      const ref = packet(`${'1'.repeat(40)} refs/heads/main\0side-band-64k ofs-delta object-format=sha1\n`)
      response.end(`${packet('# service=git-upload-pack\n')}0000${ref}0000`)
      return
    }
    response.writeHead(200, { 'Content-Type': 'application/x-git-upload-pack-result' })
    // A pack that says it has many objects, then one blob that has no end.
    const head = Buffer.from([0x50, 0x41, 0x43, 0x4b, 0, 0, 0, 2, 0, 15, 66, 64])
    const band = (bytes: Buffer) =>
      Buffer.concat([Buffer.from(`${(bytes.length + 5).toString(16).padStart(4, '0')}\u0001`), bytes])
    response.write(packet('NAK\n'))
    response.write(band(head))
    const stored = Buffer.alloc(60_000, 7)
    const begin = Buffer.from([0xbf, 0xff, 0xff, 0xff, 0x7f, 0x78, 0x01])
    response.write(band(begin))
    const more = () => {
      const block = Buffer.concat([Buffer.from([0, 0x60, 0xea, 0x9f, 0x15]), stored])
      if (!response.destroyed) response.write(band(block), more)
    }
    more()
  })
  const cwd = place()
  const options = { cwd, maxBytes: 20_000_000, deadline: Date.now() + 60_000 }
  await reach(base, base, { ...options, args: ['init', '--quiet', '--bare', '.'] })
  const end = await reach(`${base}/org/repo.git`, base, { ...options, args: ['fetch', `${base}/org/repo.git`, 'main'] })
  expect(end).toEqual({ kind: 'too-large' })
}, 60_000)

test('a server that says nothing is left at the deadline', async () => {
  const base = await serving(() => {})
  const end = await reach(`${base}/org/repo.git`, base, { deadline: Date.now() + 700 })
  expect(end).toEqual({ kind: 'timeout' })
})
