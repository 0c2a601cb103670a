import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ResolveError } from '../../src/core/errors.ts'
import { BareGit } from '../../src/core/git/bare-git.ts'
import { examine } from '../../src/core/promotion/examine.ts'
import { finishPromotions, previewPromotion, promote } from '../../src/core/promotion/promote.ts'
import type { PromotionRequest } from '../../src/core/promotion/promotion-rules.ts'
import { readPromotions } from '../../src/core/promotion/promotions-file.ts'
import { filesWith } from '../support/files-with.ts'
import { FORGE_TOKEN } from '../support/forges/double.ts'
import { type PromotionWorld, promotionWorld, REQUEST } from '../support/promotion-place.ts'

const http = { waitLimitMs: 2_000, retryMs: [5, 5] }
const BRANCH = 'resolve/repo-abcdefgh'

let world: PromotionWorld
beforeEach(async () => {
  world = await promotionWorld()
})
afterEach(() => world.close())

const ask = (more: Partial<PromotionRequest> = {}, tools = {}) =>
  promote(world.place, { ...REQUEST, ...more }, { env: world.env, http, ...tools })
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    ({ code }: ResolveError) => code,
  )
const upstreamTip = (branch = BRANCH) =>
  world.upstream.git(world.name, 'for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`)

test.each(['github', 'gitlab', 'gitea', 'bitbucket', 'bitbucket_server'] as const)(
  '%s: a branch becomes a pull request upstream',
  async (name) => {
    const other = await promotionWorld(name)
    const commit = other.work({ 'gate.txt': 'shut\n' })
    const done = await promote(
      other.place,
      { ...REQUEST, draft: name !== 'bitbucket_server' },
      { env: other.env, http },
    )
    expect(done).toMatchObject({ number: 1, branch: BRANCH, target_branch: 'main', commit, created: true })
    expect(done.found).toMatchObject({
      ahead: 1,
      behind: 0,
      files: 1,
      additions: 1,
      deletions: 1,
      conflicts: [],
      sensitive: [],
    })
    expect(other.upstream.git(other.name, 'rev-parse', `refs/heads/${BRANCH}`)).toBe(commit)
    expect(other.forge.pulls).toMatchObject([
      { head: BRANCH, target: 'main', title: 'Mend the gate', body: 'It was open.' },
    ])
    expect(other.forge.misfits).toEqual([])
    await other.close()
  },
)

test('a second promotion pushes what is new, to the same pull request', async () => {
  world.work({ 'gate.txt': 'shut\n' })
  const first = await ask()
  const commit = world.work({ 'gate.txt': 'locked\n' })
  const second = await ask({ title: 'Lock the gate' })
  expect(second).toMatchObject({ number: first.number, pr_url: first.pr_url, commit, created: false })
  expect(upstreamTip()).toBe(commit)
  expect(world.forge.pulls).toMatchObject([{ title: 'Lock the gate' }])
  // With nothing new it ends there too.
  expect(await ask()).toMatchObject({ number: 1, created: false })
  expect(readPromotions(world.place.file)).toMatchObject([
    { branch: BRANCH, stage: 'open', url: first.pr_url, number: 1, created: true },
  ])
})

test('history that the resolver rewrote replaces what this instance pushed before', async () => {
  world.work({ 'gate.txt': 'shut\n' })
  await ask()
  world.git('update-ref', `refs/heads/${BRANCH}`, 'refs/heads/main')
  const commit = world.work({ 'gate.txt': 'closed\n' }, 'Again')
  expect(await ask()).toMatchObject({ commit })
  expect(upstreamTip()).toBe(commit)
})

test('a commit of a person on the branch is never overwritten', async () => {
  world.work({ 'gate.txt': 'shut\n' })
  await ask()
  const theirs = world.upstream.commit(world.name, { 'notes.txt': 'mine\n' }, BRANCH)
  world.work({ 'gate.txt': 'locked\n' })
  expect(await codeOf(ask())).toBe('promotion_branch_moved')
  expect(upstreamTip()).toBe(theirs)
  // Worked on top of it, nothing is lost.
  world.git('fetch', '--quiet', world.upstream.pathOf(world.name), `+refs/heads/${BRANCH}:refs/heads/${BRANCH}`)
  const commit = world.work({ 'gate.txt': 'locked\n' })
  expect(await ask()).toMatchObject({ commit, number: 1 })
})

test('a branch upstream that is not of this instance is left alone', async () => {
  const theirs = world.upstream.commit(world.name, { 'notes.txt': 'mine\n' }, BRANCH)
  world.work({ 'gate.txt': 'shut\n' })
  expect(await codeOf(ask())).toBe('promotion_branch_moved')
  expect(upstreamTip()).toBe(theirs)
  expect(world.forge.pulls).toEqual([])
})

test('a branch that was removed upstream, as after a merge, is made again', async () => {
  world.work({ 'gate.txt': 'shut\n' })
  await ask()
  world.upstream.git(world.name, 'update-ref', '-d', `refs/heads/${BRANCH}`)
  Object.assign(world.forge.pulls[0] ?? {}, { isOpen: false })
  world.work({ 'gate.txt': 'locked\n' })
  expect(await ask()).toMatchObject({ number: 2, created: true })
})

describe('a rebase on a target that moved on', () => {
  test('makes the commits again with their authors, and the same ones the next time', async () => {
    world.work({ 'gate.txt': 'shut\n' }, 'Shut the gate\n\nIt was open.')
    const second = world.work({ 'README.md': 'one\ntwo\nthree\nfour\n' }, 'Count on')
    const tip = world.upstream.commit(world.name, { 'other.txt': 'x\n' })
    expect((await ask()).found).toMatchObject({ ahead: 2, behind: 1, commit: second })
    const { commit, found, created } = await ask({ rebase: true })
    expect([found, created]).toMatchObject([{ ahead: 2, behind: 0, conflicts: [], files: 2, commit }, false])
    expect(upstreamTip()).toBe(commit)
    const upstream = (...args: string[]) => world.upstream.git(world.name, ...args)
    expect(upstream('log', '--format=%s %an', `${tip}..${commit}`)).toBe('Count on Ada\nShut the gate Ada')
    expect(upstream('rev-parse', `${commit}~2`)).toBe(tip)
    expect(upstream('ls-tree', '--name-only', commit).split('\n')).toEqual(['README.md', 'gate.txt', 'other.txt'])
    expect(upstream('fsck', '--strict')).not.toMatch(/error|missing/)
    expect(await ask({ rebase: true, seen: commit })).toMatchObject({ commit, created: false })
    // The branch of the instance stays as it was pushed.
    expect(world.git('rev-parse', `refs/heads/${BRANCH}`)).toBe(second)
  })

  test('a conflict is told with its files, and nothing is pushed', async () => {
    world.work({ 'gate.txt': 'shut\n', 'b.txt': 'b\n' })
    world.upstream.commit(world.name, { 'gate.txt': 'ajar\n' })
    const error = await ask({ rebase: true }).catch((thrown: ResolveError) => thrown)
    expect(error).toMatchObject({ code: 'promotion_conflict', details: { paths: ['gate.txt'], target: 'main' } })
    expect([upstreamTip(), world.forge.pulls]).toEqual(['', []])
  })

  test('a change that the target has already is left out, and what only a merge resolved is not lost', async () => {
    world.work({ 'other.txt': 'x\n' }, 'Have it too')
    expect(await codeOf(ask())).toBe('none')
    world.upstream.commit(world.name, { 'other.txt': 'x\n' })
    expect(await codeOf(ask({ rebase: true }))).toBe('nothing_to_promote')
    // The worker merges the target itself and adds a line in the merge; then the target goes on.
    const main = world.upstream.git(world.name, 'rev-parse', 'main')
    world.git('fetch', '--quiet', world.upstream.pathOf(world.name), 'main')
    world.work({ 'other.txt': 'y\n', 'only-in-the-merge.txt': 'z\n' }, 'Merge')
    const merge = world.git(
      'commit-tree',
      `refs/heads/${BRANCH}^{tree}`,
      '-p',
      `refs/heads/${BRANCH}~1`,
      '-p',
      main,
      '-m',
      'Merge',
    )
    world.git('update-ref', `refs/heads/${BRANCH}`, merge)
    world.upstream.commit(world.name, { 'later.txt': 'x\n' })
    const error = await ask({ rebase: true }).catch((thrown: ResolveError) => thrown)
    expect(error).toMatchObject({
      code: 'promotion_conflict',
      details: { paths: ['only-in-the-merge.txt', 'other.txt'] },
    })
  })
})

describe('what is found before the push', () => {
  test('a target that moved on, and conflicts with it, are told and do not refuse', async () => {
    world.work({ 'gate.txt': 'shut\n' })
    world.upstream.commit(world.name, { 'other.txt': 'x\n' })
    expect((await ask()).found).toMatchObject({ ahead: 1, behind: 1, conflicts: [], files: 1 })
    world.upstream.commit(world.name, { 'gate.txt': 'ajar\n' })
    const { found, target_branch } = await ask()
    expect({ ...found, target_branch }).toMatchObject({
      behind: 2,
      conflicts: ['gate.txt'],
      files: 1,
      target_branch: 'main',
    })
  })

  test('nothing new is refused', async () => {
    expect(await codeOf(ask())).toBe('nothing_to_promote')
    world.upstream.commit(world.name, { 'other.txt': 'x\n' })
    expect(await codeOf(ask())).toBe('nothing_to_promote')
    expect(upstreamTip()).toBe('')
  })

  test('the target, the default branch, a missing branch, a missing target and foreign history are refused', async () => {
    world.work({ 'gate.txt': 'shut\n' })
    world.upstream.commit(world.name, {}, 'stable')
    expect(await codeOf(ask({ branch: 'main', target: 'stable' }))).toBe('promotion_branch_refused')
    expect(await codeOf(ask({ target: BRANCH }))).toBe('promotion_target_missing')
    expect(await codeOf(ask({ branch: 'nowhere' }))).toBe('promotion_branch_refused')
    expect(await codeOf(ask({ target: 'nowhere' }))).toBe('promotion_target_missing')
    const root = world.git('commit-tree', world.git('rev-parse', 'main^{tree}'), '-m', 'Another beginning')
    world.git('update-ref', 'refs/heads/foreign', root)
    const error = await ask({ branch: 'foreign' }).catch((thrown: ResolveError) => thrown)
    expect(error).toMatchObject({ message: expect.stringContaining('no commit in common') as string })
    expect(world.forge.pulls).toEqual([])
  })

  test('another target than the default branch', async () => {
    world.upstream.commit(world.name, { 'a.txt': 'x\n' }, 'stable')
    world.work({ 'gate.txt': 'shut\n' })
    expect(await ask({ target: 'stable' })).toMatchObject({ target_branch: 'stable' })
    expect(world.forge.pulls).toMatchObject([{ target: 'stable' }])
  })

  test('a known secret is refused, also where a later commit takes it back', async () => {
    world.work({ 'a "b".txt': 'key = s3cret-value\n' })
    world.work({ 'a "b".txt': null })
    const holdsSecret = (bytes: Buffer) => bytes.includes('s3cret-value')
    const error = await ask({}, { holdsSecret }).catch((thrown: ResolveError) => thrown)
    expect(error).toMatchObject({
      code: 'promotion_secret_found',
      message: expect.stringContaining('a \\"b\\".txt') as string,
    })
    expect((error as ResolveError).message).not.toContain('s3cret-value')
    expect(upstreamTip()).toBe('')
  })

  test('no text of a commit hides a secret from the search', async () => {
    const holdsSecret = (bytes: Buffer) => bytes.includes('+s3cret-value')
    const SECRET = '+s3cret-value'
    const tree = () => world.git('rev-parse', `refs/heads/${BRANCH}^{tree}`)
    const write = (type: string, text: string) =>
      execFileSync('git', ['hash-object', '-t', type, '-w', '--stdin', '--literally'], {
        cwd: world.place.path,
        input: text,
      })
        .toString()
        .trim()
    const base = world.git('rev-parse', 'refs/heads/main')
    const who = (name: string) => `${name} <a@example.org> 1700000000 +0000`
    const raw = (
      message: string,
      { author = 'Ada', committer = 'Ada', more = '', of = tree(), parents = [base] } = {},
    ) => {
      const above = parents.map((parent) => `parent ${parent}\n`).join('')
      return write(
        'commit',
        `tree ${of}\n${above}author ${who(author)}\ncommitter ${who(committer)}\n${more}\n${message}`,
      )
    }
    const treeOf = (name: string, content: string) => {
      const entry = `100644 blob ${write('blob', content)}\t${name}\0`
      return execFileSync('git', ['mktree', '-z'], { cwd: world.place.path, input: entry }).toString().trim()
    }
    const [ours, theirs] = ['b\0\n', 'c\0\n'].map((content) => raw('x', { of: treeOf('f', content) }))
    const commits = {
      'a message with a line of a patch': raw(`Sub\n\ndiff --git a/x b/x\n@@ -1 +1 @@\n${SECRET}\n`),
      'a message after the word that began one': raw(`Sub\n\nmessage of \ndiff --cc x\n ${SECRET}\n`),
      'a message after a NUL': raw(`Sub\n\0${SECRET}\n`),
      author: raw('Sub\n', { author: SECRET }),
      committer: raw('Sub\n', { committer: SECRET }),
      'another header': raw('Sub\n', { more: `note ${SECRET}\n` }),
      'a line that begins with the sign': raw('Sub\n', { of: treeOf('f', `${SECRET}\n`) }),
      'a name with a line feed': raw('Sub\n', { of: treeOf(`x\ndiff --git a b\n${SECRET}`, 'x') }),
      'a binary file': raw('Sub\n', { of: treeOf('f', `\0${SECRET}\0`) }),
      'a binary file of a merge': raw('Sub\n', {
        of: treeOf('f', `\0${SECRET}\0`),
        parents: [ours ?? '', theirs ?? ''],
      }),
    }
    for (const [what, commit] of Object.entries(commits)) {
      world.git('update-ref', `refs/heads/${BRANCH}`, commit)
      expect([what, await codeOf(ask({}, { holdsSecret }))]).toEqual([what, 'promotion_secret_found'])
    }
    expect(upstreamTip()).toBe('')
    world.git('update-ref', `refs/heads/${BRANCH}`, base)
    world.work({ 'gate.txt': 'shut\n' })
    expect(await codeOf(ask({ title: SECRET }, { holdsSecret }))).toBe('promotion_secret_found')
    expect(await codeOf(ask({ body: `x\n${SECRET}` }, { holdsSecret }))).toBe('promotion_secret_found')
    expect(upstreamTip()).toBe('')
    expect(await codeOf(ask({}, { holdsSecret }))).toBe('none')
  })

  test('a refusal does not tell the secret that is the name of a file', async () => {
    world.work({ 's3cret-value/.github/workflows/a.txt': 'x\n', '.github/workflows/s3cret-value.yml': 'x\n' })
    const holdsSecret = (bytes: Buffer) => bytes.includes('s3cret-value')
    const error = await ask({}, { holdsSecret }).catch((thrown: ResolveError) => thrown)
    expect(JSON.stringify([error, (error as ResolveError).message])).not.toContain('s3cret-value')
    const tools = { env: world.env, http, holdsSecret }
    const found = await previewPromotion(world.place, REQUEST, tools)
    expect(found).toMatchObject({ sensitive: ['.github/workflows/[redacted]'] })
    expect(found.secrets).toContain('[redacted]/.github/workflows/a.txt')
    expect(JSON.stringify(found)).not.toContain('s3cret-value')
  })

  test('more changes than can be searched are refused', async () => {
    const commit = world.work({ 'large.txt': 'x'.repeat(200_000) })
    const git = new BareGit({ path: world.place.path, deadline: Date.now() + 20_000 })
    const commits = { commit, targetCommit: world.git('rev-parse', 'main') }
    const look = (maxChars: number) =>
      codeOf(examine(git, { branch: BRANCH, target: 'main' }, commits, { holdsSecret: () => false, maxChars }))
    expect([await look(100_000), await look(300_000)]).toEqual(['promotion_invalid', 'none'])
  })

  test('workflow files need a person', async () => {
    world.place = { ...world.place, deliveryMode: 'promote' }
    const seen = world.work({ '.github/workflows/a.yml': 'on: push\n', 'gate.txt': 'shut\n' })
    expect(await codeOf(ask({ by: 'worker', allowWorkflows: true }))).toBe('promotion_needs_approval')
    expect(await codeOf(ask())).toBe('promotion_needs_approval')
    expect(upstreamTip()).toBe('')
    // What a person allows is one commit: a push after the look needs a new one.
    expect(await codeOf(ask({ allowWorkflows: true }))).toBe('promotion_invalid')
    const later = world.work({ '.github/workflows/a.yml': 'on: workflow_dispatch\n' })
    expect(await codeOf(ask({ allowWorkflows: true, seen }))).toBe('promotion_commit_changed')
    expect(upstreamTip()).toBe('')
    expect((await ask({ allowWorkflows: true, seen: later })).found.sensitive).toEqual(['.github/workflows/a.yml'])
  })

  test('a preview tells all of it and changes nothing upstream', async () => {
    world.work({ CODEOWNERS: '* @ada\n', 'b.txt': 's3cret\n' })
    const tools = { env: world.env, http, holdsSecret: (bytes: Buffer) => bytes.includes('s3cret') }
    const found = await previewPromotion(world.place, REQUEST, tools)
    expect(found).toMatchObject({
      branch: BRANCH,
      target: 'main',
      sensitive: ['CODEOWNERS'],
      secrets: ['b.txt'],
      files: 2,
    })
    expect(found.bytes).toBeGreaterThan(100)
    expect(upstreamTip()).toBe('')
    expect(readPromotions(world.place.file)).toEqual([])
  })
})

describe('the upstream host', () => {
  test('its words about a refused push are told', async () => {
    const hook = `${world.upstream.pathOf(world.name)}/hooks/pre-receive`
    writeFileSync(hook, `#!/bin/sh\necho "GH013: Changes must be signed, ${FORGE_TOKEN}."\nexit 1\n`, { mode: 0o755 })
    world.work({ 'gate.txt': 'shut\n' })
    const error = await ask().catch((thrown: ResolveError) => thrown)
    expect(error).toMatchObject({
      code: 'promotion_push_refused',
      message: expect.stringContaining('GH013: Changes must be signed, ….') as string,
    })
    expect(readPromotions(world.place.file)).toMatchObject([{ stage: 'failed' }])
  })

  test('a wrong token, no token and a token for another host are told', async () => {
    world.work({ 'gate.txt': 'shut\n' })
    const env = (more: NodeJS.ProcessEnv) => ({ env: { ...world.env, ...more } })
    expect(await codeOf(ask({}, env({ RESOLVE_GIT_HOST_TOKEN: 'wrong' })))).toBe('forge_auth_failed')
    expect(await codeOf(ask({}, env({ RESOLVE_GIT_HOST_TOKEN: '' })))).toBe('forge_auth_failed')
    expect(await codeOf(ask({}, env({ RESOLVE_GIT_BASE_URL: 'https://git.acme.org' })))).toBe('promotion_invalid')
    world.place = { ...world.place, url: world.upstream.urlOf('tea/other') }
    expect(await codeOf(ask())).toBe('forge_not_found')
  })

  // verifies: R45-FORGE
  test('the token is in no argument or variable of git, no file of the instance and no error', async () => {
    const bin = mkdtempSync(join(tmpdir(), 'promotion-bin-'))
    const log = join(bin, 'log')
    const real = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
    writeFileSync(join(bin, 'git'), `#!/bin/sh\n{ echo "$@"; env; } >> '${log}'\nexec ${real} "$@"\n`, { mode: 0o755 })
    const path = process.env['PATH']
    process.env['PATH'] = `${bin}:${path}`
    try {
      world.work({ 'gate.txt': 'shut\n' })
      await ask()
    } finally {
      process.env['PATH'] = path
    }
    expect(readFileSync(log, 'utf8')).toMatch(/ push .*--force-with-lease=refs/)
    world.forge.faults.push({ method: 'GET', fault: { status: 400, body: { message: `bad ${FORGE_TOKEN}` } } })
    const error = (await ask().catch((thrown: ResolveError) => thrown)) as ResolveError
    expect(error.message).toContain('bad …')
    expect(filesWith(bin, [FORGE_TOKEN])).toEqual([])
    expect(filesWith(dirname(world.place.path), [FORGE_TOKEN])).toEqual([])
    rmSync(bin, { recursive: true })
  })

  test('attributes, links and submodules of a branch are data', async () => {
    world.work({ '.gitattributes': '* diff=evil merge=evil filter=evil text eol=crlf\n', 'gate.txt': 'shut\r\n' })
    const link = world.git('hash-object', '-w', world.place.file.replace('promotions.json', 'repo.git/HEAD'))
    world.git('update-index', '--add', '--cacheinfo', `120000,${link},.github`)
    world.git('update-index', '--add', '--cacheinfo', `160000,${world.git('rev-parse', 'main')},nested`)
    world.git('update-index', '--add', '--cacheinfo', `100644,${link},.gitmodules`)
    const tree = world.git('write-tree')
    const commit = world.git('commit-tree', tree, '-p', world.git('rev-parse', BRANCH), '-m', 'Hostile')
    world.git('update-ref', `refs/heads/${BRANCH}`, commit)
    world.upstream.commit(world.name, { 'gate.txt': 'ajar\n' })
    const found = await previewPromotion(world.place, REQUEST, { env: world.env, http, holdsSecret: () => false })
    expect(found).toMatchObject({ conflicts: ['gate.txt'], sensitive: ['.github', '.gitmodules'], files: 5 })
  })
})

test('a failed promotion is not repeated by itself, one that was cut off is', async () => {
  world.work({ 'gate.txt': 'shut\n' })
  world.forge.faults.push({ method: 'POST', fault: { status: 400, body: { message: 'no' } } })
  expect(await codeOf(ask())).toBe('forge_refused')
  const tools = { env: world.env, http }
  expect(await finishPromotions(world.place, tools)).toEqual([])
  // As a host that was killed between the push and the pull request leaves it.
  const kept = JSON.parse(readFileSync(world.place.file, 'utf8')) as { promotions: { stage: string }[] }
  for (const one of kept.promotions) one.stage = 'pushing'
  writeFileSync(world.place.file, JSON.stringify(kept))
  world.work({ 'gate.txt': 'not looked at\n' })
  expect(await finishPromotions(world.place, tools)).toMatchObject([{ kept: { stage: 'open', number: 1 } }])
  // The commit that was looked at then, not a newer one.
  expect(upstreamTip()).toBe(readPromotions(world.place.file)[0]?.commit)
  expect(world.git('rev-parse', BRANCH)).not.toBe(upstreamTip())
})

test('promotions at the same time end at one pull request', async () => {
  const commit = world.work({ 'gate.txt': 'shut\n' })
  const all = await Promise.all([ask(), ask(), ask()])
  expect(all.map(({ number }) => number)).toEqual([1, 1, 1])
  expect(all.filter(({ created }) => created)).toHaveLength(1)
  expect(upstreamTip()).toBe(commit)
})

test.each(['{', '{"version":1,"promotions":[{"repo":1}]}', `"${'x'.repeat(5 * 1024 * 1024)}"`])(
  'a broken promotions.json is told: %#',
  async (text) => {
    writeFileSync(world.place.file, text)
    world.work({ 'gate.txt': 'shut\n' })
    expect(await codeOf(ask())).toBe('promotions_broken')
    expect(upstreamTip()).toBe('')
  },
)
