/** `create-pr` and its credential helper, as a worker runs them: in a clone, with the config.json of an instance. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '../house/source-files.ts'
import { commitFiles, gitIn, startGitServer, TEST_GIT_ENVIRONMENT, type TestGitServer } from '../support/git-server.ts'

const BIN = join(root, 'templates', 'worker', 'bin')
const SHELLS = [['dash'], ['bash', '--posix'], ['busybox', 'sh']].filter(
  ([name]) => existsSync(`/usr/bin/${name}`) || existsSync(`/bin/${name}`),
)

test.each(SHELLS)('%s opens a pull request, and the second call updates it', async (...shell) => {
  const { server, work, createPr } = await clonedWorkspace(shell)
  const body = `${'Grüße, "quoted" $HOME `tick`\n'.repeat(3000)}the end`
  writeFileSync(join(work, '..', 'body.md'), body.slice(0, 60_000))
  const first = await createPr('--title', 'Add a "thing"', '--body-file', '../body.md')
  expect(first).toEqual({ code: 0, stdout: `${server.baseUrl}/admin/app/pulls/1\n`, stderr: '' })
  const pull = (await server.api('GET', '/repos/admin/app/pulls/1')).body as Pull
  expect(pull).toMatchObject({
    title: 'Add a "thing"',
    state: 'open',
    draft: false,
    head: { ref: 'work/one', sha: await gitIn(work, 'rev-parse', 'HEAD') },
    base: { ref: 'main' },
  })
  expect(pull.body).toBe(body.slice(0, 60_000))

  await commitFiles(work, { 'two.txt': '2' }, 'Two')
  const second = await createPr('--json', '-t', 'Add two things', '-b', '')
  expect(JSON.parse(second.stdout)).toEqual({
    number: 1,
    url: `${server.baseUrl}/admin/app/pulls/1`,
    branch: 'work/one',
    base: 'main',
    created: false,
  })
  expect((await server.api('GET', '/repos/admin/app/pulls/1')).body).toMatchObject({
    title: 'Add two things',
    body: '',
    head: { sha: await gitIn(work, 'rev-parse', 'HEAD') },
  })
  // Neither the branch nor the texts have changed.
  expect((await createPr()).code).toBe(0)
  expect((await server.api('GET', '/repos/admin/app/pulls?state=all')).body).toHaveLength(1)
  const refs = await gitIn(join(server.repos, 'app.git'), 'for-each-ref', '--format=%(refname)')
  expect(refs.split('\n')).toEqual(['refs/heads/main', 'refs/heads/work/one', 'refs/pull/1/head'])
})

test('a draft takes the subject of the last commit, a body can come from standard input', async () => {
  const { server, createPr } = await clonedWorkspace(['sh'])
  const { stdout } = await createPr('--draft', '--json', '--body-file=-')
  expect(JSON.parse(stdout)).toMatchObject({ number: 1, created: true })
  const { body } = await server.api('GET', '/repos/admin/app/pulls/1')
  expect(body).toMatchObject({ title: 'WIP: One', draft: true, body: 'from standard input' })
})

test('what is wrong is said, with the exit code of its kind', async () => {
  const { work, createPr, resolveDirectory } = await clonedWorkspace(['sh'])
  expect(await createPr('--colour')).toMatchObject({ code: 2, stderr: expect.stringContaining('no option --colour') })
  expect(await createPr('--base', 'nowhere')).toMatchObject({
    code: 1,
    stderr: 'create-pr: There is no branch nowhere to merge into.\n',
  })
  expect(await createPr('-t', 'a'.repeat(256))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('a title is'),
  })
  await gitIn(work, 'switch', '-q', 'main')
  expect(await createPr()).toMatchObject({ code: 2, stderr: expect.stringContaining('make a branch first') })
  await gitIn(work, 'switch', '-q', '-c', 'same')
  expect(await createPr()).toMatchObject({ code: 1, stderr: expect.stringContaining('no commits between') })
  await gitIn(work, 'checkout', '-q', '--detach')
  expect(await createPr()).toMatchObject({ code: 2, stderr: expect.stringContaining('detached') })
  rmSync(join(resolveDirectory, 'config.json'))
  expect(await createPr()).toMatchObject({ code: 3, stderr: expect.stringContaining('capability git-server') })
})

test('--promote waits for the host, and prints the address at the forge', async () => {
  const { server, createPr } = await clonedWorkspace(['sh'])
  const asked = createPr('--promote', '-t', 'For upstream')
  const notice = await promotionAskedAt(server)
  expect(notice).toMatchObject({
    repo: 'app',
    request: { pr_title: 'For upstream', branch: 'work/one', target_branch: 'main' },
  })
  const answer = { status: 200, body: { success: true, pr_url: 'https://forge.example/pull/7' } }
  await server.host('POST', `/host/promotions/${notice.id}`, answer)
  expect(await asked).toEqual({ code: 0, stdout: 'https://forge.example/pull/7\n', stderr: '' })
})

test('the helper gives the token to the git server alone, and no value of params poses as it', async () => {
  const { server, resolveDirectory } = await clonedWorkspace(['sh'])
  const ask = async (address: string) => {
    const { protocol, host } = new URL(address)
    const input = `protocol=${protocol.replace(':', '')}\nhost=${host}\n\n`
    const { stdout } = await runIn(root, [join(BIN, 'git-credential-resolve'), 'get'], resolveDirectory, input)
    return stdout
  }
  expect(await ask(server.baseUrl)).toBe(`username=resolver\npassword=${server.token}\n`)
  expect(await ask('https://github.com')).toBe('')
  expect(await ask(server.baseUrl.replace('http:', 'https:'))).toBe('')
  expect(await ask('http://127.0.0.1')).toBe('')
  const path = join(resolveDirectory, 'config.json')
  const config = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
  const pose = { type: 'gitea', base_url: 'https://evil.example', token: 'other' }
  writeFileSync(
    path,
    JSON.stringify({ params: { git_provider: pose, text: '\n  "git_provider": {' }, ...config }, null, 2),
  )
  expect(await ask('https://evil.example')).toBe('')
  expect(await ask(server.baseUrl)).toContain(server.token)
})

interface Pull {
  title: string
  body: string
}

async function clonedWorkspace(shell: readonly string[]) {
  const server = await startGitServer()
  await server.addRepository('app')
  const at = mkdtempSync(join(tmpdir(), 'resolve-create-pr-'))
  onTestFinished(() => rmSync(at, { recursive: true, force: true }))
  const work = join(at, 'app')
  await gitIn(at, 'clone', '--quiet', server.cloneUrl('app'), work)
  await gitIn(work, 'remote', 'set-url', 'origin', `${server.baseUrl}/admin/app.git`)
  await gitIn(work, 'switch', '-q', '-c', 'work/one')
  await commitFiles(work, { 'one.txt': '1' }, 'One')
  const resolveDirectory = join(at, '.resolve')
  mkdirSync(resolveDirectory)
  const git_provider = { type: 'gitea', base_url: server.baseUrl, token: server.token }
  writeFileSync(join(resolveDirectory, 'config.json'), JSON.stringify({ params: {}, git_provider }, null, 2))
  const createPr = async (...args: string[]) =>
    await runIn(work, [...shell, join(BIN, 'create-pr'), ...args], resolveDirectory, 'from standard input')
  return { server, work, resolveDirectory, createPr }
}

async function runIn(cwd: string, [program = '', ...args]: string[], resolveDirectory: string, input: string) {
  const { promise, resolve } = Promise.withResolvers<{ code: number; stdout: string; stderr: string }>()
  const env = { ...TEST_GIT_ENVIRONMENT, RESOLVE_DIR: resolveDirectory }
  const child = execFile(program, args, { cwd, env }, (error, stdout, stderr) =>
    resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
  )
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  return await promise
}

async function promotionAskedAt(server: TestGitServer): Promise<{ id: string; repo: string; request: unknown }> {
  for await (const notice of server.feed()) {
    if (notice.kind === 'promotion') return notice as never
  }
  throw new Error('the feed ended')
}
