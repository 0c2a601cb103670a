/** Where tools begin to work: the config and the SDK say the same (docs/git.md, The clone). */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { type GitUpstream, openUpstream } from '../support/git-upstream.ts'
import { temporaryHome, until } from '../support/instances.ts'
import { platformOn } from '../support/platforms.ts'

let home: string
let dir: string
let platform: LocalPlatform
let upstream: GitUpstream

beforeEach(async () => {
  home = temporaryHome()
  dir = mkdtempSync(join(tmpdir(), 'resolve-works-in-'))
  upstream = await openUpstream()
  for (const name of ['org/app', 'org/lib']) upstream.create(name, { [`${name.slice(4)}.txt`]: 'x' })
  vi.stubEnv('RESOLVE_GIT_BASE_URL', upstream.base)
  platform = await platformOn(home)
  const manifest = {
    name: 'works-in',
    version: '1.0.0',
    description: 'Looks around',
    command: ['node', 'resolver.mjs'],
  }
  writeFileSync(join(dir, 'manifest.json'), JSON.stringify(manifest))
  writeFileSync(
    join(dir, 'resolver.mjs'),
    `import { execFileSync } from 'node:child_process'
    import { resolver } from 'resolve-platform/sdk'
    resolver({
      workspace: ({ repos }) => repos.length === 0 ? null : ({ repos: repos.map((url) => ({ url })) }),
      async run({ config, workspace, workingDirectory: cwd }) {
        const files = execFileSync('ls', { cwd, encoding: 'utf8' }).trim().split('\\n').join(' ')
        return JSON.stringify({ cwd, told: config.working_directory, names: workspace.map(({ name }) => name), files })
      },
    }).serve()`,
  )
  await (await platform.catalog()).add(dir, { cwd: home })
})

afterEach(async () => {
  await platform.close()
  await upstream.close()
  vi.unstubAllEnvs()
  for (const place of [home, dir]) rmSync(place, { recursive: true, force: true })
})

test.each([
  ['one repository is where tools begin', ['org/app'], '/app', 'app.txt'],
  ['with several they begin in the workspace', ['org/app', 'org/lib'], '', 'app lib'],
  ['without one they begin in the workspace', [], '', ''],
])('%s (S-DIR-09-CWD)', async (_, repos, below, files) => {
  const { instance_id: id } = await platform.create({ resolver: 'works-in', input: { repos } })
  const story = await until(home, id, ({ status }) => ['completed', 'failed'].includes(status), 20_000)
  expect(story.error).toBeNull()
  const cwd = `${join(instancePaths(home, id).project, 'workspace')}${below}`
  const names = repos.map((repo) => repo.slice(4))
  expect(JSON.parse(story.output as string)).toEqual({ cwd, told: cwd, names, files })
})
