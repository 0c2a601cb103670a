/** Promotion through the doors of consumers: the platform, another host's socket, HTTP, the command line (docs/git.md, Promotion). */
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test, vi } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { root } from '../house/source-files.ts'
import { cliPlatform } from '../support/cli-platform.ts'
import { DOUBLES } from '../support/forges/all.ts'
import { type DoubleHandler, doubleHandler, FORGE_TOKEN } from '../support/forges/double.ts'
import { asksFor, eachWithGitPlatform } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

const ADA = { actor: 'ada', via: 'cli' } as const

let home: string
let platform: LocalPlatform
let upstream: GitUpstream
let forge: DoubleHandler

const { reopen } = eachWithGitPlatform(
  (made) => {
    ;({ home, platform, upstream } = made)
    upstream.create('tea/repo', { 'README.md': 'The gate is open.\n' })
  },
  () => {
    forge = doubleHandler(DOUBLES.gitea.dialect, ['/api/'])
    return { token: FORGE_TOKEN, intercept: forge.handle, env: { RESOLVE_GIT_PROVIDER: 'gitea' } }
  },
)

/** What its git server would have given to the host: the branches of the clone, in the host's own repository. */
function pushed(id: string): string {
  const { project, git } = instancePaths(home, id)
  const bare = join(git, 'repo.git')
  mkdirSync(git, { recursive: true, mode: 0o700 })
  if (existsSync(bare)) rmSync(bare, { recursive: true })
  gitText(home, ['clone', '--quiet', '--bare', join(project, 'workspace/repo'), bare])
  return `resolve/repo-${id.slice(0, 8)}`
}

async function changed(more: Record<string, unknown> = {}): Promise<{ id: string; branch: string }> {
  const input = { repository: 'tea/repo', file: 'README.md', search: 'open', replacement: 'shut', ...more }
  const { instance_id: id } = await platform.create({ resolver: 'change', input: { title: 'Shut the gate', ...input } })
  const { error } = await until(home, id, ({ status }) => ['completed', 'failed'].includes(status))
  expect(error).toBeNull()
  return { id, branch: `resolve/repo-${id.slice(0, 8)}` }
}

/** An instance that asks, and so goes on running, with a commit on its working branch. */
async function running(behaviour = ''): Promise<{ id: string; branch: string }> {
  const works = `
    const { execFileSync } = await import('node:child_process')
    const [clone] = me.config.workspace
    me.fs.writeFileSync(clone.path + '/gate.txt', 'shut')
    for (const args of [['add', '.'], ['commit', '-qm', 'Shut it']]) execFileSync('git', args, { cwd: clone.path })
    ${behaviour}
    me.emit('plain.committed', {})
    await me.stopped
    me.finish({ status: 'completed', output: 'done' })`
  const asks = asksFor(['tea/repo'])
  await (await platform.catalog()).add(plainResolver(works, {}, asks).dir, { cwd: home })
  const { instance_id: id } = await platform.create({ resolver: 'plain', input: {} })
  await expect.poll(() => typesOf(id), { timeout: 20_000 }).toContain('plain.committed')
  return { id, branch: pushed(id) }
}

const typesOf = (id: string) => eventsOf(home, id).map(({ event }) => event.event_type)
const told = (id: string) =>
  eventsOf(home, id)
    .map(({ event }) => event)
    .filter(({ event_type }) => event_type.startsWith('platform.promotion.'))
    .map(({ event_type, data }) => ({ type: event_type.replace('platform.promotion.', ''), ...data }))

test('the work of an instance that has ended becomes a pull request; a repeated promotion updates it', async () => {
  const { id, branch } = await changed()
  const seen = await platform.git.promote(id, 'repo', { dry_run: true }, ADA)
  expect(seen).toMatchObject({ success: false, pr_url: null, branch, target_branch: 'main', pr_title: 'Shut the gate' })
  expect(seen).toMatchObject({ ahead: 1, behind: 0, files: 1, additions: 1, deletions: 1, sensitive: [], secrets: [] })
  expect([told(id), forge.pulls]).toEqual([[], []])
  const made = await platform.git.promote(id, 'repo', { pr_body: 'It was open.' }, ADA)
  expect(made).toMatchObject({ success: true, number: 1, branch, commit: seen.commit, created: true })
  expect(forge.pulls).toMatchObject([{ head: branch, target: 'main', title: 'Shut the gate', body: 'It was open.' }])
  expect(upstream.git('tea/repo', 'rev-parse', `refs/heads/${branch}`)).toBe(seen.commit)
  expect(told(id)).toMatchObject([
    { type: 'requested', repo: 'repo', branch, target_branch: null, by: 'consumer', actor: 'ada', via: 'cli' },
    { type: 'completed', repo: 'repo', branch, target_branch: 'main', commit: seen.commit, number: 1, created: true },
  ])
  expect(await platform.git.promote(id, 'repo', { pr_title: 'Close it' }, ADA)).toMatchObject({ created: false })
  expect(forge.pulls).toMatchObject([{ title: 'Close it' }])
  const { artifacts, status } = await platform.story(id)
  expect(status).toBe('completed')
  const promoted = artifacts.filter(({ value }) => value === made.pr_url)
  expect(promoted).toMatchObject([{ kind: 'pr', metadata: { number: 1 } }])
})

test('what is refused is told to the caller and in the journal', async () => {
  const { id } = await changed()
  const refusal = async (repo: string, ask: object) => {
    const error = await platform.git.promote(id, repo, ask, ADA).catch((thrown: Error) => thrown)
    return (error as { code?: string }).code
  }
  expect(await refusal('other', {})).toBe('repo_unknown')
  expect(await refusal('repo', { branch: '-x' })).toBe('promotion_branch_refused')
  expect(told(id)).toEqual([])
  expect(await refusal('repo', { branch: 'main' })).toBe('promotion_branch_refused')
  expect(await refusal('repo', { target_branch: 'no' })).toBe('promotion_target_missing')
  expect(told(id).filter(({ type }) => type === 'failed')).toMatchObject([
    { code: 'promotion_branch_refused' },
    { code: 'promotion_target_missing', target_branch: 'no', by: 'consumer' },
  ])
  rmSync(join(instancePaths(home, id).git, 'repo.git'), { recursive: true })
  expect(await refusal('repo', {})).toBe('promotion_invalid')
  expect(forge.pulls).toEqual([])
})

test('a secret of the host in a commit is found after the end, and never pushed', async () => {
  vi.stubEnv('RESOLVE_LLM_PROVIDER_API_KEY', 'sk-canary-1234567890')
  const { id } = await changed({ replacement: 'key: sk-canary-1234567890' })
  const seen = await platform.git.promote(id, 'repo', { dry_run: true }, ADA)
  expect(seen.secrets).toEqual(['README.md'])
  await expect(platform.git.promote(id, 'repo', {}, ADA)).rejects.toMatchObject({ code: 'promotion_secret_found' })
  expect(upstream.git('tea/repo', 'for-each-ref', 'refs/heads/resolve')).toBe('')
})

test('a live instance is promoted by its host, whichever process asks; workflow files need a person (S-DIR-15-SEEN)', async () => {
  const { id, branch } = await running(`
    me.fs.mkdirSync(clone.path + '/.github/workflows', { recursive: true })
    me.fs.writeFileSync(clone.path + '/.github/workflows/ci.yml', 'on: push')
    for (const args of [['add', '.'], ['commit', '-qm', 'Add a workflow']]) execFileSync('git', args, { cwd: clone.path })`)
  const elsewhere = await platformOn(home)
  try {
    const promote = (ask: object) => elsewhere.git.promote(id, 'repo', ask, ADA)
    await expect(promote({})).rejects.toMatchObject({ code: 'promotion_needs_approval' })
    const { commit } = await promote({ dry_run: true })
    const refused = promote({ allow: ['workflows'], commit: commit.replace(/^./, (one) => (one === 'a' ? 'b' : 'a')) })
    await expect(refused).rejects.toMatchObject({ code: 'promotion_commit_changed' })
    expect(await promote({ allow: ['workflows'], commit })).toMatchObject({
      number: 1,
      sensitive: ['.github/workflows/ci.yml'],
    })
  } finally {
    await elsewhere.close()
  }
  expect(forge.pulls).toMatchObject([{ head: branch, title: 'Add a workflow' }])
  expect(told(id).at(-1)).toMatchObject({ type: 'completed', actor: 'ada', number: 1 })
  await platform.stop(id)
})

test('a target that moved on is told, and --rebase brings the work on top of it; a conflict names its files (S-DIR-15-REBASE)', async () => {
  const { id, branch } = await changed()
  const tip = upstream.commit('tea/repo', { 'other.txt': 'x' })
  const cli = cliPlatform(home)
  expect(await cli.git.promote(id, 'repo', { dry_run: true }, ADA)).toMatchObject({
    ahead: 1,
    behind: 1,
    conflicts: [],
  })
  const made = await cli.git.promote(id, 'repo', { rebase: true }, ADA)
  expect(made).toMatchObject({ success: true, behind: 0, created: true })
  expect(upstream.git('tea/repo', 'rev-parse', `refs/heads/${branch}`, `refs/heads/${branch}~1`)).toBe(
    `${made.commit}\n${tip}`,
  )
  const [pruned] = (await platform.prune({ older_than_ms: 0, dry_run: true })).removed
  expect(pruned).not.toHaveProperty('unpromoted')
  upstream.commit('tea/repo', { 'README.md': 'The gate is ajar.\n' })
  const refused = await cli.git.promote(id, 'repo', { rebase: true }, ADA).catch((error: Error) => error)
  expect(refused).toMatchObject({ code: 'promotion_conflict' })
  expect((refused as Error).message).toContain('README.md')
  expect(told(id).at(-1)).toMatchObject({ type: 'failed', code: 'promotion_conflict' })
  expect(forge.pulls).toHaveLength(1)
})

test('prune names work that was not promoted, and keeps it where it is asked to', async () => {
  const { id } = await changed()
  const prune = (more: object = {}) => platform.prune({ older_than_ms: 0, dry_run: true, ...more })
  expect((await prune()).removed).toMatchObject([{ instance_id: id, unpromoted: ['repo'] }])
  expect((await platform.prune({ older_than_ms: 0, keep_unpromoted: true })).removed).toEqual([])
  await platform.git.promote(id, 'repo', {}, ADA)
  const [promoted] = (await prune({ keep_unpromoted: true })).removed
  expect(promoted).toMatchObject({ instance_id: id })
  expect(promoted).not.toHaveProperty('unpromoted')
})

test('doctor tells which host gets the token, and never the token', async () => {
  const rows = await platform.health()
  const host = new URL(upstream.base).host
  expect(rows.find(({ check }) => check === 'forge')?.message).toContain(`RESOLVE_GIT_HOST_TOKEN is sent to ${host}`)
  expect(JSON.stringify(rows)).not.toContain(FORGE_TOKEN)
})

test('the command prints the address; one killed in between is finished by the next', async () => {
  const { id, branch } = await changed()
  const dry = await cliPlatform(home).git.promote(id, 'repo', { dry_run: true }, ADA)
  expect(dry).toMatchObject({ schema: 'resolve.promotion/1', instance_id: id, success: false, branch })
  const killed = cliPlatform(home, { env: { RESOLVE_FAILPOINTS: 'promotion.pushed=kill' } })
  await killed.git.promote(id, 'repo', {}, ADA).catch(() => {})
  expect(upstream.git('tea/repo', 'rev-parse', `refs/heads/${branch}`)).toBe(dry.commit)
  expect(forge.pulls).toEqual([])
  expect(await cliPlatform(home).git.promote(id, 'repo', {}, ADA)).toMatchObject({ success: true, number: 1 })
  expect(forge.pulls).toHaveLength(1)
})

test('the host that adopts an instance finishes the promotion that another one began', async () => {
  const { id, branch } = await running()
  // The host of this process goes away; a command owns nothing of the instance when it is killed in between.
  await platform.releaseAndClose()
  const killed = cliPlatform(home, { env: { RESOLVE_FAILPOINTS: 'promotion.pushed=kill' } })
  await killed.git.promote(id, 'repo', {}, ADA).catch(() => {})
  expect(forge.pulls).toEqual([])
  platform = await reopen()
  await expect.poll(() => platform.host(id), { timeout: 20_000 }).toBe(true)
  await expect.poll(() => told(id).at(-1), { timeout: 20_000 }).toMatchObject({ type: 'completed', branch, number: 1 })
  expect(forge.pulls).toHaveLength(1)
  await platform.stop(id)
})

test('a subject of megabytes is cut to a title', async () => {
  const { id } = await changed({ delivery_mode: 'commit' })
  const branch = pushed(id)
  const bare = join(instancePaths(home, id).git, 'repo.git')
  const message = join(home, 'message.txt')
  writeFileSync(message, `Shut ${'x'.repeat(3_000_000)}`)
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']
  const commit = gitText(bare, [...who, 'commit-tree', '-p', branch, '-F', message, `${branch}^{tree}`])
  gitText(bare, ['update-ref', `refs/heads/${branch}`, commit])
  const made = await platform.git.promote(id, 'repo', {}, ADA)
  expect(made.pr_title).toMatch(/^Shut x+$/)
  expect(forge.pulls).toMatchObject([{ title: made.pr_title }])
})

test('what the resolver wrote for its own pull request is proposed upstream, cleaned and bounded', async () => {
  const { id } = await changed()
  const lines = join(instancePaths(home, id).git, 'server/pulls.jsonl')
  const proposed = async () => {
    const { pr_title: title, pr_body: body } = await platform.git.promote(id, 'repo', { dry_run: true }, ADA)
    return { title, body }
  }
  const tell = (line: object) =>
    appendFileSync(lines, `${JSON.stringify({ kind: 'updated', repo: 'repo', number: 1, ...line })}\n`)
  tell({ title: 'Shut the gate at night' })
  expect(await proposed()).toEqual({ title: 'Shut the gate at night', body: expect.stringContaining('Committed ') })
  await platform.git.promote(id, 'repo', {}, ADA)
  const body = expect.stringContaining('1 place in README.md')
  expect(forge.pulls).toMatchObject([{ title: 'Shut the gate at night', body }])
  await platform.git.promote(id, 'repo', { pr_title: 'Mine', pr_body: '' }, ADA)
  expect(forge.pulls).toMatchObject([{ title: 'Mine', body: '' }])
  // The file is the server's: lines of any content, and any kind of file.
  appendFileSync(lines, '{"kind":"updated"\n{"kind":"updated","repo":"repo","number":"1","title":"no"}\n')
  tell({ title: `a\u001b[31m\nb${'c'.repeat(300)}`, body: `\u001b]0;x\u0007x${'é'.repeat(100_000)}` })
  const cut = await proposed()
  expect(cut.title).toMatch(/^a bc{252}$/)
  expect(cut.body).toMatch(/^xé{32767}$/)
  tell({ state: 'closed' })
  expect(await proposed()).toEqual({ title: 'Shut the gate', body: '' })
  rmSync(lines)
  execFileSync('mkfifo', [lines])
  expect(await proposed()).toEqual({ title: 'Shut the gate', body: '' })
})

test('a known secret in the words of the resolver is refused, and is in no answer', async () => {
  vi.stubEnv('RESOLVE_LLM_PROVIDER_API_KEY', 'sk-canary-1234567890')
  const { id } = await changed()
  const line = { kind: 'updated', repo: 'repo', number: 1, title: 'sk-canary-1234567890', body: 'sk-canary-1234567890' }
  appendFileSync(join(instancePaths(home, id).git, 'server/pulls.jsonl'), `${JSON.stringify(line)}\n`)
  const seen = await platform.git.promote(id, 'repo', { dry_run: true }, ADA)
  expect(JSON.stringify(seen)).not.toContain('canary')
  expect(seen.secrets).toEqual(['title of the pull request', 'text of the pull request'])
  await expect(platform.git.promote(id, 'repo', {}, ADA)).rejects.toMatchObject({ code: 'promotion_secret_found' })
})

test('without a question, --allow workflows holds for the commit of now, and what is told of the target follows', async () => {
  upstream.commit('tea/repo', { '.github/workflows/ci.yml': 'on: push\n' })
  const { id } = await changed({ file: '.github/workflows/ci.yml', search: 'push', replacement: 'pull_request' })
  upstream.commit('tea/repo', { '.github/workflows/ci.yml': 'on: tag\n' })
  const promote = (...flags: string[]) =>
    execa(process.execPath, [join(root, 'bin/run.js'), 'instance', 'promote', id, ...flags], {
      env: { RESOLVE_HOME: home },
      reject: false,
    })
  const looked = await promote('--dry-run', '--allow', 'workflows')
  expect(looked, looked.stderr).toMatchObject({ exitCode: 0 })
  expect(looked.stdout).toMatch(/^Commit: [0-9a-f]{40}$/m)
  const made = await promote('--yes', '--allow', 'workflows')
  expect(made, made.stderr).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/\/1$/) })
  expect(made.stderr).toContain('Pull request opened.')
  expect(made.stderr).toContain('The target has 1 commit that the branch does not have. --rebase brings them in.')
  expect(made.stderr).toContain('In conflict with the target: .github/workflows/ci.yml')
})

// verifies: S-DIR-15
test('a worker with a git server promotes its branch, where the input wants it', { timeout: 60_000 }, async () => {
  const run = async (delivery_mode: string) => {
    const edit = { file: 'README.md', search: 'open', replacement: 'shut', title: 'Shut the gate' }
    const input = { repository: 'tea/repo', ...edit, delivery_mode }
    const { instance_id: id } = await platform.create({ resolver: 'change', input })
    const story = await until(home, id, ({ status }) => ['completed', 'failed'].includes(status), 40_000)
    expect(story.error).toBeNull()
    return { id, story, branch: `resolve/repo-${id.slice(0, 8)}` }
  }
  const first = await run('promote')
  expect(forge.pulls).toMatchObject([{ head: first.branch, target: 'main', title: 'Shut the gate' }])
  const [{ value, metadata } = { value: '', metadata: {} }] = first.story.artifacts.filter(({ kind }) => kind === 'pr')
  expect(first.story.output).toContain(`Its pull request: ${value}`)
  expect(metadata).toMatchObject({ branch: first.branch })
  expect(told(first.id).map(({ type }) => type)).toEqual(['requested', 'completed'])
  expect(told(first.id)[1]).toMatchObject({ by: 'worker', branch: first.branch })
  // Its own git server alone; then a person promotes it, after the end.
  const second = await run('pull-request')
  expect([forge.pulls.length, told(second.id)]).toEqual([1, []])
  expect(await platform.git.promote(second.id, 'repo', {}, ADA)).toMatchObject({ number: 2, pr_title: 'Shut the gate' })
})

test('ctx.promote gives the pull request, and throws the reason of a refusal', { timeout: 60_000 }, async () => {
  const dir = mkdtempSync(join(tmpdir(), 'resolve-promotes-'))
  const manifest = { name: 'promotes', version: '1.0.0', description: 'Promotes', command: ['node', 'resolver.mjs'] }
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify(manifest))
  writeFileSync(
    join(dir, 'resolver.mjs'),
    `import { execFileSync } from 'node:child_process'
    import { writeFileSync } from 'node:fs'
    import { resolver } from 'resolve-platform/sdk'
    resolver({
      workspace: () => ({ repos: [{ url: 'tea/repo' }], git_server: true }),
      async run(ctx) {
        const [{ path, branch }] = ctx.workspace
        writeFileSync(path + '/gate.txt', 'shut')
        for (const args of [['add', '.'], ['commit', '-qm', 'Shut it'], ['push', '-q', 'origin', branch]])
          execFileSync('git', args, { cwd: path })
        const refused = await ctx.promote({ title: 'x', branch: 'other' }).catch((error) => error.code)
        return JSON.stringify([refused, await ctx.promote({ title: 'Shut it', body: 'It was open.' }).catch((error) => error.code)])
      },
    }).serve()`,
  )
  await (await platform.catalog()).add(dir, { cwd: home })
  const run = async (input: Record<string, unknown>) => {
    const { instance_id: id } = await platform.create({ resolver: 'promotes', input })
    const { error, output } = await until(home, id, ({ status }) => ['completed', 'failed'].includes(status), 40_000)
    expect(error).toBeNull()
    return { branch: `resolve/repo-${id.slice(0, 8)}`, answers: JSON.parse(output as string) as unknown[] }
  }
  expect((await run({})).answers).toEqual(['promotion_not_requested', 'promotion_not_requested'])
  const { branch, answers } = await run({ delivery_mode: 'promote' })
  expect(answers).toMatchObject(['promotion_branch_refused', { number: 1, branch, target: 'main', created: true }])
  expect(forge.pulls).toMatchObject([{ title: 'Shut it', body: 'It was open.' }])
  rmSync(dir, { recursive: true })
})
