/** What an instance changed in its repositories: snapshots, differences, bundles, through the doors of consumers (docs/git.md). */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { openRemotePlatform } from '../../src/core/platform/remote/remote.ts'
import { newHome } from '../commands/cli.ts'
import { root } from '../house/source-files.ts'
import { asksFor, eachWithGitPlatform } from '../support/git-setting.ts'
import { type GitUpstream, gitText } from '../support/git-upstream.ts'
import { eventsOf, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { serve } from '../support/served.ts'

let home: string
let outside: string
let platform: LocalPlatform
let upstream: GitUpstream

eachWithGitPlatform(
  (made) => {
    ;({ home, platform, upstream } = made)
    outside = mkdtempSync(join(tmpdir(), 'changes-'))
  },
  () => ({ env: { RESOLVE_GIT_PROVIDER: 'gitea' } }),
)

afterEach(() => rmSync(outside, { recursive: true, force: true }))

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
  const asks = asksFor(['org/app'])
  await (await platform.catalog()).add(plainResolver(behaviour, {}, asks).dir, { cwd: home })
  const go = join(outside, 'go')
  const input = { scripts, go: waits ? go : null }
  const { instance_id: id } = await platform.create({ resolver: 'plain', input })
  return { id, go: () => writeFileSync(go, '') }
}

const ended = (id: string) => until(home, id, ({ status }) => ['completed', 'failed'].includes(status))

// verifies: S-DIR-15-SNAPSHOT S-DIR-15-DIFF
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
  const { removed } = await platform.prune({ older_than_ms: 0, dry_run: true })
  expect(removed).toMatchObject([{ instance_id: id, unpromoted: ['app'] }])
  await expect(platform.git.diff(id, 'app', { base: 'pushed' })).rejects.toMatchObject({ code: 'change_unknown' })
  await expect(platform.git.diff(id, 'other')).rejects.toMatchObject({ code: 'repo_unknown' })
})

const HOSTILE = `
  evil="sh -c 'echo ran >> ${'$'}PROOF'"
  printf '#!/bin/sh\\necho ran >> %s\\n' "$PROOF" > evil.sh; chmod +x evil.sh
  for d in . nested; do
    mkdir -p $d; (cd $d
    [ -d .git ] || git init -q
    git config core.fsmonitor "$OLDPWD/evil.sh"; git config filter.x.clean "$OLDPWD/evil.sh"; git config filter.x.required true
    git config diff.x.textconv "$OLDPWD/evil.sh"; git config diff.external "$OLDPWD/evil.sh"; git config core.hooksPath "$OLDPWD/hooks"
    printf '* filter=x diff=x\\n' > .gitattributes)
  done
  (cd nested && echo n > n && git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c filter.x.clean=cat -c user.name=a -c user.email=a@b add n && git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c user.name=a -c user.email=a@b commit -qm n)
  mkdir hooks; for h in pre-commit post-index-change reference-transaction; do cp evil.sh hooks/$h; done
  mkdir bare; git init -q --bare bare/x.git; git config -f bare/x.git/config core.fsmonitor "$PWD/evil.sh"
  printf '[submodule "s"]\\n\\tpath = nested\\n\\turl = file:///etc\\n\\tupdate = !%s/evil.sh\\n' "$PWD" > .gitmodules
  ln -s /etc/passwd link; ln -s /etc dirlink; mkfifo pipe
  printf 'plain' > wrong.enc; printf '*.enc working-tree-encoding=UTF-16\\n' >> .gitattributes
  head -c 11000000 /dev/zero > huge; mkdir empty; git init -q empty
  printf 'x' > "$(printf 'caf\\351')"; printf 'y' > 'back\\slash'
  echo changed >> a.txt; rm -f "$PROOF"`

// verifies: S-DIR-15-TREE
test('nothing in a hostile tree runs, and what cannot be kept is named', async () => {
  upstream.create('org/app', { 'a.txt': 'one\n' })
  const proof = join(outside, 'ran')
  vi.stubEnv('PROOF', proof)
  const script = `export PROOF=${proof}\n${HOSTILE}`
  const { id, go } = await worked([script, 'echo more >> nested/n; echo more >> a.txt'], true)
  await until(home, id, ({ phases }) => phases.length === 2)
  const live = await platform.git.diff(id, 'app', { patch: true })
  go()
  const story = await ended(id)
  expect(story).toMatchObject({ status: 'completed' })
  expect(eventsOf(home, id).filter(({ event }) => event.data['kind'] === 'snapshot_failed')).toEqual([])
  const { files, skipped, patch } = await platform.git.diff(id, 'app', { patch: true })
  expect(existsSync(proof)).toBe(false)
  expect(live).toMatchObject({ head: { live: true, snapshot: null } })
  const paths = files.map(({ path }) => path)
  expect(paths).toEqual(
    expect.arrayContaining([
      'a.txt',
      'link',
      'dirlink',
      '.gitmodules',
      'wrong.enc',
      'bare/x.git/config',
      'back\\slash',
    ]),
  )
  expect(paths.filter((path) => /^(pipe|huge|nested|empty)/.test(path))).toEqual([])
  expect(patch).not.toContain('root:')
  expect(skipped).toEqual(
    expect.arrayContaining([
      { path: 'huge', reason: 'too_large' },
      { path: 'nested/', reason: 'repository' },
      { path: 'empty/', reason: 'repository' },
    ]),
  )
})

// verifies: S-DIR-15-DIFF
test('the work is fetched into a clone by the command line, and is in the export', async () => {
  upstream.create('org/app', { 'a.txt': 'one\n' })
  const clone = join(outside, 'clone')
  gitText(outside, ['clone', '--quiet', upstream.pathOf('org/app'), clone])
  const { id } = await worked(['echo two >> a.txt; printf "\\0\\1\\2" > bin'])
  await ended(id)
  const cli = (...args: string[]) => {
    const env = { ...process.env, RESOLVE_HOME: home, GIT_CONFIG_GLOBAL: '/dev/null' }
    return execFileSync(process.execPath, [join(root, 'bin/run.js'), ...args], { env, stdio: 'pipe' }).toString()
  }
  writeFileSync(join(clone, 'a.txt'), 'mine\n')
  expect(() => cli('instance', 'pull', id, '--into', clone)).toThrow(/not committed/)
  expect(gitText(clone, ['for-each-ref', 'refs/heads', '--format=%(refname:short)'])).toBe('main')
  gitText(clone, ['checkout', '--', 'a.txt'])
  // A branch of that name is the person's own: it stays as it is.
  const short = id.slice(0, 8)
  gitText(clone, ['branch', `resolve/app-${short}`])
  cli('instance', 'pull', id, '--into', clone)
  const branches = () =>
    gitText(clone, ['for-each-ref', 'refs/heads', '--format=%(refname:short) %(subject)'])
      .split('\n')
      .map((line) => line.replace(/: (?:end|phase .*)$/, ''))
  const own = ['main Change a.txt', `resolve/app-${short} Change a.txt`]
  expect(branches()).toEqual([...own, `resolve/app-${short}-2 Snapshot 1`])
  cli('instance', 'pull', id, '--into', clone)
  expect(branches()).toHaveLength(3)
  gitText(clone, ['branch', '-D', `resolve/app-${short}`, `resolve/app-${short}-2`])
  const pulled = JSON.parse(cli('instance', 'pull', id, '--into', clone, '--switch', '--json'))
  expect(pulled).toMatchObject({
    schema: 'resolve.pulled/1',
    branches: [{ branch: `resolve-${short}/work` }],
    branch: `resolve/app-${short}`,
    switched_to: `resolve/app-${short}`,
  })
  expect(readFileSync(join(clone, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
  expect(cli('instance', 'diff', id, '--name-only')).toBe('a.txt\nbin\n')
  expect(cli('instance', 'diff', id)).toContain('2 files, +1 -0')
  expect(cli('instance', 'diff', id, '--stat', '--path', 'bin')).toBe('A  binary  bin\n1 file, +0 -0\n')
  const first = JSON.parse(cli('instance', 'diff', id, '--snapshot', '1', '--base', 'upstream', '--json'))
  expect(first).toMatchObject({
    schema: 'resolve.diff/1',
    diff: { head: { snapshot: 1, live: false }, files_total: 2 },
  })
  expect(() => cli('instance', 'diff', id, '--snapshot', '7')).toThrow(/no snapshot 7/i)
  expect(cli('instance', 'diff', id, '--patch', '--path', 'a.txt', '--color', 'always')).toContain(
    '\u001b[32m+two\u001b[39m',
  )
  // What a pipe gets applies as it is.
  const patch = cli('instance', 'diff', id, '--patch', '--path', 'a.txt')
  gitText(clone, ['apply', '--reverse', '--check'], patch)
  expect(JSON.parse(cli('instance', 'repos', id, '--json'))).toMatchObject({ repos: [{ name: 'app', snapshot: {} }] })
  const archive = join(outside, 'all.tar.gz')
  cli('instance', 'export', id, '-o', archive)
  execFileSync('tar', ['-xzf', archive, '-C', outside])
  const git = join(outside, `resolve-${id}`, 'git')
  gitText(clone, ['switch', '--quiet', 'main'])
  gitText(clone, ['apply', join(git, 'app.patch')])
  expect(readFileSync(join(clone, 'bin'))).toEqual(Buffer.from([0, 1, 2]))
  gitText(clone, ['bundle', 'verify', join(git, 'app.bundle')])
})

test('a server answers the same, and refuses what it cannot read', async () => {
  upstream.create('org/app', { 'a.txt': 'one\n' })
  const { id } = await worked(['echo two >> a.txt'])
  await ended(id)
  const served = await serve(home)
  const token = await served.token('read')
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${token}` }
    return await fetch(`${served.url}/api/instances/${id}/repos${path}`, { headers })
  }
  const json = async (path: string) => await (await get(path)).json()
  expect(await json('')).toMatchObject([{ name: 'app', kept: true }])
  expect(await json('/app/diff?patch=true')).toMatchObject({
    files: [{ path: 'a.txt' }],
    patch: expect.stringContaining('+two'),
  })
  expect(await json('/app/commits')).toMatchObject({ commits: [], snapshots: [{ seq: 1 }] })
  const bundle = await get('/app/bundle')
  expect(bundle.headers.get('content-type')).toBe('application/x-git-bundle')
  expect((await bundle.text()).slice(0, 4)).toBe('# v2')
  expect(await json('/..%2fapp/diff')).toMatchObject({ code: 'repo_unknown' })
  expect(await json('/app/diff?snapshot=9')).toMatchObject({ code: 'change_unknown' })
  expect(await json('/app/diff?snapshot=-1')).toMatchObject({ code: 'request_invalid' })
  expect(await json('/app/diff?path=../a.txt')).toMatchObject({ code: 'change_unknown' })
  const remote = openRemotePlatform({ url: served.url, token })
  expect(await remote.git.diff(id, 'app')).toMatchObject({ additions: 1 })
  expect((await remote.git.bundle(id, 'app', { whole: true })).bytes).toBeGreaterThan(100)
  await remote.close()
  await served.close()
})

test('the commands say the same of a server', async () => {
  upstream.create('org/app', { 'a.txt': 'one\n' })
  const clone = join(outside, 'clone')
  gitText(outside, ['clone', '--quiet', upstream.pathOf('org/app'), clone])
  const { id } = await worked(['echo two >> a.txt'])
  await ended(id)
  const served = await serve(home)
  const env = { RESOLVE_URL: served.url, RESOLVE_TOKEN: await served.token('read') }
  const cli = newHome()
  expect((await cli.with({ env }, 'instance', 'diff', id, '--name-only')).stdout).toBe('a.txt\n')
  expect((await cli.with({ env }, 'instance', 'diff', id, '--patch')).stdout).toContain('+two\n')
  const repos = await cli.with({ env }, 'instance', 'repos', id, '--json')
  expect(JSON.parse(repos.stdout)).toMatchObject({ instance_id: id, repos: [{ name: 'app', snapshot: { seq: 1 } }] })
  const pulled = await cli.with({ env }, 'instance', 'pull', id, '--into', clone, '--switch')
  expect(pulled).toMatchObject({ code: 0 })
  expect(readFileSync(join(clone, 'a.txt'), 'utf8')).toBe('one\ntwo\n')
  await cli.end()
  await served.close()
})
