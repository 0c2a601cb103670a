/** Trees that a resolver leaves to mislead the host: read through the doors of consumers, nothing of them runs (threats WORK-1). */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { asksFor, eachWithGitPlatform } from '../support/git-setting.ts'
import type { GitUpstream } from '../support/git-upstream.ts'
import { createdOn, eventsOf } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'

let home: string
let outside: string
let platform: LocalPlatform
let upstream: GitUpstream

eachWithGitPlatform((made) => {
  ;({ home, platform, upstream } = made)
  outside = mkdtempSync(join(tmpdir(), 'trees-'))
})

afterEach(() => rmSync(outside, { recursive: true, force: true }))

const START = { 'a.txt': 'one\n', 'b/c.txt': 'c\n', 'was-file': 'file\n', 'was-dir/x': 'dir\n' }

/** Runs the body of a function in the clone, and the instance to its end. `clone`, `sh(line)`, `fs`, `outside` are in reach. */
async function worked(body: string): Promise<string> {
  upstream.create('org/app', START)
  const behaviour = `
    const { execFileSync } = await import('node:child_process')
    const clone = me.config.workspace[0].path, outside = me.config.params.outside
    const sh = (line) => execFileSync('sh', ['-ec', line], { cwd: clone, stdio: 'pipe', maxBuffer: 1e9 })
    ${body}
    me.finish({ status: 'completed' })`
  const asks = asksFor(['org/app'])
  const id = await createdOn(platform, plainResolver(behaviour, {}, asks), { input: { outside }, host: 'here' })
  await platform.over(id)
  return id
}

const warned = (id: string) =>
  eventsOf(home, id).flatMap(({ event: { data } }) => (data['kind'] === 'snapshot_failed' ? [data['detail']] : []))

const ONE_LINE = { files_total: 1, files: [{ path: 'a.txt', additions: 1, deletions: 0 }] }

test.each([
  ['core.worktree elsewhere', `sh('git config core.worktree ' + outside + ' && echo two >> a.txt')`, ONE_LINE],
  [
    'an include of a file outside',
    `sh('git config include.path ' + outside + '/config && echo two >> a.txt')`,
    ONE_LINE,
  ],
  ['alternates', `sh('echo ' + outside + ' > .git/objects/info/alternates; echo two >> a.txt')`, ONE_LINE],
  [
    'a sparse checkout',
    `sh('git sparse-checkout set b; git config core.sparseCheckoutCone true; git checkout -q .')`,
    {
      files_total: 0,
      skipped: [],
    },
  ],
  [
    'skipped and unchanged files of its index',
    `sh('echo two >> a.txt; git update-index --assume-unchanged a.txt; git update-index --skip-worktree a.txt')`,
    ONE_LINE,
  ],
  ['.git as a link', `sh('mv .git ../moved; ln -s ../moved .git; echo two >> a.txt')`, ONE_LINE],
  ['.git as a file', `sh('rm -rf .git; echo "gitdir: /proc/self/root" > .git; echo two >> a.txt')`, ONE_LINE],
  [
    'a named pipe as .gitignore and .gitattributes',
    `sh('mkfifo .gitignore .gitattributes b/.gitignore b/.gitattributes; echo two >> a.txt')`,
    ONE_LINE,
  ],
  ['no .git', `sh('rm -rf .git; echo two >> a.txt')`, ONE_LINE],
  ['a broken .git', `sh('rm -rf .git; mkdir .git; echo "[core" > .git/config; echo two >> a.txt')`, ONE_LINE],
  [
    'an index with another content',
    `sh('git rm -q --cached b/c.txt; printf x > .git/index; echo two >> a.txt')`,
    ONE_LINE,
  ],
])('%s has no effect on the difference (S-DIR-15-TREE)', async (what, body, expected) => {
  writeFileSync(join(outside, 'config'), '[core]\n\tfileMode = false\n\tfsmonitor = /bin/false\n')
  const id = await worked(body)
  expect(warned(id)).toEqual([])
  const diff = await platform.git.diff(id, 'app', { patch: true })
  if (what === 'a sparse checkout') {
    // Files that it took out of the tree are gone, as they are on disk.
    expect(diff.files.map(({ change }) => change)).toEqual(diff.files.map(() => 'deleted'))
    return
  }
  expect(diff).toMatchObject(expected)
})

test('a link in place of the clone or of the workspace is no clone: nothing behind it is read (threats WORK-2)', async () => {
  mkdirSync(join(outside, 'app'))
  writeFileSync(join(outside, 'app', 'canary'), 'canary of the host')
  for (const body of [
    `fs.rmSync(clone, { recursive: true }); fs.symlinkSync(outside + '/app', clone)`,
    `const { dirname } = await import('node:path'); const workspace = dirname(clone)
    fs.renameSync(workspace, dirname(workspace) + '/moved'); fs.symlinkSync(outside, workspace)`,
  ]) {
    const id = await worked(body)
    await expect(platform.git.diff(id, 'app', { patch: true })).rejects.toMatchObject({ code: 'change_unknown' })
    const { snapshots } = await platform.git.commits(id, 'app')
    expect(snapshots).toEqual([])
    const { removed } = await platform.prune({ older_than_ms: 0, dry_run: true })
    expect(removed.filter(({ unpromoted }) => unpromoted !== undefined)).toEqual([])
    rmSync(upstream.pathOf('org/app'), { recursive: true })
  }
})

test('names with line feeds, control characters and other bytes are kept, and are shown without them (threats WORK-5)', async () => {
  const id = await worked(`
    const make = (name) => fs.writeFileSync(clone + '/' + name, 'content of ' + name + '\\n')
    for (const name of ['line\\nfeed', 'es\\x1b[31mcape', 'quote"d', 'tab\\tbed', ' space ', '-dash', ':(top)magic', 'ümlaut', '*']) make(name)
    fs.writeFileSync(Buffer.concat([Buffer.from(clone + '/'), Buffer.from([0x66, 0xff])]), 'bytes\\n')
    fs.mkdirSync(clone + '/.GIT'); make('.GIT/config')
    fs.symlinkSync('a.txt', clone + '/.gitmodules')
    fs.writeFileSync(clone + '/refused\\n.enc', 'odd')
    fs.writeFileSync(clone + '/.gitattributes', '*.enc working-tree-encoding=UTF-16\\n')
    fs.rmSync(clone + '/was-file'); fs.mkdirSync(clone + '/was-file'); make('was-file/in')
    fs.rmSync(clone + '/was-dir', { recursive: true }); make('was-dir')`)
  expect(warned(id)).toEqual([])
  const diff = await platform.git.diff(id, 'app')
  expect(diff.skipped).toEqual([
    { path: '.GIT/config', reason: 'unreadable' },
    { path: '.gitmodules', reason: 'unreadable' },
  ])
  expect(diff.files.map(({ path, change }) => `${change} ${path}`).toSorted()).toEqual(
    [
      'added *',
      'added -dash',
      'added .gitattributes',
      'added :(top)magic',
      'added escape',
      'added f\ufffd',
      'added line feed',
      'added quote"d',
      'added refused .enc',
      'added space',
      'added tab bed',
      'added was-dir',
      'added was-file/in',
      'added ümlaut',
      'deleted was-dir/x',
      'deleted was-file',
    ].toSorted(),
  )
  for (const path of ['line feed', ':(top)magic', '*']) {
    const one = await platform.git.diff(id, 'app', { path, patch: true })
    expect(one.files_total, path).toBe(1)
    expect(one.patch, path).toMatch(/^diff --git /)
  }
})

test('a difference that is too long is cut at the end of a line, and says so', async () => {
  const id = await worked(`fs.writeFileSync(clone + '/long', ('x'.repeat(99) + '\\n').repeat(60_000))`)
  const diff = await platform.git.diff(id, 'app', { patch: true })
  expect(diff).toMatchObject({ additions: 60_000, patch_cut: true })
  expect(diff.patch?.length).toBeLessThanOrEqual(4 * 1024 * 1024)
  expect(diff.patch?.endsWith('x\n')).toBe(true)
})

test('of 100,000 new files as many as the limit says are kept, and the others are named (threats WORK-4)', {
  timeout: 240_000,
}, async () => {
  const id = await worked(`
    for (let folder = 0; folder < 100; folder += 1) {
      fs.mkdirSync(clone + '/f' + folder)
      for (let file = 0; file < 1_000; file += 1) fs.writeFileSync(clone + '/f' + folder + '/' + file, '')
    }`)
  expect(warned(id)).toEqual([])
  const diff = await platform.git.diff(id, 'app')
  expect(diff).toMatchObject({ files_total: 50_000, additions: 0 })
  expect(diff.files).toHaveLength(3_000)
  expect(diff.skipped.length).toBe(50)
  expect(new Set(diff.skipped.map(({ reason }) => reason))).toEqual(new Set(['too_many']))
  expect(diff.skipped_total).toBe(50_000)
})
