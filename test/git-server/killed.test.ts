/** A git server that is killed while it is pushed to or merges: what it acknowledged stays, and nothing hinders the next push. */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isLeftover } from '../../src/git-server/repository/sweep.ts'
import { commitFiles, gitIn, startGitServer, TEST_GIT_ENVIRONMENT } from '../support/git-server.ts'

const KILLS = process.env['RESOLVE_SOAK'] === '1' ? 20 : 6

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'resolve-git-killed-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))
  return path
}

test(`killed ${KILLS} times in mid-push, it keeps what it acknowledged and takes the next push`, async () => {
  const at = folder()
  const state = join(at, 'state')
  mkdirSync(state)
  let server = await startGitServer({ state })
  await server.addRepository('app')
  const work = join(at, 'work')
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('app'), work)
  const bare = join(server.repos, 'app.git')
  let leftovers = 0
  for (let kill = 0; kill < KILLS; kill += 1) {
    writeFileSync(join(work, 'large.bin'), randomBytes(2 * 1024 * 1024))
    const commit = await commitFiles(work, {}, `Push ${kill}`)
    const push = pushTo(work, server.cloneUrl('app'))
    // At another moment each time: when the connection opens, in the middle of the objects, while the ref moves.
    const isLate = kill % 2 === 0
    await Promise.race([
      push,
      isLate ? appearsIn(bare) : new Promise((resolve) => setTimeout(resolve, (kill % 6) * 40)),
    ])
    await server.kill()
    const isAcknowledged = await push
    leftovers += leftoversIn(bare).length
    server = await startGitServer({ state })
    expect(leftoversIn(bare)).toEqual([])
    const tip = await gitIn(bare, 'rev-parse', 'main')
    if (isAcknowledged) expect(tip).toBe(commit)
    await gitIn(work, 'push', '--quiet', server.cloneUrl('app'), 'HEAD:main')
    expect(await gitIn(bare, 'rev-parse', 'main')).toBe(commit)
  }
  await gitIn(bare, 'fsck', '--connectivity-only')
  // Otherwise the kills came too early or too late to show anything.
  expect(leftovers).toBeGreaterThan(0)
}, 180_000)

test('stale locks and refs of unanswered requests are removed at the start', async () => {
  const at = folder()
  let server = await startGitServer({ state: at })
  await server.addRepository('app')
  await server.kill()
  const bare = join(server.repos, 'app.git')
  for (const lock of ['packed-refs.lock', 'HEAD.lock', 'refs/heads/main.lock']) writeFileSync(join(bare, lock), '')
  mkdirSync(join(bare, 'objects', 'tmp_objdir-incoming-abc123', 'pack'), { recursive: true })
  writeFileSync(join(bare, 'objects', 'pack', 'tmp_pack_abc123'), 'half')
  await gitIn(bare, 'update-ref', 'refs/for/main', 'main')
  server = await startGitServer({ state: at })
  expect(leftoversIn(bare)).toEqual([])
  expect(await gitIn(bare, 'for-each-ref', 'refs/for')).toBe('')
})

test('a git process that a killed server left is ended before the sweep', async () => {
  const at = folder()
  let server = await startGitServer({ state: at })
  await server.addRepository('app')
  await server.kill()
  // It waits for its input, as one does whose push is half done.
  const left = spawn('git', ['cat-file', '--batch'], {
    cwd: join(server.repos, 'app.git'),
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = new Promise((resolve) => left.once('exit', (_, signal) => resolve(signal)))
  await new Promise((resolve) => left.once('spawn', resolve))
  server = await startGitServer({ state: at })
  expect(await ended).toBe('SIGKILL')
  expect((await server.api('GET', '/repos/admin/app')).status).toBe(200)
})

test('a line that a kill cut short is forgotten, and a merge that it interrupted is settled', async () => {
  const at = folder()
  let server = await startGitServer({ state: at })
  await server.addRepository('app')
  const work = join(at, 'work')
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('app'), work)
  const [base, head] = [await gitIn(work, 'rev-parse', 'HEAD'), await commitFiles(work, { 'a.txt': 'a' }, 'A')]
  await gitIn(work, 'push', '--quiet', server.cloneUrl('app'), 'HEAD:work')
  for (const [number, title] of [
    [1, 'Moved'],
    [2, 'Not moved'],
  ] as const) {
    if (number === 2) await server.api('PATCH', '/repos/admin/app/pulls/1', { state: 'closed' })
    const opened = await server.api('POST', '/repos/admin/app/pulls', { head: 'work', base: 'main', title })
    expect(opened).toMatchObject({ status: 201, body: { number } })
  }
  await server.kill()
  // As the server writes it before it moves the base; of the second merge nothing but this line was done.
  const lines = join(at, 'pulls.jsonl')
  const other = await gitIn(work, 'commit-tree', `${head}^{tree}`, '-p', base, '-m', 'Another')
  for (const [number, commit] of [
    [1, head],
    [2, other],
  ] as const) {
    const about = { repo: 'app', number, style: 'merge', commit, head_commit: head, base_commit: base }
    appendFileSync(lines, `${JSON.stringify({ kind: 'merging', at: new Date().toISOString(), ...about })}\n`)
  }
  appendFileSync(lines, '{"kind":"opened","repo":"app","num')
  await gitIn(join(server.repos, 'app.git'), 'update-ref', 'refs/heads/main', head)
  server = await startGitServer({ state: at })
  expect((await server.api('GET', '/repos/admin/app/pulls/1')).body).toMatchObject({ merged: true, state: 'closed' })
  expect((await server.api('GET', '/repos/admin/app/pulls/2')).body).toMatchObject({ merged: false, state: 'open' })
  const kept = readFileSync(lines, 'utf8').trimEnd().split('\n')
  expect(kept.map((line) => (JSON.parse(line) as { kind: string }).kind).at(-1)).toBe('merged')
})

test('a second server on the same directory does not start', async () => {
  const first = await startGitServer()
  await expect(startGitServer({ state: first.state })).rejects.toThrow(/another one runs/)
  expect((await first.api('GET', '/user')).status).toBe(200)
  expect(await first.stop()).toBe(0)
})

async function pushTo(work: string, url: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  execFile('git', ['push', '--quiet', url, 'HEAD:main'], { cwd: work, env: TEST_GIT_ENVIRONMENT }, (error) =>
    resolve(error === null),
  )
  return await promise
}

async function appearsIn(bare: string): Promise<void> {
  const deadline = Date.now() + 10_000
  while (leftoversIn(bare).length === 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 2))
}

function leftoversIn(bare: string): string[] {
  const names = readdirSync(bare, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => isLeftover(name))
}
