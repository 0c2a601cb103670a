/** Clones that meet trouble: a stop meanwhile, a connection that breaks, a repository that has moved, many instances at once. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LocalPlatform } from '../../src/core/platform/local/local.ts'
import { instancePaths } from '../../src/core/store/home.ts'
import { type GitUpstream, gitText, openUpstream, type UpstreamOptions } from '../support/git-upstream.ts'
import { temporaryHome, until } from '../support/instances.ts'
import { plainResolver } from '../support/plain-resolver.ts'
import { platformOn } from '../support/platforms.ts'

const AT_ONCE = process.env['RESOLVE_SOAK'] === '1' ? 50 : 10

let home: string
let platform: LocalPlatform
let upstream: GitUpstream
let intercept: NonNullable<UpstreamOptions['intercept']> = () => false

beforeEach(async () => {
  home = temporaryHome()
  upstream = await openUpstream({ intercept: (request, response) => intercept(request, response) })
  vi.stubEnv('RESOLVE_GIT_BASE_URL', upstream.base)
  platform = await platformOn(home)
  const asks = `me.on['resolver.getWorkspaceSpec'] = ({ params }) => ({ repos: [{ url: params.url }] })`
  const resolver = plainResolver(`me.finish({ status: 'completed' })`, {}, asks)
  await (await platform.catalog()).add(resolver.dir, { cwd: home })
})

afterEach(async () => {
  intercept = () => false
  await platform.close()
  await upstream.close()
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true, force: true })
})

const create = async (url = 'org/app') => (await platform.create({ resolver: 'plain', input: { url } })).instance_id
const isOver = ({ status }: { status: string }) => ['completed', 'failed', 'cancelled'].includes(status)

test('a stop ends a clone that waits for its server, and git with it', async () => {
  upstream.create('org/app', { a: '1' })
  const asked = new Promise<void>((resolve) => {
    intercept = () => {
      resolve()
      return true
    }
  })
  const id = await create()
  await asked
  await platform.stop(id, { reason: 'not needed' })
  const story = await until(home, id, isOver)
  expect(story).toMatchObject({ status: 'cancelled', incarnation: 0 })
  // The cache is free again: the next instance gets its clone.
  intercept = () => false
  expect(await until(home, await create(), isOver)).toMatchObject({ status: 'completed' })
})

test('a server with a passing problem is asked again', async () => {
  upstream.create('org/app', { a: '1' })
  let refused = 0
  intercept = (request, response) => {
    if (refused === 2 || !request.url?.includes('info/refs')) return false
    refused += 1
    if (refused === 1) response.writeHead(503).end()
    else response.destroy()
    return true
  }
  expect(await until(home, await create(), isOver)).toMatchObject({ status: 'completed' })
  expect(refused).toBe(2)
})

test('a repository that has moved is told, and the redirect is not followed', async () => {
  upstream.create('org/app', { a: '1' })
  const seen: string[] = []
  intercept = (request, response) => {
    seen.push(request.url ?? '')
    if (!request.url?.startsWith('/org/old')) return false
    response.writeHead(301, { Location: `${upstream.base}${request.url.replace('old', 'app')}` }).end()
    return true
  }
  const story = await until(home, await create('org/old'), isOver)
  expect(story).toMatchObject({ status: 'failed', error: { code: 'repo_clone_failed' } })
  expect(story.error?.detail).toContain('moved to another address')
  expect(seen.some((path) => path.startsWith('/org/app'))).toBe(false)
})

test('an address without .git works where the server wants it', async () => {
  upstream.create('org/app', { a: '1' })
  intercept = (request, response) => {
    if (request.url?.includes('/app.git/')) return false
    response.writeHead(301, { Location: `${upstream.base}${request.url?.replace('/app/', '/app.git/')}` }).end()
    return true
  }
  const id = await create(`${upstream.base}/org/app`)
  expect(await until(home, id, isOver)).toMatchObject({ status: 'completed' })
})

test('many instances of one repository at once: each gets a whole clone', { timeout: 6_000 * AT_ONCE }, async () => {
  upstream.create('org/app', { a: '1', b: '2' })
  const ids = await Promise.all(Array.from({ length: AT_ONCE }, () => create()))
  for (const id of ids) {
    expect(await until(home, id, isOver, 4_000 * AT_ONCE)).toMatchObject({ status: 'completed' })
    expect(gitText(join(instancePaths(home, id).project, 'workspace/app'), ['fsck', '--strict'])).toBe('')
  }
})
