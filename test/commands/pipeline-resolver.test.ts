/** A pipeline as a resolver of its own: added by its folder or its file, listed, checked and asked for its form, through the built program. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
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
    source: folder,
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
