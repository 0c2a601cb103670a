/** Jobs of GitHub Actions: annotations, the step summary, and the steps of the action (action.yml), run as the runner runs them. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { doer, type Home, newHome } from './cli.ts'
import { startServe } from './serving.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'resolve-ci-'))
const resolver = doer()
let place: Home

beforeAll(async () => {
  place = newHome()
  expect((await place.run('resolver', 'add', resolver)).code).toBe(0)
})

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await place.end()
})

const job = (summary: string) => ({ CI: 'true', GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: join(folder, summary) })

describe('in a job of GitHub Actions', () => {
  test('input that is not valid and a server that cannot be reached are annotations', async () => {
    const invalid = await place.with({ env: job('a.md') }, 'run', 'doer', '-i', 'count=many')
    expect(invalid.code).toBe(5)
    expect(invalid.stderr).toMatch(/^::error::Validation failed%0A .*Say what to do\./m)
    const unreachable = await place.with(
      { env: job('a.md') },
      'run',
      'doer',
      '--json',
      '--server',
      'http://127.0.0.1:9',
    )
    expect(unreachable.code).toBe(10)
    expect(unreachable.stderr).toMatch(/^::error::Can't reach the server/m)
  })

  test.each([
    [2, '::error::', ['run', 'doer', '-i', 'dooo=x']],
    [2, '::error::', ['run', 'doer', '--nope']],
    [6, '::error::', ['run', 'doing']],
    [127, '::error::', ['rum', 'doer']],
    [8, '::warning title=doer ', ['run', 'doer', '-i', 'do=ask']],
    [8, '::warning title=doer ', ['run', 'doer', '-i', 'do=ask', '--jsonl']],
    [3, '::error title=doer ', ['run', 'doer', '-i', 'do=ask', '--on-input', 'cancel', '--json', '-q']],
    [124, '::error title=doer ', ['run', 'doer', '-i', 'do=ask', '--on-input', 'wait', '--timeout', '1s']],
  ])('an end with exit code %i is an annotation: %s', async (wanted, begin, words) => {
    const { code, stderr } = await place.with({ env: job('b.md') }, ...words)
    expect(code, stderr).toBe(wanted)
    const [annotation, ...more] = stderr
      .split('\n')
      .filter((line) => line.startsWith('::') && !/^::(?:end)?group/.test(line))
    expect([annotation?.startsWith(begin), more], stderr).toEqual([true, []])
    if (code === 8) expect(annotation).toMatch(/%0Aresolve instance answer [0-9a-f]{12} gate-1 -i /)
  })

  test('a command that asks for something that is not there is no annotation', async () => {
    const { code, stderr } = await place.with({ env: job('a.md') }, 'resolver', 'show', 'nope')
    expect([code, stderr]).toEqual([6, expect.not.stringContaining('::error')])
  })

  test('the outcome of an instance that was left with a question reaches the summary of the step that waits', async () => {
    const env = job('wait.md')
    const left = await place.with({ env }, 'run', 'doer', '-i', 'do=ask', '--json')
    expect(left.code).toBe(8)
    const { instance_id: id } = JSON.parse(left.stdout) as { instance_id: string }
    const before = readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8')
    expect(before).toContain('Waiting for an answer')
    expect((await place.run('instance', 'answer', id, '-i', 'go=yes', '-i', 'why=ci')).code).toBe(0)
    expect((await place.with({ env }, 'instance', 'wait', id)).code).toBe(0)
    const after = readFileSync(env.GITHUB_STEP_SUMMARY, 'utf8').slice(before.length)
    expect(after).toContain('✓ doer completed')
    expect(after).toContain('went on')
  })

  test('wait annotates an instance that failed', async () => {
    const { stdout } = await place.run('run', 'doer', '-i', 'do=fail', '--detach')
    const { code, stderr } = await place.with({ env: job('fail.md') }, 'instance', 'wait', stdout.trim())
    expect(code).toBe(1)
    expect(stderr).toMatch(/^::error title=doer failed::.*It broke badly/m)
  })
})

interface Step {
  name: string
  id?: string
  if?: string
  shell?: string
  env?: Record<string, string>
  run?: string
}

interface Action {
  inputs: Record<string, { description: string; required?: boolean; default?: string }>
  outputs: Record<string, { description: string; value: string }>
  runs: { using: string; steps: Step[] }
}

const action = parse(readFileSync(join(root, 'action.yml'), 'utf8')) as Action

describe('the action', () => {
  test('has shell steps whose scripts contain no expression, and every input has a use and a line in docs/ci.md', () => {
    const page = readFileSync(join(root, 'docs', 'ci.md'), 'utf8')
    expect(action.runs.using).toBe('composite')
    for (const { run = '', shell } of action.runs.steps) {
      expect(run).not.toContain('${{')
      expect(shell).toBe('bash')
      expect(spawnSync('bash', ['-n'], { input: run, encoding: 'utf8' }).stderr).toBe('')
    }
    const used = action.runs.steps.flatMap(({ env = {}, if: condition = '' }) => [...Object.values(env), condition])
    for (const name of Object.keys(action.inputs)) {
      expect({ name, used: used.some((text) => text.includes(`inputs.${name} `)) }).toEqual({ name, used: true })
      expect(page).toContain(`\`${name}\``)
    }
    for (const [name, { value }] of Object.entries(action.outputs)) {
      expect(value).toBe(`\${{ steps.run.outputs.${name} }}`)
      expect(page).toContain(`\`${name}\``)
    }
  })

  test('runs a resolver with input and answers, and gives its result to the next steps', () => {
    const input = '{"do": "ask", "note": "$(touch owned) `id` \\"quoted\\""}'
    const answers = '{"gate*": {"go": "yes", "why": "two\\nlines"}}'
    const { code, outputs, paths } = runAction({ resolver: 'doer', source: resolver, input, answers })
    expect(code).toBe(0)
    expect(outputs).toMatchObject({ status: 'completed', 'exit-code': '0', output: 'went on: yes because two\nlines' })
    expect(outputs['instance-id']).toMatch(/^[0-9a-f]{12}$/)
    const document = JSON.parse(readFileSync(outputs['document'] ?? '', 'utf8')) as { input: unknown }
    expect(document.input).toEqual(JSON.parse(input))
    expect(existsSync(join(paths[0] ?? '', 'resolve'))).toBe(true)
    expect(existsSync(join(folder, 'owned'))).toBe(false)
  })

  test('ends with the exit code of the run, and its outputs say what is open', () => {
    const left = runAction({ resolver: 'doer', input: '{"do": "ask"}' })
    expect([left.code, left.outputs['status'], left.outputs['exit-code']]).toEqual([8, 'awaiting_input', '8'])
    const unknown = runAction({ resolver: '--help' })
    expect([unknown.code, unknown.outputs['instance-id']]).toEqual([6, ''])
  })
})

describe('the action with a server', () => {
  test('adds the resolver there, not on the runner', async () => {
    const over = newHome()
    const token = (await over.run('token', 'create', '--scope', 'admin')).stdout.trim()
    const server = await startServe(over.home, ['--no-ui', '--uploads'])
    const source = join(folder, 'sent')
    mkdirSync(source)
    const manifest = {
      name: 'sent',
      version: '1.0.0',
      description: 'Is sent',
      command: ['node', 'x.mjs'],
      container: {},
    }
    writeFileSync(join(source, 'manifest.json'), JSON.stringify(manifest))
    try {
      // Its program is missing, or there is no engine: the run fails after it was added.
      const { code } = runAction({ resolver: 'sent', source, server: server.url, token, timeout: '60s' })
      expect(code).not.toBe(0)
      expect(await over.run('resolver', 'show', 'sent')).toMatchObject({ code: 0 })
      expect(await place.run('resolver', 'show', 'sent')).toMatchObject({ code: 6 })
    } finally {
      server.kill('SIGTERM')
      await server.ended
      await over.end()
    }
  }, 120_000)
})

/** Runs the steps as the runner does: expressions are replaced in `if` and `env`, and the script runs in bash. */
function runAction(given: Record<string, string>): { code: number; outputs: Record<string, string>; paths: string[] } {
  const temp = mkdtempSync(join(folder, 'runner-'))
  const [output, path] = [join(temp, 'output'), join(temp, 'path')]
  for (const file of [output, path]) writeFileSync(file, '')
  const inputs = Object.fromEntries(
    Object.entries(action.inputs).map(([name, { default: standing = '' }]) => [name, given[name] ?? standing]),
  )
  const filled = (text: string) =>
    text.replace(/\$\{\{ inputs\.([a-z-]+) \}\}/g, (_, name: string) => inputs[name] ?? '')
  // The install step builds the checkout; this test uses the build that exists.
  const npm = join(temp, 'npm')
  mkdirSync(npm)
  writeFileSync(join(npm, 'npm'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
  let code = 0
  for (const { run = '', env = {}, if: condition } of action.runs.steps) {
    if (condition !== undefined && inputs['source'] === '') continue
    const added = readFileSync(path, 'utf8').split('\n').filter(Boolean)
    const own = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, filled(value)]))
    const node = join(process.execPath, '..')
    const ended = spawnSync('bash', ['--noprofile', '--norc', '-e', '-o', 'pipefail', '-c', run], {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...process.env,
        ...job('action.md'),
        ...own,
        PATH: [...added, npm, node, process.env['PATH']].join(':'),
        ...{ GITHUB_ACTION_PATH: root, RUNNER_TEMP: temp, GITHUB_OUTPUT: output, GITHUB_PATH: path },
        RESOLVE_HOME: place.home,
      },
    })
    code = ended.status ?? -1
    if (code !== 0) break
  }
  const outputs: Record<string, string> = {}
  for (const [, name = '', , value = ''] of readFileSync(output, 'utf8').matchAll(
    /^([\w-]+)<<(end_\S+)\n([\s\S]*?)\n\2$/gm,
  ))
    outputs[name] = value
  return { code, outputs, paths: readFileSync(path, 'utf8').split('\n').filter(Boolean) }
}
