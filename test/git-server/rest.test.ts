/** The REST API of the git server, asked by a client that this project did not write: gitea-js. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { giteaApi } from 'gitea-js'
import { expect, onTestFinished, test } from 'vitest'
import { commitFiles, gitIn, startGitServer } from '../support/git-server.ts'

async function served(files: Readonly<Record<string, string>> = { 'README.md': '# app\n', 'src/a.txt': 'a\n' }) {
  const server = await startGitServer()
  await server.addRepository('app', files)
  const at = mkdtempSync(join(tmpdir(), 'resolve-git-rest-'))
  onTestFinished(() => rmSync(at, { recursive: true, force: true }))
  const work = join(at, 'app')
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('app'), work)
  const pushed = async (branch: string, changed: Readonly<Record<string, string>>, message = `On ${branch}`) => {
    await gitIn(work, 'switch', '-q', '-C', branch, 'origin/main')
    const commit = await commitFiles(work, changed, message)
    await gitIn(work, 'push', '-q', 'origin', `HEAD:refs/heads/${branch}`)
    return commit
  }
  // With a slash at its end the client doubles it.
  const client = giteaApi(`${server.baseUrl}/`, { token: server.token, customFetch: fetch })
  return { server, client, work, pushed }
}

/** The client throws its response. */
async function statusOf(call: Promise<unknown>): Promise<number> {
  try {
    return ((await call) as { status: number }).status
  } catch (response) {
    return (response as Response).status
  }
}

test('server, user and repositories', async () => {
  const { server, client } = await served()
  expect((await client.version.getVersion()).data).toEqual({ version: '1.24.0' })
  expect((await client.user.userGetCurrent()).data).toMatchObject({ login: 'admin', is_admin: true, id: 1 })
  expect((await client.users.userGet('admin')).data.login).toBe('admin')
  expect(await statusOf(client.users.userGet('other'))).toBe(404)
  expect(await statusOf(client.orgs.orgGet('any'))).toBe(404)
  const { data } = await client.repos.repoGet('admin', 'app')
  expect(data).toMatchObject({
    full_name: 'admin/app',
    clone_url: `${server.baseUrl}/admin/app.git`,
    default_branch: 'main',
    empty: false,
    archived: false,
    mirror: false,
    has_issues: false,
    has_pull_requests: true,
    permissions: { admin: true, push: true, pull: true },
    default_merge_style: 'merge',
  })
  expect((await client.repos.repoSearch({ q: 'ap' })).data.data).toMatchObject([{ name: 'app' }])
  expect((await client.user.userCurrentListRepos()).data).toHaveLength(1)
  expect(await statusOf(client.repos.repoGet('admin', 'other'))).toBe(404)
  expect(await statusOf(client.user.createCurrentUserRepo({ name: 'new' }))).toBe(403)
})

test('branches, commits, comparisons, trees and files', async () => {
  const { server, client, pushed } = await served()
  const commit = await pushed('renovate/ms-2.x', { 'src/b c.txt': 'b\n' })
  expect((await client.repos.repoListBranches('admin', 'app')).data.map(({ name }) => name)).toEqual([
    'main',
    'renovate/ms-2.x',
  ])
  expect((await client.repos.repoGetBranch('admin', 'app', 'renovate/ms-2.x')).data).toMatchObject({
    name: 'renovate/ms-2.x',
    commit: { id: commit, message: 'On renovate/ms-2.x\n' },
    protected: false,
  })
  const made = await client.repos.repoCreateBranch('admin', 'app', { new_branch_name: 'x/y', old_branch_name: 'main' })
  expect(made.status).toBe(201)
  const again = client.repos.repoCreateBranch('admin', 'app', { new_branch_name: 'x/y' })
  expect(await statusOf(again)).toBe(409)
  expect(await statusOf(client.repos.repoDeleteBranch('admin', 'app', 'x/y'))).toBe(204)
  expect(await statusOf(client.repos.repoGetBranch('admin', 'app', 'x/y'))).toBe(404)
  expect(await statusOf(client.repos.repoDeleteBranch('admin', 'app', 'main'))).toBe(403)
  const commits = await client.repos.repoGetAllCommits('admin', 'app', { sha: 'renovate/ms-2.x', limit: 1 })
  expect(commits.data).toMatchObject([{ sha: commit, commit: { author: { name: 'Ada' } } }])
  expect(commits.headers.get('x-total-count')).toBe('2')
  expect(commits.headers.get('link')).toMatch(/&page=2>; rel="next"/)
  expect((await client.repos.repoGetSingleCommit('admin', 'app', commit)).data).toMatchObject({
    files: [{ filename: 'src/b c.txt', status: 'added' }],
    stats: { additions: 1, deletions: 0, total: 1 },
  })
  const compared = (await client.repos.repoCompareDiff('admin', 'app', 'main...renovate/ms-2.x')).data
  expect(compared).toMatchObject({ total_commits: 1, commits: [{ sha: commit }] })
  const tree = (await client.repos.getTree('admin', 'app', commit, { recursive: true })).data
  expect(tree.tree?.map(({ path }) => path)).toEqual(['README.md', 'src', 'src/a.txt', 'src/b c.txt'])
  const { data: file } = await client.repos.repoGetContents('admin', 'app', 'src/b c.txt', { ref: 'renovate/ms-2.x' })
  expect(file).toMatchObject({ type: 'file', encoding: 'base64', content: 'Ygo=', last_commit_sha: commit, size: 2 })
  expect((await client.repos.getBlob('admin', 'app', file.sha ?? '')).data.content).toBe('Ygo=')
  const list = (await client.repos.repoGetContentsList('admin', 'app')).data
  expect(list.map(({ name, type }) => [name, type])).toEqual([
    ['README.md', 'file'],
    ['src', 'dir'],
  ])
  const raw = await client.repos.repoGetRawFile('admin', 'app', 'README.md', {}, { format: 'text' })
  expect(raw.data).toBe('# app\n')
  for (const path of ['none.json', '..%2fapp.git%2fconfig', 'src%2f..%2fREADME.md', 'src/%00'])
    expect((await server.api('GET', `/repos/admin/app/contents/${path}`)).status).toBe(404)
})

test('a pull request is opened, found, changed and merged in each style', async () => {
  const { server, client, pushed } = await served()
  const styles = ['merge', 'squash', 'rebase', 'fast-forward-only'] as const
  for (const [at, style] of styles.entries()) {
    const number = at + 1
    const head = `work/${style}`
    // Fast forward needs a head on top of the base.
    await pushed(head, { [`${style}.txt`]: `${style}\n` })
    if (style === 'fast-forward-only') await client.repos.repoGetBranch('admin', 'app', 'main')
    const wish = { head, base: 'main', title: `By ${style}`, body: 'Why' }
    const opened = await client.repos.repoCreatePullRequest('admin', 'app', wish)
    expect(opened.status).toBe(201)
    expect(opened.data).toMatchObject({ number, state: 'open', merged: false, mergeable: true, changed_files: 1 })
    const twice = await server.api('POST', '/repos/admin/app/pulls', wish)
    expect(twice.status).toBe(409)
    expect(twice.body).toMatchObject({
      message: expect.stringMatching(
        new RegExp(`^pull request already exists for these targets \\[id: ${number}, issue_id: ${number}, `),
      ),
    })
    expect((await client.repos.repoGetPullRequestByBaseHead('admin', 'app', 'main', head)).data.number).toBe(number)
    const edited = await client.repos.repoEditPullRequest('admin', 'app', number, { title: `Now by ${style}` })
    expect(edited.status).toBe(201)
    expect(await statusOf(client.repos.repoPullRequestIsMerged('admin', 'app', number))).toBe(404)
    if (style === 'fast-forward-only') {
      const early = client.repos.repoMergePullRequest('admin', 'app', number, { Do: style })
      expect(await statusOf(early)).toBe(409)
      await client.repos.repoUpdatePullRequest('admin', 'app', number, { style: 'rebase' })
    }
    const stale = { Do: style, head_commit_id: '1'.repeat(40) }
    expect(await statusOf(client.repos.repoMergePullRequest('admin', 'app', number, stale))).toBe(409)
    const merged = await client.repos.repoMergePullRequest('admin', 'app', number, {
      Do: style,
      delete_branch_after_merge: true,
    })
    expect(merged.status).toBe(200)
    expect(await statusOf(client.repos.repoPullRequestIsMerged('admin', 'app', number))).toBe(204)
    const { data } = await client.repos.repoGetPullRequest('admin', 'app', number)
    expect(data).toMatchObject({ state: 'closed', merged: true, title: `Now by ${style}` })
    expect((await client.repos.repoGetBranch('admin', 'app', 'main')).data.commit?.id).toBe(data.merge_commit_sha)
    expect(await statusOf(client.repos.repoGetBranch('admin', 'app', head))).toBe(404)
    expect(await statusOf(client.repos.repoMergePullRequest('admin', 'app', number, { Do: style }))).toBe(405)
    expect(await statusOf(client.repos.repoEditPullRequest('admin', 'app', number, { state: 'open' }))).toBe(412)
  }
  const log = await gitIn(join(server.repos, 'app.git'), 'log', '--topo-order', '--format=%an %s', 'main')
  expect(log.split('\n')).toEqual([
    'Ada On work/fast-forward-only',
    'Ada On work/rebase',
    'Ada Now by squash (#2)',
    "admin Merge pull request 'Now by merge' (#1) from work/merge into main",
    'Ada On work/merge',
    'Ada Begin',
  ])
  const lists = await Promise.all(
    (['open', 'closed', 'all'] as const).map((state) =>
      client.repos.repoListPullRequests('admin', 'app', { state, sort: 'recentupdate' }),
    ),
  )
  expect(lists.map(({ data }) => data.map(({ number }) => number))).toEqual([[], [4, 3, 2, 1], [4, 3, 2, 1]])
}, 60_000)

test('conflicts, drafts and wrong wishes are refused as Gitea refuses them', async () => {
  const { server, client, pushed } = await served()
  await pushed('one', { 'src/a.txt': 'one\n' })
  await pushed('two', { 'src/a.txt': 'two\n' })
  for (const head of ['one', 'two']) {
    await client.repos.repoCreatePullRequest('admin', 'app', { head, base: 'main', title: `WIP: ${head}` })
  }
  const draft = client.repos.repoMergePullRequest('admin', 'app', 1, { Do: 'merge' })
  expect(await statusOf(draft)).toBe(405)
  for (const number of [1, 2])
    await client.repos.repoEditPullRequest('admin', 'app', number, { title: `Take ${number}` })
  await client.repos.repoMergePullRequest('admin', 'app', 1, { Do: 'squash' })
  expect((await client.repos.repoGetPullRequest('admin', 'app', 2)).data).toMatchObject({
    mergeable: false,
    draft: false,
  })
  for (const Do of ['merge', 'squash', 'rebase'] as const) {
    const answer = await server.api('POST', '/repos/admin/app/pulls/2/merge', { Do })
    expect(answer).toMatchObject({ status: 409, body: { message: 'merge conflict in src/a.txt' } })
  }
  const wishes = [
    [{ head: 'none', base: 'main', title: 'T' }, 404],
    [{ head: 'two', base: 'none', title: 'T' }, 404],
    [{ head: 'main', base: 'main', title: 'T' }, 422],
    [{ head: 'two', base: 'main', title: 'T'.repeat(256) }, 422],
    [{ head: 'two', base: 'main', title: 'T', body: 'b'.repeat(64 * 1024 + 1) }, 422],
    [{ head: 'a..b', base: 'main', title: 'T' }, 422],
    [{ head: '-x', base: 'main', title: 'T' }, 422],
    [{ head: '@', base: 'main', title: 'T' }, 422],
    [{ head: 'two', base: 'main' }, 422],
    [['a list'], 422],
  ] as const
  for (const [wish, status] of wishes) {
    const answer = await server.api('POST', '/repos/admin/app/pulls', wish)
    expect({ wish, status: answer.status }).toEqual({ wish, status })
  }
  expect((await server.api('POST', '/repos/admin/app/pulls', { title: 'x'.repeat(1024 * 1024) })).status).toBe(413)
  expect((await server.api('POST', '/repos/admin/app/pulls/2/merge', { Do: 'manually-merged' })).status).toBe(405)
})

test('diff, patch, files and commits of a pull request', async () => {
  const { server, client, pushed } = await served()
  const commit = await pushed('work', { 'src/a.txt': 'a\nb\n', 'new.txt': 'n\n' })
  await client.repos.repoCreatePullRequest('admin', 'app', { head: 'work', base: 'main', title: 'T' })
  const files = (await client.repos.repoGetPullRequestFiles('admin', 'app', 1)).data
  expect(files).toMatchObject([
    { filename: 'new.txt', status: 'added', additions: 1, deletions: 0 },
    { filename: 'src/a.txt', status: 'changed', additions: 1, deletions: 0 },
  ])
  expect((await client.repos.repoGetPullRequestCommits('admin', 'app', 1)).data).toMatchObject([{ sha: commit }])
  for (const kind of ['diff', 'patch'] as const) {
    const { data } = await client.repos.repoDownloadPullDiffOrPatch('admin', 'app', 1, kind, {}, { format: 'text' })
    expect(data).toContain('+++ b/new.txt')
    const headers = { authorization: `token ${server.token}` }
    expect(await (await fetch(`${server.baseUrl}/admin/app/pulls/1.${kind}`, { headers })).text()).toBe(data)
  }
})

test('comments, labels and statuses', async () => {
  const { client, pushed } = await served()
  const commit = await pushed('work', { 'new.txt': 'n\n' })
  const label = (await client.repos.issueCreateLabel('admin', 'app', { name: 'bot', color: '#00ff00' })).data
  expect((await client.repos.issueListLabels('admin', 'app')).data).toMatchObject([{ name: 'bot', color: '00ff00' }])
  const wish = { head: 'work', base: 'main', title: 'T', labels: [label.id ?? 0] }
  expect((await client.repos.repoCreatePullRequest('admin', 'app', wish)).data.labels).toMatchObject([{ name: 'bot' }])
  expect((await client.repos.issueReplaceLabels('admin', 'app', 1, { labels: [] })).data).toEqual([])
  expect((await client.repos.issueGetLabels('admin', 'app', 1)).data).toEqual([])
  const made = await client.repos.issueCreateComment('admin', 'app', 1, { body: 'First' })
  expect(made.status).toBe(201)
  const id = made.data.id ?? 0
  expect((await client.repos.issueEditComment('admin', 'app', id, { body: 'Second' })).data.body).toBe('Second')
  expect((await client.repos.issueGetComments('admin', 'app', 1)).data).toMatchObject([{ id, body: 'Second' }])
  expect(await statusOf(client.repos.issueDeleteComment('admin', 'app', id))).toBe(204)
  expect((await client.repos.issueGetComments('admin', 'app', 1)).data).toEqual([])
  for (const state of ['pending', 'success'] as const) {
    const status = await client.repos.repoCreateStatus('admin', 'app', commit, { state, context: 'ci' })
    expect(status.status).toBe(201)
  }
  const listed = (await client.repos.repoListStatusesByRef('admin', 'app', 'work')).data
  expect(listed.map(({ status }) => status)).toEqual(['success', 'pending'])
  const combined = (await client.repos.repoGetCombinedStatusByRef('admin', 'app', commit)).data
  expect(combined).toMatchObject({ state: 'success', total_count: 1, sha: commit })
})

test('a pull request closes with its branch, and the feed tells everything from an offset on', async () => {
  const { server, client, pushed } = await served()
  await pushed('work', { 'new.txt': 'n\n' })
  await client.repos.repoCreatePullRequest('admin', 'app', { head: 'work', base: 'main', title: 'T' })
  await client.repos.repoDeleteBranch('admin', 'app', 'work')
  expect((await client.repos.repoGetPullRequest('admin', 'app', 1)).data).toMatchObject({
    state: 'closed',
    merged: false,
  })
  const lines: { kind: unknown; next: number }[] = []
  for await (const { kind, next, line } of server.feed()) {
    if (kind === 'line') lines.push({ kind: (line as { kind: string }).kind, next: Number(next) })
    if (lines.length === 2) break
  }
  expect(lines.map(({ kind }) => kind)).toEqual(['opened', 'updated'])
  const later = server.feed(lines[0]?.next)
  const seen: unknown[] = []
  let isPushed = false
  for await (const notice of later) {
    if (notice['kind'] === 'line') seen.push((notice['line'] as { kind: string }).kind)
    if (notice['kind'] === 'push') {
      expect(notice).toMatchObject({ repo: 'app', ref: 'refs/heads/again', from: null, forced: false })
      break
    }
    if (seen.length === 1 && !isPushed) {
      isPushed = true
      await pushed('again', { 'again.txt': 'x' })
    }
  }
  expect(seen).toEqual(['updated'])
})

test('a promotion is held until the host answers, also where it is asked twice', async () => {
  const { server } = await served()
  const ask = async (branch: string) => {
    const response = await fetch(`${server.baseUrl}/internal/instances/any/repos/app/promote/pr`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ pr_title: 'T', pr_body: 'B', branch, target_branch: 'main' }),
    })
    return { status: response.status, body: await response.json() }
  }
  const asked = Promise.all([ask('one'), ask('one'), ask('two')])
  const refusal = { status: 409, body: { error: 'promotion_not_requested', message: 'Promotion was not requested' } }
  const done = { status: 200, body: { success: true, pr_url: 'https://forge.example/pull/7' } }
  const host = (async () => {
    // Whether the second request still finds the first one waiting is a matter of time: the host answers each notice.
    for await (const notice of server.feed()) {
      if (notice['kind'] !== 'promotion') continue
      const { branch } = notice['request'] as { branch: string }
      await server.host('POST', `/host/promotions/${notice['id']}`, branch === 'one' ? done : refusal)
    }
  })()
  expect(await asked).toEqual([done, done, refusal])
  expect((await server.host('POST', '/host/promotions/none', done)).status).toBe(404)
  await server.stop()
  await host
})
