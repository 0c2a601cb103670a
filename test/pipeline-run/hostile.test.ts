/** Commands, files and values that were made to stop a run: a node fails, and the run goes on (docs/pipelines.md, A run). */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Bench, newBench, scriptOf } from './running.ts'

let bench: Bench

beforeEach(() => {
  bench = newBench()
})

afterEach(async () => {
  await bench.end()
})

const FRAME = 'start [shape=Mdiamond] exit [shape=Msquare]'

// verifies: S-PIPE-12
test('a command that no system starts fails its node: a NUL in it or in its environment, too long a value', async () => {
  const verdict = (value: string) => JSON.stringify({ outcome: 'success', context_updates: { bad: value } })
  bench.write({ 'script.json': scriptOf({ nul: [verdict('a\0b')], long: [verdict('x'.repeat(200_000))] }) })
  const tool = (id: string, more: string) => `${id} [shape=parallelogram, ${more}]`
  const ran = await bench.run(
    `digraph unstartable {
      ${FRAME}
      nul [prompt="x"] long [prompt="x"]
      ${tool('one', 'tool_command="true", tool_env="bad"')}
      ${tool('two', 'tool_command="echo $bad"')}
      ${tool('three', 'tool_command="true", tool_env="bad"')}
      ${tool('four', 'tool_command="echo $bad"')}
      ${tool('last', 'tool_command="echo fine"')}
      start -> nul -> one -> two -> long -> three -> four -> last -> exit
    }`,
    ...['--script', 'script.json'],
  )
  expect(ran, ran.stderr).toMatchObject({ status: 'completed', context: { 'tool.output': 'fine\n' } })
  expect(ran.passed_over.map(({ node_id: id, reason }) => [id, /can't be started/.test(reason)])).toEqual(
    ['one', 'two', 'three', 'four'].map((id) => [id, true]),
  )
})

test('JSON of a command that is thousands of levels deep is no JSON for the context', async () => {
  const ran = await bench.run(`digraph deep {
    ${FRAME}
    deep [shape=parallelogram, parse_json=true, tool_command="printf '{\\"x\\":'; printf '[%.0s' $(seq 20000); printf ']%.0s' $(seq 20000); printf '}'"]
    start -> deep -> exit
  }`)
  expect(ran, ran.stderr).toMatchObject({ code: 0, status: 'completed' })
  expect(ran.context['x']).toBeUndefined()
})

test('a command prints 300 MB: its end is kept', async () => {
  const ran = await bench.run(`digraph loud {
    ${FRAME}
    loud [shape=parallelogram, tool_command="head -c 300000000 /dev/zero | tr '\\\\0' x; echo; echo done"]
    start -> loud -> exit
  }`)
  expect(ran, ran.stderr).toMatchObject({ code: 0, status: 'completed', context: { 'tool.last_line': 'done' } })
  expect(bench.data(ran.id, 'nodes/loud/output.txt').length).toBeLessThanOrEqual(1024 * 1024)
})

test('what a command leaves in the background does not print into the next ones, and each can open its streams again', async () => {
  const ran = await bench.run(`digraph streams {
    ${FRAME}
    node [shape=parallelogram]
    left [tool_command="(while [ ! -e stop ]; do echo left; sleep 0.02; done) & echo one"]
    two [tool_command="echo two > /dev/stdout; echo err > /dev/stderr; exit 1"]
    three [tool_command="echo three; touch stop"]
    start -> left -> two -> three -> exit
  }`)
  expect(ran, ran.stderr).toMatchObject({ status: 'completed' })
  expect(bench.data(ran.id, 'nodes/two/output.txt')).toBe('two\n\n[stderr]\nerr\n')
  expect(bench.data(ran.id, 'nodes/three/output.txt')).toBe('three\n')
})

test('a child pipeline that is a FIFO, a link out of its folder, a directory or too large fails its node', async () => {
  const repo = join(bench.folder, 'repo')
  mkdirSync(repo)
  const call = (id: string) => `${id} [shape=folder, dot_file="$${id}"]`
  const kinds = ['fifo', 'link', 'folder', 'large', 'text']
  const graph = `digraph children {
    ${FRAME}
    ${kinds.map(call).join('\n')}
    make [shape=parallelogram, tool_command="mkfifo fifo.dot; ln -s /etc/passwd link.dot; mkdir folder.dot; head -c 2000000 /dev/zero | tr '\\\\0' ' ' > large.dot; printf '\\\\377' > text.dot"]
    start -> make -> ${kinds.join(' -> ')} -> end_of_all -> exit
    end_of_all [shape=parallelogram, tool_command="echo fine"]
  }`
  writeFileSync(join(repo, 'flow.dot'), graph)
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@x.example', ...words], { cwd: repo, stdio: 'ignore' })
  git('init', '-q')
  git('add', '.')
  git('commit', '-q', '-m', 'x')
  const inputs = kinds.flatMap((id) => ['-i', `${id}=${id}.dot`])
  const given = ['pipeline', 'run', 'flow.dot', '--repository', repo, '--json', '--on-input', 'leave', ...inputs]
  const { stdout, stderr } = await bench.place.with(
    { cwd: bench.folder, env: { RESOLVE_GIT_LOCAL: bench.folder } },
    ...given,
  )
  const ran = JSON.parse(stdout) as { status: string; passed_over: { node_id: string }[]; context: object }
  expect(ran, stderr).toMatchObject({ status: 'completed', context: { 'tool.output': 'fine\n' } })
  expect(ran.passed_over.map(({ node_id: id }) => id)).toEqual(kinds)
})

test('a file of replies or of inputs without an end is refused', async () => {
  bench.write({ 'main.dot': `digraph { ${FRAME} start -> exit }` })
  for (const flag of ['--script', '--input-file']) {
    const { code, stderr } = await bench.place.with(
      { cwd: bench.folder },
      'pipeline',
      'run',
      'main.dot',
      flag,
      '/dev/zero',
    )
    expect(code, stderr).toBe(5)
    expect(stderr).toContain('16777216')
  }
})
