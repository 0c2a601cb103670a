/** Promotion to a whole upstream: our own git server, which real Gitea clients and git work with, in the place of a Gitea. */
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { ResolveError } from '../../src/core/errors.ts'
import { promote } from '../../src/core/promotion/promote.ts'
import type { PromotionRequest } from '../../src/core/promotion/promotion-rules.ts'
import { startGitServer, type TestGitServer } from '../support/git-server.ts'
import { type InstanceRepository, instanceRepository, REQUEST } from '../support/promotion-place.ts'

const BRANCH = 'resolve/repo-abcdefgh'

let server: TestGitServer
let kept: InstanceRepository
beforeEach(async () => {
  server = await startGitServer()
  await server.addRepository('repo', { 'gate.txt': 'open\n', 'README.md': 'one\n' })
  kept = instanceRepository(server.cloneUrl('repo'), `${server.baseUrl}/admin/repo.git`)
  onTestFinished(() => kept.remove())
})

function ask(more: Partial<PromotionRequest> = {}) {
  const env = {
    RESOLVE_GIT_PROVIDER: 'gitea',
    RESOLVE_GIT_BASE_URL: server.baseUrl,
    RESOLVE_GIT_HOST_TOKEN: server.token,
  }
  return promote(kept.place, { ...REQUEST, ...more }, { env, http: { retryMs: [5, 5] } })
}
const pulls = async () =>
  (await server.api('GET', '/repos/admin/repo/pulls?state=all')).body as Record<string, unknown>[]
const tip = async (branch: string) => {
  const { body } = await server.api('GET', `/repos/admin/repo/branches/${branch}`)
  return (body as { commit: { id: string } }).commit.id
}
/** A commit upstream that is not of this instance. */
async function commitUpstream(branch: string, files: Record<string, string>) {
  const other = instanceRepository(server.cloneUrl('repo'), '')
  const commit = other.work(files, 'Of another', branch)
  other.git('push', '--quiet', server.cloneUrl('repo'), `${commit}:refs/heads/${branch}`)
  await other.remove()
  return commit
}

test('a branch becomes a pull request, a second promotion updates it, and merging it upstream works', async () => {
  const first = kept.work({ 'gate.txt': 'shut\n' })
  expect(await ask({ draft: true })).toMatchObject({ created: true, number: 1, commit: first })
  expect(await pulls()).toMatchObject([{ number: 1, title: 'WIP: Mend the gate', body: 'It was open.', state: 'open' }])
  const second = kept.work({ 'gate.txt': 'locked\n' })
  expect(await ask({ title: 'Lock the gate' })).toMatchObject({ created: false, number: 1, commit: second })
  expect(await pulls()).toMatchObject([{ title: 'WIP: Lock the gate', head: { ref: BRANCH, sha: second } }])
  await server.api('PATCH', '/repos/admin/repo/pulls/1', { title: 'Lock the gate' })
  const merged = await server.api('POST', '/repos/admin/repo/pulls/1/merge', {
    Do: 'merge',
    delete_branch_after_merge: true,
  })
  expect(merged.status).toBe(200)
  const error = await ask().catch((thrown: ResolveError) => thrown)
  expect(error).toMatchObject({ code: 'nothing_to_promote' })
  kept.work({ 'gate.txt': 'barred\n' })
  expect(await ask({ title: 'Bar the gate' })).toMatchObject({ created: true, number: 2 })
})

test('a base that moved and a conflict are told; the pull request shows the conflict', async () => {
  kept.work({ 'gate.txt': 'shut\n' })
  await commitUpstream('main', { 'README.md': 'two\n' })
  expect((await ask()).found).toMatchObject({ ahead: 1, behind: 1, conflicts: [] })
  expect(await pulls()).toMatchObject([{ mergeable: true }])
  await commitUpstream('main', { 'gate.txt': 'ajar\n' })
  expect((await ask()).found).toMatchObject({ behind: 2, conflicts: ['gate.txt'] })
  expect(await pulls()).toMatchObject([{ mergeable: false }])
})

test('a commit of another on the branch is left alone', async () => {
  kept.work({ 'gate.txt': 'shut\n' })
  await ask()
  const theirs = await commitUpstream(BRANCH, { 'notes.txt': 'mine\n' })
  kept.work({ 'gate.txt': 'locked\n' })
  const error = await ask().catch((thrown: ResolveError) => thrown)
  expect(error).toMatchObject({ code: 'promotion_branch_moved' })
  expect(await tip(BRANCH)).toBe(theirs)
})

test('the server is found to be a Gitea without a provider, and a wrong token is told', async () => {
  kept.work({ 'gate.txt': 'shut\n' })
  const env = { RESOLVE_GIT_BASE_URL: server.baseUrl, RESOLVE_GIT_HOST_TOKEN: server.token }
  expect(await promote(kept.place, REQUEST, { env })).toMatchObject({ number: 1 })
  const error = await promote(kept.place, REQUEST, { env: { ...env, RESOLVE_GIT_HOST_TOKEN: 'x' } }).catch(
    (thrown: ResolveError) => thrown,
  )
  expect(error).toMatchObject({ code: 'forge_auth_failed' })
})
