/** A pipeline as a resolver of its own: added by its folder or its file, listed, checked and asked for its form, through the built program. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWithDocker, removeContainersOf, testImage } from '../support/docker.ts'
import { serve } from '../support/served.ts'
import { type Home, newHome } from './cli.ts'

let place: Home
let folder: string

beforeAll(() => {
  place = newHome()
  folder = mkdtempSync(join(tmpdir(), 'resolve-pipelines-'))
  writeFileSync(
    join(folder, 'greet.dot'),
    'digraph greet { start -> say -> exit\n say [shape=parallelogram, tool_command="echo \\"$GREETING\\"", tool_env="greeting"] }\n',
  )
  writeFileSync(
    join(folder, 'greet.resolver.yaml'),
    'name: Greet\ndescription: Says something.\nparams:\n  greeting: { input: text, label: Greeting, required: true }\n',
  )
})

afterAll(async () => {
  await place.end()
  rmSync(folder, { recursive: true, force: true })
})

const run = (...args: string[]) => place.with({ cwd: folder }, ...args)

test('a folder with one pipeline is planned as a resolver; beside another it is added by its file', async () => {
  const planned = await run('resolver', 'add', '.', '--dry-run', '--json')
  expect(planned.code).toBe(0)
  expect((JSON.parse(planned.stdout) as { plan: unknown }).plan).toMatchObject({
    name: 'greet',
    version: '1.0.0',
    description: 'Says something',
    kind: 'directory',
    source: join(folder, 'greet.resolver.yaml'),
  })
  writeFileSync(join(folder, 'other.resolver.yaml'), 'pipeline: greet.dot\n')
  const several = await run('resolver', 'add', '.')
  expect(several.code).toBe(5)
  expect(several.stderr).toContain('Add one by its file: greet.resolver.yaml, other.resolver.yaml.')
  for (const file of ['greet.dot', 'greet.resolver.yaml'])
    expect(await run('resolver', 'add', file, '--dry-run')).toMatchObject({ code: 0 })
  writeFileSync(join(folder, 'bare.dot'), 'digraph b { start -> exit }')
  const bare = await run('resolver', 'add', 'bare.dot')
  expect(bare.code).toBe(5)
  expect(bare.stderr).toContain('bare.resolver.yaml')
})

// verifies: S-PIPE-05
test('it is added, asked for its form, run, and read again at each run', async () => {
  rmSync(join(folder, 'other.resolver.yaml'))
  expect(await run('resolver', 'add', '.')).toMatchObject({ code: 0 })
  const schema = await run('resolver', 'schema', 'greet', '--json')
  expect(JSON.parse(schema.stdout)).toMatchObject({
    form: { components: [{ id: 'greeting', type: 'text', label: 'Greeting' }] },
  })
  expect((await run('run', 'greet', '--json')).code).toBe(5)
  const first = await run('run', 'greet', '-i', 'greeting=Hello', '--json')
  expect(JSON.parse(first.stdout)).toMatchObject({ resolver: 'greet', resolver_version: '1.0.0', status: 'completed' })
  const { instance_id: id } = JSON.parse(first.stdout) as { instance_id: string }
  expect((await run('instance', 'data', id, 'nodes/say/output.txt')).stdout).toBe('Hello\n')
  const { events } = JSON.parse((await run('instance', 'events', id, '--json')).stdout) as {
    events: { event_type: string }[]
  }
  expect(events.map(({ event_type: type }) => type)).toContain('greet.node_complete')
  writeFileSync(
    join(folder, 'greet.dot'),
    'digraph greet { start -> say -> exit\n say [shape=parallelogram, tool_command="echo edited"] }',
  )
  const second = JSON.parse((await run('run', 'greet', '-i', 'greeting=x', '--json')).stdout) as { instance_id: string }
  expect((await run('instance', 'data', second.instance_id, 'nodes/say/output.txt')).stdout).toBe('edited\n')
})

test('a pipeline that can’t run is not added, and the reason is told with its place', async () => {
  writeFileSync(join(folder, 'bad.dot'), 'digraph bad { start -> work\n work [prompt="x", max_retries=-1] }')
  writeFileSync(join(folder, 'bad.resolver.yaml'), 'description: Is faulty.\n')
  const { code, stderr } = await run('resolver', 'add', 'bad.dot')
  expect(code).not.toBe(0)
  expect(stderr).toContain('There is no exit node.')
  expect(JSON.parse((await run('resolver', 'list', '--json')).stdout)).not.toMatchObject({
    resolvers: expect.arrayContaining([expect.objectContaining({ name: 'bad' })]),
  })
})

// verifies: S-PIPE-05
test('over a server it is the same resolver, and a pipeline of this machine runs there', async () => {
  const [elsewhere, served] = [newHome(), await serve(place.home)]
  try {
    const env = { RESOLVE_TOKEN: await served.token() }
    const remote = async (...args: string[]) => {
      const { stdout } = await elsewhere.with({ env, cwd: folder }, ...args, '--json', '--server', served.url)
      return JSON.parse(stdout) as unknown
    }
    expect(await remote('resolver', 'schema', 'greet')).toMatchObject({ form: { components: [{ id: 'greeting' }] } })
    expect(await remote('run', 'greet', '-i', 'greeting=x')).toMatchObject({ resolver: 'greet', status: 'completed' })
    writeFileSync(
      join(folder, 'there.dot'),
      'digraph there { start -> say -> sub -> exit\n say [shape=parallelogram, tool_command="echo there"] sub [shape=folder, dot_file="greet.dot"] }',
    )
    expect(await remote('pipeline', 'run', 'there.dot', '-i', 'greeting=x')).toMatchObject({
      resolver: 'pipeline',
      status: 'completed',
      visited: ['start', 'say', 'sub', 'exit'],
    })
  } finally {
    await served.close()
    await elsewhere.end()
  }
})

describeWithDocker('in a container', { timeout: 120_000 }, () => {
  test('a registered pipeline runs by the same command', async () => {
    chmodSync(folder, 0o755)
    try {
      const env = { RESOLVE_WORKER_IMAGE: testImage() }
      const words = ['run', 'greet', '-i', 'greeting=Hello', '--executor', 'docker', '--json']
      const { stdout, stderr } = await place.with({ env, cwd: folder }, ...words)
      expect(JSON.parse(stdout), stderr).toMatchObject({ resolver: 'greet', status: 'completed' })
    } finally {
      await removeContainersOf(place.home)
    }
  })
})
