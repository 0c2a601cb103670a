/** What an instance changed in its repositories: snapshots, differences, bundles, through the doors of consumers (docs/git.md). */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { type GitUpstream, gitText, openUpstream } from '../support/git-upstream.ts'
import { eventsOf, temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

let home: string
let outside: string
let platform: LocalPlatform
let upstream: GitUpstream

beforeEach(async () => {
  home = temporaryHome()
  outside = mkdtempSync(join(tmpdir(), 'changes-'))
  upstream = await openUpstream()
  vi.stubEnv('RESOLVE_GIT_BASE_URL', upstream.base)
  vi.stubEnv('RESOLVE_GIT_PROVIDER', 'gitea')
  platform = await platformOn(home)
})

afterEach(async () => {
  await platform.close()
  await upstream.close()
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true, force: true })
  rmSync(outside, { recursive: true, force: true })
})

/** Runs shell scripts in the clone of `org/app`, with a phase after each; then it ends, or waits for the file `go`. */
async function worked(scripts: readonly string[], waits = false) {
  const behaviour = `
    const { execFileSync } = await import('node:child_process')
    const cwd = me.config.workspace[0].path
    for (const [at, script] of me.config.params.scripts.entries()) {
      execFileSync('sh', ['-ec', script], { cwd, stdio: 'pipe' })
      me.emit('resolver:phase', { name: 'step ' + (at + 1) })
      await new Promise((resolve) => setTimeout(resolve, 700))
    }
    const { existsSync } = await import('node:fs')
    while (me.config.params.go !== null && !existsSync(me.config.params.go)) await new Promise((resolve) => setTimeout(resolve, 50))
    me.finish({ status: 'completed', output: 'done' })`
  const asks = `me.on['resolver.getWorkspaceSpec'] = () => ({ repos: [{ url: 'org/app' }] })`
  await (await platform.catalog()).add(plainResolver(behaviour, {}, asks).dir, { cwd: home })
  const go = join(outside, 'go')
  const input = { scripts, go: waits ? go : null }
  const { instance_id: id } = await platform.create({ resolver: 'plain', input })
  return { id, go: () => writeFileSync(go, '') }
}

const ended = (id: string) => until(home, id, ({ status }) => ['completed', 'failed'].includes(status))

test('each phase and the end keep a snapshot, and the change can be read afterwards', async () => {
  upstream.create('org/app', { 'a.txt': 'one\n', 'gone.txt': 'x\n', 'src/old.txt': 'a\nb\nc\nd\ne\nf\n' })
  const { id } = await worked([
    'echo two >> a.txt; rm gone.txt; git mv src/old.txt src/new.txt',
    'mkdir deep; printf "\\0\\1" > deep/bin; echo y > deep/y; echo "deep/y" > .gitignore',
  ])
  expect(await ended(id)).toMatchObject({ status: 'completed' })
  const told = eventsOf(home, id).filter(({ event }) => event.event_type === 'platform.git.snapshot')
  expect(told.length).toBeGreaterThan(0)
  const diff = await platform.git.diff(id, 'app', { patch: true })
  expect(diff.files).toEqual([
    { path: '.gitignore', change: 'added', additions: 1, deletions: 0 },
    { path: 'a.txt', change: 'modified', additions: 1, deletions: 0 },
    { path: 'deep/bin', change: 'added', additions: 0, deletions: 0, binary: true },
    { path: 'gone.txt', change: 'deleted', additions: 0, deletions: 1 },
    { path: 'src/new.txt', old_path: 'src/old.txt', change: 'renamed', additions: 0, deletions: 0 },
  ])
  expect(told.at(-1)?.event.data).toMatchObject({ repo: 'app', files: 5, additions: 2, deletions: 1, skipped: [] })
  expect(diff).toMatchObject({ additions: 2, deletions: 1, files_total: 5, patch_cut: false })
  expect(diff.patch).toContain('+two')
  const one = await platform.git.diff(id, 'app', { path: 'a.txt', patch: true, base: 'upstream' })
  expect(one.files).toHaveLength(1)
  expect(one.patch).not.toContain('gone.txt')
  expect(await platform.git.repos(id)).toMatchObject([{ name: 'app', pushed: null, kept: true, base: 'main' }])
  const { snapshots, commits, branches } = await platform.git.commits(id, 'app')
  expect(snapshots.at(-1)).toMatchObject({ commit: diff.head.commit })
  expect([commits, branches]).toEqual([[], []])
  await expect(platform.git.diff(id, 'app', { base: 'pushed' })).rejects.toMatchObject({ code: 'change_unknown' })
  await expect(platform.git.diff(id, 'other')).rejects.toMatchObject({ code: 'repo_unknown' })
})
