/** How a host starts, finds and stops the git server of an instance: as a local process, and as a container. Needs dist/. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isSameProcess } from '../../src/core/files/process-identity.ts'
import {
  findGitContainer,
  GIT_SERVER_URL,
  openGitContainer,
  removeGitContainer,
} from '../../src/core/git-server/container-server.ts'
import { type GitServerNotice, parseNotice } from '../../src/core/git-server/host-door.ts'
import { findLocalGitServer, openLocalGitServer, stopLocalGitServer } from '../../src/core/git-server/local-server.ts'
import { gitServerPlaces, newGitToken } from '../../src/core/git-server/server-places.ts'
import { homeLabel } from '../../src/core/worker/engine/container-places.ts'
import { theEngine } from '../../src/core/worker/engine/engine.ts'
import { joinNetwork } from '../../src/core/worker/engine/join-network.ts'
import { describeWithDocker, docker, testImage } from '../support/docker.ts'
import { commitFiles, gitIn } from '../support/git-server.ts'

function folder(name = 'git'): string {
  const path = mkdtempSync(join(tmpdir(), 'resolve-git-start-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }))
  mkdirSync(join(path, name), { recursive: true })
  return join(path, name)
}

/** A directory whose socket has too long a path. */
const LONG = join('a'.repeat(60), 'b'.repeat(60))

test('a local server outlives its starter, is found again, and keeps its port over a restart', async () => {
  const places = gitServerPlaces(folder(LONG))
  const token = newGitToken()
  expect(await findLocalGitServer(places, token)).toBeUndefined()
  const first = await openLocalGitServer(places, token)
  onTestFinished(() => stopLocalGitServer(places, token))
  await first.door.addRepository('app', 'main')
  const again = await openLocalGitServer(places, token)
  expect(again.identity).toEqual(first.identity)
  expect(JSON.parse(readFileSync(places.record, 'utf8'))).toMatchObject({ pid: first.identity.pid })

  process.kill(first.identity.pid, 'SIGKILL')
  await expect.poll(() => isSameProcess(first.identity)).toBe(false)
  expect(await findLocalGitServer(places, token)).toBeUndefined()
  const second = await openLocalGitServer(places, token)
  expect(second.baseUrl).toBe(first.baseUrl)
  expect(await second.door.health()).toMatchObject({ repositories: ['app'] })

  await stopLocalGitServer(places, token)
  expect(isSameProcess(second.identity)).toBe(false)
  await stopLocalGitServer(places, token)
})

test('the token lies nowhere in the directory of the server, and only the user reaches its socket', async () => {
  const places = gitServerPlaces(folder())
  const token = newGitToken()
  await openLocalGitServer(places, token)
  onTestFinished(() => stopLocalGitServer(places, token))
  expect(statSync(join(places.state, 's')).mode & 0o777).toBe(0o600)
  for (const name of readdirSync(places.state, { recursive: true, encoding: 'utf8' })) {
    const path = join(places.state, name)
    if (statSync(path).isFile()) expect(readFileSync(path, 'utf8')).not.toContain(token)
  }
  expect(await findLocalGitServer(places, newGitToken())).toBeUndefined()
})

test('the host follows pushes, and git reaches the server through a relay with the token', async () => {
  const places = gitServerPlaces(folder(LONG))
  const token = newGitToken()
  const { door, baseUrl } = await openLocalGitServer(places, token)
  onTestFinished(() => stopLocalGitServer(places, token))
  await door.addRepository('app', 'main')
  const relay = await door.openRelay()
  onTestFinished(() => relay.close())
  expect((await fetch(`${relay.baseUrl}/host/health`)).status).toBe(401)
  const stop = new AbortController()
  const followed = collect(door.follow(0, stop.signal), (notice) => notice.kind === 'line' && stop.abort())
  const work = folder()
  await gitIn(work, 'init', '-q', '-b', 'main')
  const commit = await commitFiles(work, { 'a.txt': 'a' }, 'A')
  const url = (base: string) => `${base.replace('://', `://x:${token}@`)}/admin/app.git`
  await gitIn(work, 'push', '-q', url(baseUrl), 'HEAD:main')
  // Upstream's state is written by the host alone, and hidden from the worker.
  await gitIn(work, 'push', '-q', url(relay.baseUrl), 'HEAD:refs/upstream/heads/main')
  expect(await gitIn(work, 'ls-remote', url(relay.baseUrl))).toContain('refs/upstream/heads/main')
  expect(await gitIn(work, 'ls-remote', url(baseUrl))).not.toContain('refs/upstream')
  await commitFiles(work, { 'b.txt': 'b' }, 'B')
  await gitIn(work, 'push', '-q', url(baseUrl), 'HEAD:work')
  await gitIn(work, 'push', '-q', url(baseUrl), 'HEAD:refs/for/main', '-o', 'topic=work', '-o', 'title=T')
  const notices = (await followed).filter(({ kind }) => kind !== 'beat')
  expect(notices[0]).toMatchObject({ kind: 'push', repo: 'app', ref: 'refs/heads/main', from: null, to: commit })
  expect(notices.at(-1)).toMatchObject({
    kind: 'line',
    line: { kind: 'opened', number: 1, head: 'work', base: 'main' },
  })
  await door.mergePull('app', 1, { Do: 'merge' })
  await expect(door.mergePull('app', 1, { Do: 'merge' })).rejects.toThrow(/already merged/)
})

test('a notice that is malformed is not taken', () => {
  const bad = [
    '',
    'null',
    '[]',
    '{"kind":"push","repo":"a","ref":"r","from":"x; rm","to":null}',
    '{"kind":"line","next":-1,"line":{}}',
    '{"kind":"line","next":1.5,"line":{}}',
    '{"kind":"promotion","id":1,"repo":"a","request":{}}',
  ]
  expect(bad.map(parseNotice)).toEqual(bad.map(() => undefined))
})

describeWithDocker('in a container', () => {
  test('a worker in its network clones, pushes and opens a pull request; the host reaches it by its socket', async () => {
    const instance = `gt${Date.now().toString(36)}`.slice(0, 12)
    const network = `resolve-${instance}-test`
    const places = gitServerPlaces(folder())
    const token = newGitToken()
    const engine = theEngine()
    await docker('network', 'create', '--internal', network)
    onTestFinished(async () => {
      await removeGitContainer(engine, instance)
      await docker('network', 'rm', network)
    })
    const plan = { instance, home: homeLabel(places.state), image: testImage(), network, places }
    const opened = await openGitContainer(engine, plan, token)
    expect(opened.baseUrl).toBe(GIT_SERVER_URL)
    await opened.door.addRepository('app', 'main')
    const script = [
      'set -e; cd /tmp; export HOME=/tmp GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b.c',
      `git init -q -b main w; cd w; git remote add origin ${GIT_SERVER_URL.replace('://', `://x:${token}@`)}/admin/app.git`,
      'git commit -q --allow-empty -m One; git push -q origin HEAD:main',
      'git commit -q --allow-empty -m Two; git push -q origin HEAD:work HEAD:refs/for/main -o topic=work -o title=T 2>&1',
    ].join('\n')
    const said = await docker('run', '--rm', '--user', '1000', '--network', network, testImage(), 'sh', '-c', script)
    expect(said).toContain(`Pull request #1: ${GIT_SERVER_URL}/admin/app/pulls/1`)

    // A worker of another network is connected between its creation and its start; others of its network are not.
    const clone = `git ls-remote ${GIT_SERVER_URL.replace('://', `://x:${token}@`)}/admin/app.git`
    const worker = await docker('create', '--user', '1000', testImage(), 'sh', '-c', clone)
    onTestFinished(async () => void (await docker('rm', '-f', worker)))
    await joinNetwork(engine, worker, network)
    expect(await docker('start', '-a', worker)).toContain('refs/heads/work')
    await expect(docker('run', '--rm', '--user', '1000', testImage(), 'sh', '-c', clone)).rejects.toThrow(
      /resolve host/,
    )

    expect(await findGitContainer(engine, instance)).toBe(opened.id)
    const again = await openGitContainer(engine, plan, token)
    expect(again.id).toBe(opened.id)
    await docker('kill', opened.id)
    const restarted = await openGitContainer(engine, plan, token)
    expect(await restarted.door.health()).toMatchObject({ repositories: ['app'] })
    const spec = JSON.parse(await docker('inspect', opened.id)) as { HostConfig: Record<string, unknown> }[]
    expect(spec[0]?.HostConfig).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'], PidsLimit: 256 })
  }, 60_000)
})

async function collect(
  notices: AsyncGenerator<GitServerNotice>,
  onNotice: (notice: GitServerNotice) => void,
): Promise<GitServerNotice[]> {
  const all: GitServerNotice[] = []
  for await (const notice of notices) {
    all.push(notice)
    onNotice(notice)
  }
  return all
}
