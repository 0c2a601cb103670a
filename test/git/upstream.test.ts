/** The git host that other tests use answers real git: clone, push, refusal without the token. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { type GitUpstream, openUpstream, type UpstreamOptions } from '../support/git-upstream.ts'

async function opened(options?: UpstreamOptions): Promise<{ upstream: GitUpstream; place: string }> {
  const upstream = await openUpstream(options)
  const place = mkdtempSync(join(tmpdir(), 'upstream-'))
  onTestFinished(async () => {
    await upstream.close()
    rmSync(place, { recursive: true, force: true })
  })
  return { upstream, place }
}

const git = (cwd: string, ...args: string[]) =>
  execa('git', ['-c', 'user.name=Bo', '-c', 'user.email=bo@example.org', ...args], {
    cwd,
    reject: false,
    env: { GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0' },
  })

test('the test upstream serves a clone and takes a push', async () => {
  const { upstream, place } = await opened()
  const url = upstream.create('org/repo', { 'README.md': 'hello\n' })
  const second = upstream.commit('org/repo', { 'docs/a.md': 'a\n' }, 'next')
  expect((await git(place, 'clone', '-q', url, 'clone')).stderr).toBe('')
  const clone = join(place, 'clone')
  expect(readFileSync(join(clone, 'README.md'), 'utf8')).toBe('hello\n')
  expect((await git(clone, 'rev-parse', 'origin/next')).stdout).toBe(second)
  await git(clone, 'commit', '-q', '--allow-empty', '-m', 'more')
  expect((await git(clone, 'push', '-q', 'origin', 'HEAD:refs/heads/mine')).exitCode).toBe(0)
  expect(upstream.git('org/repo', 'rev-parse', 'mine')).toBe((await git(clone, 'rev-parse', 'HEAD')).stdout)
})

test('the test upstream refuses without its token', async () => {
  const { upstream, place } = await opened({ token: 'sesame' })
  const url = upstream.create('org/repo', { a: '1' })
  expect((await git(place, 'ls-remote', url)).stderr).toContain('could not read Username')
  expect((await git(place, 'ls-remote', url.replace('//', '//any:sesame@'))).stdout).toContain('refs/heads/main')
})
