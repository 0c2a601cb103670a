/** The doubles are driven by clients that others wrote, so that the tests of our own client rest on more than our reading of the APIs. */
import { createRequire } from 'node:module'
import { Gitlab } from '@gitbeaker/rest'
import { Octokit } from '@octokit/rest'
import { getBearerHandler, getPersonalAccessTokenHandler, WebApi } from 'azure-devops-node-api'
import { giteaApi } from 'gitea-js'
import { afterEach, expect, test } from 'vitest'
import { DOUBLES } from '../support/forges/all.ts'
import { FORGE_TOKEN, type ForgeDouble, openDouble } from '../support/forges/double.ts'

// Its types are sources that TypeScript does not take here.
const require = createRequire(import.meta.url)
const { Bitbucket } = require('bitbucket') as { Bitbucket: new (options: unknown) => BitbucketClient }
type BitbucketCall = (request: object) => Promise<{ data: { values?: unknown[] } & Record<string, unknown> }>
interface BitbucketClient {
  users: { getAuthedUser: BitbucketCall }
  pullrequests: Record<'create' | 'list' | 'update', BitbucketCall>
}

let double: ForgeDouble
afterEach(async () => {
  await double.close()
  expect(double.misfits).toEqual([])
})

test('GitHub by @octokit/rest', async () => {
  double = await openDouble(DOUBLES.github.dialect)
  const client = new Octokit({ baseUrl: `${double.base}/api/v3`, auth: FORGE_TOKEN })
  const repo = { owner: 'octo', repo: 'repo' }
  expect((await client.rest.users.getAuthenticated()).data.login).toBe('octo-bot')
  const made = await client.rest.pulls.create({ ...repo, title: 'A', head: 'a', base: 'main', body: 'b', draft: true })
  expect(made.data).toMatchObject({ number: 1, draft: true, head: { ref: 'a' } })
  const again = client.rest.pulls.create({ ...repo, title: 'A', head: 'a', base: 'main' })
  await expect(again).rejects.toMatchObject({
    status: 422,
    message: expect.stringContaining('already exists for octo:a') as string,
  })
  const listed = await client.rest.pulls.list({ ...repo, state: 'open', head: 'octo:a', base: 'main' })
  expect(listed.data.map(({ number }) => number)).toEqual([1])
  expect((await client.rest.pulls.update({ ...repo, pull_number: 1, title: 'B' })).data.title).toBe('B')
  expect((await client.rest.pulls.get({ ...repo, pull_number: 1 })).data.title).toBe('B')
})

test("GitHub's double refuses what the description does not have", async () => {
  double = await openDouble(DOUBLES.github.dialect)
  const client = new Octokit({ baseUrl: `${double.base}/api/v3`, auth: FORGE_TOKEN, request: { retries: 0 } })
  const wrong = { owner: 'octo', repo: 'repo', title: 'A', base: 'main' }
  await expect(client.request('POST /repos/{owner}/{repo}/pulls', wrong as never)).rejects.toThrow()
  expect(double.misfits.splice(0)).toEqual([expect.stringContaining("required property 'head'")])
})

test('GitLab by @gitbeaker/rest', async () => {
  double = await openDouble(DOUBLES.gitlab.dialect)
  const client = new Gitlab({ host: double.base, token: FORGE_TOKEN })
  const project = 'group/sub/repo'
  expect((await client.Users.showCurrentUser()).username).toBe('lab-bot')
  const made = await client.MergeRequests.create(project, 'a', 'main', 'Draft: A', { description: 'b' })
  expect(made).toMatchObject({ iid: 1, draft: true, source_branch: 'a' })
  await expect(client.MergeRequests.create(project, 'a', 'main', 'A')).rejects.toThrow()
  const listed = await client.MergeRequests.all({
    projectId: project,
    state: 'opened',
    sourceBranch: 'a',
    targetBranch: 'main',
  })
  expect(listed.map(({ iid }) => iid)).toEqual([1])
  expect((await client.MergeRequests.edit(project, 1, { title: 'B' })).title).toBe('B')
})

test('Gitea by gitea-js', async () => {
  double = await openDouble(DOUBLES.gitea.dialect)
  const client = giteaApi(double.base, { token: FORGE_TOKEN })
  expect((await client.user.userGetCurrent()).data.login).toBe('tea-bot')
  const made = await client.repos.repoCreatePullRequest('tea', 'repo', {
    head: 'a',
    base: 'main',
    title: 'A',
    body: 'b',
  })
  expect(made.data).toMatchObject({ number: 1, head: { ref: 'a' } })
  await expect(
    client.repos.repoCreatePullRequest('tea', 'repo', { head: 'a', base: 'main', title: 'A' }),
  ).rejects.toMatchObject({ status: 409 })
  expect((await client.repos.repoListPullRequests('tea', 'repo', { state: 'open' })).data).toHaveLength(1)
  expect((await client.repos.repoEditPullRequest('tea', 'repo', 1, { title: 'B' })).data.title).toBe('B')
})

test('Bitbucket Cloud by bitbucket', async () => {
  double = await openDouble(DOUBLES.bitbucket.dialect)
  const client = new Bitbucket({ baseUrl: `${double.base}/2.0`, auth: { token: FORGE_TOKEN }, notice: false })
  const repo = { workspace: 'space', repo_slug: 'repo' }
  expect((await client.users.getAuthedUser({})).data['nickname']).toBe('bucket-bot')
  const sides = { source: { branch: { name: 'a' } }, destination: { branch: { name: 'main' } } }
  const made = await client.pullrequests.create({ ...repo, _body: { type: 'pullrequest', title: 'A', ...sides } })
  expect(made.data).toMatchObject({ id: 1, title: 'A' })
  const listed = await client.pullrequests.list({ ...repo, state: 'OPEN' })
  expect(listed.data.values).toHaveLength(1)
  const edited = await client.pullrequests.update({
    ...repo,
    pull_request_id: 1,
    _body: { type: 'pullrequest', title: 'B' },
  })
  expect(edited.data.title).toBe('B')
})

test('Azure DevOps by azure-devops-node-api', async () => {
  double = await openDouble(DOUBLES.azure.dialect)
  const client = await new WebApi(`${double.base}/org`, getPersonalAccessTokenHandler(FORGE_TOKEN)).getGitApi()
  const request = { sourceRefName: 'refs/heads/a', targetRefName: 'refs/heads/main', title: 'A', isDraft: true }
  expect(await client.createPullRequest(request, 'repo', 'project')).toMatchObject({ pullRequestId: 1, isDraft: true })
  await expect(client.createPullRequest(request, 'repo', 'project')).rejects.toThrow('TF401179')
  const search = { status: 1, sourceRefName: 'refs/heads/a', targetRefName: 'refs/heads/main' }
  expect(await client.getPullRequests('repo', search, 'project')).toHaveLength(1)
  expect((await client.updatePullRequest({ title: 'B' }, 'repo', 1, 'project')).title).toBe('B')
  const signedOut = await new WebApi(`${double.base}/org`, getBearerHandler('x')).getGitApi()
  // The client takes the page to sign in for no answer.
  expect(await signedOut.getPullRequests('repo', search, 'project')).toBeNull()
})
