/**
 * The token of the upstream while clones, pushes and promotions succeed and fail: it reaches the upstream alone (docs/git.md, The token). A
 * program in front of git keeps the arguments and variables of each git command.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { filesWith, formsOf } from '../support/files-with.ts'
import { DOUBLES } from '../support/forges/all.ts'
import { type DoubleHandler, doubleHandler, FORGE_TOKEN } from '../support/forges/double.ts'
import { type GitUpstream, openUpstream } from '../support/git-upstream.ts'
import { temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { type Served, serve } from '../support/served.ts'

let home: string
let outside: string
let served: Served
let upstream: GitUpstream
let forge: DoubleHandler
let authorizations: Set<string>

beforeEach(async () => {
  home = temporaryHome()
  outside = mkdtempSync(join(tmpdir(), 'git-seen-'))
  forge = doubleHandler(DOUBLES.gitea.dialect, ['/api/'])
  authorizations = new Set()
  upstream = await openUpstream({
    token: FORGE_TOKEN,
    intercept: (request, response) => {
      const { authorization = '' } = request.headers
      if (authorization !== '') authorizations.add(authorization)
      if (!request.url?.startsWith('/org/closed') || authorization === '') return forge.handle(request, response)
      // A server that tells the token to all who read its words.
      response.writeHead(403, { 'content-type': 'text/plain' }).end(`${FORGE_TOKEN} and ${authorization} may not`)
      return true
    },
  })
  vi.stubEnv('RESOLVE_GIT_PROVIDER', 'gitea')
  vi.stubEnv('RESOLVE_GIT_BASE_URL', upstream.base)
  vi.stubEnv('RESOLVE_GIT_HOST_TOKEN', FORGE_TOKEN)
  const git = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim()
  const bin = join(outside, 'bin')
  mkdirSync(bin)
  writeFileSync(
    join(bin, 'git'),
    `#!/bin/sh\ncat /proc/$$/environ /proc/$$/cmdline >> '${join(outside, 'seen')}'\nexec '${git}' "$@"\n`,
  )
  chmodSync(join(bin, 'git'), 0o755)
  vi.stubEnv('PATH', `${bin}:${process.env['PATH']}`)
  served = await serve(home)
})

afterEach(async () => {
  await served.close()
  await upstream.close()
  vi.unstubAllEnvs()
  for (const place of [home, outside]) rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
})

/** It tells where it finds the word, which it knows only backwards, and what became of its push and its promotion. */
const WORKS = `
  const { execFileSync, spawnSync } = await import('node:child_process')
  const word = [...me.params.backwards].reverse().join('')
  const [{ path: cwd }] = me.config.workspace
  const sh = (line) => { const { status, stdout, stderr } = spawnSync('sh', ['-c', line], { cwd, encoding: 'utf8' }); return { status, words: stdout + stderr } }
  const said = [sh('echo shut > gate.txt && git add -A && git commit -qm "Shut the gate" && git push origin HEAD')]
  said.push(sh('git push origin HEAD:refs/pull/7/head'), sh('git remote -v; git config --list --show-origin; git ls-remote'))
  said.push(sh('create-pr --title "Shut it" --body "It was open" --promote --json'))
  const inFiles = spawnSync('grep', ['-rlF', '-f', '-', me.params.home], { input: word, encoding: 'utf8' }).stdout
  const seen = { inFiles, inVariables: Object.values(process.env).some((value) => value.includes(word)), inConfig: JSON.stringify(me.config).includes(word), inWords: said.some(({ words }) => words.includes(word)) }
  console.error(JSON.stringify(process.env), said.map(({ words }) => words).join(''))
  me.finish({ status: 'completed', output: JSON.stringify({ seen, ends: said.map(({ status }) => status), last: said.at(-1).words }) })`

async function run(repo: string, status: string) {
  const backwards = [...FORGE_TOKEN].reverse().join('')
  const input = { repo, backwards, home, delivery_mode: 'promote' }
  const { instance_id: id } = await served.platform.create({ resolver: 'plain', input })
  const story = await until(home, id, ({ status: now }) => ['completed', 'failed'].includes(now), 60_000)
  expect(story.status, JSON.stringify(story.error)).toBe(status)
  const output = story.output === null ? undefined : JSON.parse(story.output)
  return { id, story, output: output as { seen: object; ends: number[]; last: string } }
}

const NOWHERE = { inFiles: '', inVariables: false, inConfig: false, inWords: false }

test('it is in no file, argument, variable, log, journal, export or answer (S-DIR-15-TOKEN)', {
  timeout: 180_000,
}, async () => {
  for (const name of ['tea/repo', 'org/closed']) upstream.create(name, { 'gate.txt': 'open\n' })
  const asks = `me.on['resolver.getWorkspaceSpec'] = ({ params }) => ({ repos: [{ url: params.repo }], git_server: true })`
  const resolver = plainResolver(WORKS, {}, asks)
  await (await served.platform.catalog()).add(resolver.dir, { cwd: home })

  const done = await run('tea/repo', 'completed')
  expect(done.output).toMatchObject({ seen: NOWHERE, ends: [0, 1, 0, 0], last: expect.stringContaining('number') })
  forge.faults.push({ method: 'POST', fault: { status: 422, body: { message: `${FORGE_TOKEN} asks for too much` } } })
  const held = await run('tea/repo', 'completed')
  expect(held.output).toMatchObject({
    seen: NOWHERE,
    ends: [0, 1, 0, 1],
    last: expect.stringContaining('asks for too much'),
  })
  const hook = join(upstream.pathOf('tea/repo'), 'hooks/pre-receive')
  mkdirSync(join(hook, '..'), { recursive: true })
  writeFileSync(hook, `#!/bin/sh\necho "the token ${FORGE_TOKEN} may not push here" >&2\nexit 1\n`)
  chmodSync(hook, 0o755)
  const hooked = await run('tea/repo', 'completed')
  expect(hooked.output).toMatchObject({
    seen: NOWHERE,
    ends: [0, 1, 0, 1],
    last: expect.stringContaining('may not push here'),
  })
  const closed = await run('org/closed', 'failed')
  expect(closed.story.error?.code).toMatch(/^repo_/)

  // A reader's answers, and those to promotions of a consumer.
  const token = await served.token()
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`${served.url}/api${path}`, { ...init, headers })
    return Buffer.from(await response.arrayBuffer())
  }
  const answers = [await ask('/instances'), await ask('/doctor'), await ask('/resolvers')]
  for (const { id, story } of [done, held, hooked, closed]) {
    const name = story === closed.story ? 'closed' : 'repo'
    const paths = ['', '/story', '/state', '/events', '/stderr', '/logs', '/data', '/repos']
    const repo = ['/diff?patch=true', '/commits', '/pulls', '/bundle'].map((path) => `/repos/${name}${path}`)
    for (const path of [...paths, ...repo]) answers.push(await ask(`/instances/${id}${path}`))
    answers.push(gunzipSync(await ask(`/instances/${id}/export`)))
    answers.push(await ask(`/instances/${id}/repos/${name}/promote`, { method: 'POST', body: '{}' }))
  }
  const said = Buffer.concat(answers).toString()
  for (const word of ['asks for too much', 'may not push here', 'Shut the gate']) expect(said).toContain(word)
  expect(formsOf(FORGE_TOKEN).filter((form) => said.includes(form))).toEqual([])

  const seen = readFileSync(join(outside, 'seen'), 'utf8')
  for (const command of ['ls-remote', 'clone', 'push', 'http-backend', 'merge-base'])
    expect(seen).toContain(`\0${command}\0`)
  // Only the places, so that a failure is short.
  const places = seen.split('/bin/sh\0').filter((one) => formsOf(FORGE_TOKEN).some((form) => one.includes(form)))
  expect(places.map((one) => one.slice(-2_000))).toEqual([])
  expect(filesWith(home, [FORGE_TOKEN])).toEqual([])
  // The upstream did get it, and nothing else.
  expect(authorizations.size).toBeGreaterThan(0)
  for (const one of authorizations)
    expect(Buffer.from(one.replace(/^\w+ /, ''), 'base64').toString() + one).toContain(FORGE_TOKEN)
})
