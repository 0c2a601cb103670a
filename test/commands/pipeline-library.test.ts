// biome-ignore-all lint/suspicious/noTemplateCurlyInString: shell code.
/** The pipelines that ship with the program, each run with a script of replies on a real repository, through the built program. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LlmServer, type LlmTurn } from '../support/llm-server.ts'
import { type Home, newHome } from './cli.ts'

let place: Home
let scratch: string
let app: string

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@localhost', ...args], { cwd: app, encoding: 'utf8' })

beforeAll(() => {
  place = newHome()
  scratch = mkdtempSync(join(tmpdir(), 'resolve-library-'))
  app = join(scratch, 'app')
  mkdirSync(app)
  git('init', '--quiet', '--initial-branch=main')
  writeFileSync(join(app, 'sum.sh'), 'echo $(($1 + $2))\n')
  writeFileSync(join(app, 'README.md'), '# Sum\n\n`sh sum.sh 1 2` prints 4.\n')
  writeFileSync(join(app, 'test.sh'), 'test "$(sh sum.sh 1 2)" = 3\n')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'Adds two numbers')
  git('tag', 'v1')
  git('branch', 'old')
  writeFileSync(join(app, 'sum.sh'), 'echo $(($1 + ${2:-0}))\n')
  git('commit', '--quiet', '--all', '--message', 'The second number may be missing')
})

afterAll(async () => {
  await place.end()
  rmSync(scratch, { recursive: true, force: true })
})

interface Document {
  instance_id: string
  status: string
  output: string | null
  error: { detail: string } | null
  visited: string[]
  context: Record<string, unknown>
  artifacts: { kind: string; value: string }[]
}

async function run(name: string, inputs: Record<string, string>, replies: Record<string, unknown[]>) {
  const script = join(scratch, `${name}.json`)
  writeFileSync(script, JSON.stringify({ version: 1, replies }))
  const given = Object.entries({ repository: app, ...inputs }).flatMap(([key, value]) => ['-i', `${key}=${value}`])
  const ran = await place.with(
    { env: { RESOLVE_GIT_LOCAL: scratch } },
    ...['pipeline', 'run', name, ...given, '--script', script, '--executor', 'local', '--json'],
  )
  expect(ran.stdout, ran.stderr).toMatch(/^\{/)
  return { code: ran.code, ...(JSON.parse(ran.stdout) as Document) }
}

test('the library lists five pipelines, and a strict check finds nothing in them', async () => {
  const names = ['bug-fix', 'code-review', 'docs-check', 'plan-build-review', 'release-notes']
  const listed = JSON.parse((await place.run('pipeline', 'list', '--json')).stdout) as { pipelines: { name: string }[] }
  expect(listed.pipelines.map(({ name }) => name)).toEqual(names)
  for (const name of names) {
    const checked = await place.run('pipeline', 'check', name, '--strict')
    expect(checked, checked.stdout).toMatchObject({ code: 0 })
  }
})

test('plan-build-review: a plan that is changed once, tests and a review that fail once, and a pull request', async () => {
  const right = { 'sum.sh': 'test $# -gt 0 || exit 2\necho $(($1 + ${2:-0}))\n' }
  const done = await run(
    'plan-build-review',
    { task: 'Refuse no number', test_command: 'sh test.sh' },
    {
      plan: ['Print usage.', 'End with 2.'],
      approve: ['C', 'Y'],
      remarks: ['No usage, please.'],
      build: [
        { text: 'Broken', files: { 'sum.sh': 'false\n' } },
        { text: 'Half', files: right },
        { text: 'Whole', files: right },
      ],
      review: [
        { text: '{"outcome": "fail", "context_updates": {"review.findings": "sum.sh:1 is not tested"}}' },
        { status: 'success' },
      ],
      describe: ['{"outcome": "success", "context_updates": {"title": "Refuse no number", "body": "It ends with 2."}}'],
    },
  )
  expect(done, JSON.stringify(done.error)).toMatchObject({ code: 0, status: 'completed' })
  expect(done.visited.filter((node) => ['plan', 'build', 'test', 'review'].includes(node))).toEqual([
    'plan',
    'plan',
    'build',
    'test',
    'build',
    'test',
    'review',
    'build',
    'test',
    'review',
  ])
  expect(done.context).toMatchObject({ delivered: 'pull request', title: 'Refuse no number' })
  const pulls = await place.run('instance', 'show', done.instance_id)
  expect(pulls.stdout).toContain('Refuse no number')
}, 60_000)

test('bug-fix: a test that does not fail is written again', async () => {
  const fails = { 'test.sh': 'test "$(sh sum.sh 1 2)" = 3 && test "$(sh sum.sh 1 2 3)" = 6\n' }
  const done = await run(
    'bug-fix',
    { bug: 'A third number is lost', test_command: 'sh test.sh' },
    {
      reproduce: ['Seen.', { text: 'Now it fails.', files: fails }],
      mend: [{ text: 'Mended.', files: { 'sum.sh': 'echo $(($1 + ${2:-0} + ${3:-0}))\n' } }],
      review: [{ status: 'success' }],
      describe: ['{"outcome": "success", "context_updates": {"title": "A third number counts", "body": ""}}'],
    },
  )
  expect(done, JSON.stringify(done.error)).toMatchObject({ code: 0, status: 'completed' })
  expect(done.visited).toEqual([
    'start',
    'reproduce',
    'fails',
    'reproduce',
    'fails',
    'mend',
    'passes',
    'review',
    'describe',
    'deliver',
    'exit',
  ])
}, 60_000)

test('code-review: three reviews side by side become one report, which is the output', async () => {
  const replies = { correctness: ['sum.sh:1 fails for words'], security: ['Nothing'], tests: ['No test of one number'] }
  const done = await run('code-review', { base: 'old' }, { ...replies, report: ['One finding holds.'] })
  expect(done, JSON.stringify(done.error)).toMatchObject({ code: 0, status: 'completed', output: 'One finding holds.' })
  const prompt = await place.run('instance', 'data', done.instance_id, 'nodes/report/prompt.md')
  for (const [finding] of Object.values(replies)) expect(prompt.stdout).toContain(finding)
  const without = await run('code-review', { base: 'main' }, replies)
  expect(without).toMatchObject({ code: 1, status: 'failed' })
  expect(without.error?.detail).toContain('There is no change against main.')
}, 60_000)

test('docs-check: what is wrong fails the run, or is mended and checked again', async () => {
  const wrong = { text: '{"outcome": "fail", "context_updates": {"docs.findings": "README.md:3 says 4, it is 3"}}' }
  const told = await run('docs-check', {}, { compare: [wrong], decide: ['R'] })
  expect(told).toMatchObject({ code: 1, status: 'failed' })
  expect(told.error?.detail).toContain('README.md:3 says 4, it is 3')
  const mended = await run(
    'docs-check',
    {},
    {
      compare: [wrong, { status: 'success' }],
      decide: ['Mend them'],
      mend: [{ text: 'Done', files: { 'README.md': '# Sum\n\n`sh sum.sh 1 2` prints 3.\n' } }],
    },
  )
  expect(mended, JSON.stringify(mended.error)).toMatchObject({ code: 0, status: 'completed' })
  expect(mended.context).toMatchObject({ delivered: 'pull request' })
}, 60_000)

test('release-notes: the notes of the commits since the last tag, in the file that must be written', async () => {
  const done = await run(
    'release-notes',
    { version: '2.0' },
    {
      draft: ['# 2.0\n\n- The second number may be missing.'],
      approve: ['yes, write them'],
      write: [
        'Forgotten',
        { text: 'Written', files: { 'CHANGELOG.md': '# 2.0\n\n- The second number may be missing.\n' } },
      ],
    },
  )
  expect(done, JSON.stringify(done.error)).toMatchObject({ code: 0, status: 'completed' })
  const commits = await place.run('instance', 'data', done.instance_id, 'nodes/commits/output.txt')
  expect(commits.stdout).toContain('The second number may be missing')
  expect(commits.stdout).not.toContain('Adds two numbers')
}, 60_000)

const KEY = 'sk-ant-canary-library'
/** Where an agent node is told to write its verdict. */
const STATUS = /\/[^\s"\\]*\/\.pipeline\/[^\s"\\]*\/status\.json/g

test('plan-build-review with the client of a provider: a model plans, edits by its tools and writes its verdict; the change is a pull request', async () => {
  const verdict = ({ text }: { text: string }, value: unknown) => ({
    calls: [{ tool: 'write', input: { path: text.match(STATUS)?.at(-1) ?? '', content: JSON.stringify(value) } }],
  })
  const turns: LlmTurn[] = [
    { text: 'sum.sh ends with 2 where no number is given.' },
    { calls: [{ tool: 'read', input: { path: 'sum.sh' } }] },
    {
      calls: [
        { tool: 'write', input: { path: 'sum.sh', content: 'test $# -gt 0 || exit 2\necho $(($1 + ${2:-0}))\n' } },
      ],
    },
    { text: 'It is done.' },
    { text: 'I think it is fine.' },
    (request) => verdict(request, { outcome: 'fail', context_updates: { 'review.findings': 'No test of no number' } }),
    { text: 'It has a fault.' },
    { calls: [{ tool: 'shell', input: { command: "echo '! sh sum.sh' >> test.sh" } }] },
    { text: 'Now it has a test.' },
    (request) => verdict(request, { outcome: 'success' }),
    { text: 'It is right.' },
    { text: '{"outcome": "success", "context_updates": {"title": "Refuse no number", "body": "It ends with 2."}}' },
  ]
  const llm = await LlmServer.start(turns)
  try {
    const model = {
      RESOLVE_LLM_PROVIDER_API_KEY: KEY,
      RESOLVE_LLM_MODEL: 'anthropic/test-1',
      RESOLVE_LLM_BASE_URL: llm.url,
    }
    const env = { ...model, RESOLVE_GIT_LOCAL: scratch }
    const inputs = ['task=Refuse no number', `repository=${app}`, 'test_command=sh test.sh']
    const words = ['pipeline', 'run', 'plan-build-review', ...inputs.flatMap((one) => ['-i', one])]
    const ran = await place.with({ env }, ...words, '--auto-approve', '--executor', 'local', '--json')
    const done = JSON.parse(ran.stdout) as Document
    expect(done, ran.stderr).toMatchObject({ status: 'completed', error: null })
    expect(llm.requests).toHaveLength(turns.length)
    expect(done.visited.slice(1)).toEqual([
      'plan',
      'approve',
      'build',
      'test',
      'review',
      'build',
      'test',
      'review',
      'describe',
      'deliver',
      'exit',
    ])
    // The second session was asked for its verdict, and the builder goes on in the session of the plan.
    expect(llm.requests[5]?.text).toContain('You gave no verdict.')
    expect(llm.requests[7]?.text).toContain('No test of no number')
    expect(llm.requests[7]?.text).toContain('sum.sh ends with 2 where no number is given.')
    expect(llm.requests[9]?.text).not.toContain('"role":"assistant"')
    expect(done.artifacts).toContainEqual(expect.objectContaining({ kind: 'pr', value: done.context['pull_request'] }))
    expect((await place.run('instance', 'pull', done.instance_id, '--into', app)).code).toBe(0)
    const log = git('log', '--all', '--format=%s%n%b', '--stat')
    expect(log).toMatch(/Refuse no number\n+It ends with 2\.[\s\S]*sum\.sh[\s\S]*test\.sh/)
    const sessions = await place.run('instance', 'transcript', done.instance_id)
    for (const name of ['work', 'review', 'review-2']) expect(sessions.stdout).toMatch(new RegExp(`^${name} `, 'm'))
  } finally {
    await llm.close()
  }
}, 60_000)
