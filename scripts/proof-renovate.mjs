#!/usr/bin/env node
/**
 * Shows that Renovate works with the git server: it opens a pull request, updates it and squash-merges it, as platform gitea and as
 * platform forgejo. Renovate is 364 MB, so it is no dependency: it is installed once into a cache folder of its own. Needs dist/ and,
 * the first time, a registry. `npm run proof:renovate` runs it.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const VERSION = '44.121.2'
const PLATFORMS = ['gitea', 'forgejo']
const TOKEN = 'token-of-the-proof'
const PACKAGE = 'a-dependency-of-the-proof'

const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'resolve-proofs', `renovate-${VERSION}`)
const place = mkdtempSync(join(tmpdir(), 'resolve-proof-renovate-'))
/** The versions that the registry of the proof has; a new one makes Renovate update its pull request. */
const versions = ['1.0.0']

async function main() {
  await installRenovate()
  const registry = await startRegistry()
  const server = await startGitServer()
  try {
    for (const platform of PLATFORMS) {
      versions.splice(0, versions.length, '1.0.0', '1.1.0')
      await addRepository(server, platform, registry)
      const opened = await renovate(server, platform)
      const [first] = await pulls(server, platform)
      check(first?.state === 'open' && first.title.includes('1.1.0'), `${platform}: opened #${first?.number}`, opened)
      versions.push('1.2.0')
      const updated = await renovate(server, platform)
      const [second] = await pulls(server, platform)
      const isSame = second?.number === first.number && second.head.sha !== first.head.sha
      check(isSame && second.title.includes('1.2.0'), `${platform}: updated #${second?.number}`, updated)
      const merging = {
        RENOVATE_CONFIG: JSON.stringify({ automerge: true, automergeStrategy: 'squash', ignoreTests: true }),
      }
      const merged = await renovate(server, platform, merging)
      const [third] = await pulls(server, platform)
      check(third?.merged === true, `${platform}: squash-merged #${third?.number}`, merged)
    }
  } finally {
    server.child.kill()
    registry.server.close()
    rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
}

function check(isTrue, what, { seconds, output }) {
  if (isTrue) return console.log(`✓ ${what} (${seconds.toFixed(1)} s)`)
  console.error(`${output}\n✗ ${what}`)
  throw new Error(`Not shown: ${what}`)
}

async function installRenovate() {
  if (existsSync(join(cache, 'node_modules', 'renovate', 'package.json'))) return
  mkdirSync(cache, { recursive: true })
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  const { code, output, seconds } = await run('npm', ['i', '--prefix', cache, ...flags, `renovate@${VERSION}`], {})
  if (code !== 0) throw new Error(`Renovate cannot be installed:\n${output}`)
  console.log(`Renovate ${VERSION} installed (${seconds.toFixed(0)} s)`)
}

/** A registry with one package, so that the proof asks no other one. */
async function startRegistry() {
  const server = createServer((_, response) => {
    const all = versions.map((version) => [
      version,
      { name: PACKAGE, version, dist: { tarball: 'http://127.0.0.1/none' } },
    ])
    const time = Object.fromEntries(versions.map((version) => [version, '2020-01-01T00:00:00.000Z']))
    response.setHeader('content-type', 'application/json')
    const about = { name: PACKAGE, 'dist-tags': { latest: versions.at(-1) }, versions: Object.fromEntries(all), time }
    response.end(JSON.stringify(about))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${server.address().port}/` }
}

async function startGitServer() {
  const state = join(place, 'server')
  mkdirSync(state, { recursive: true })
  const digest = createHash('sha256').update(TOKEN).digest('hex')
  writeFileSync(join(state, 'tokens.json'), JSON.stringify({ sha256: [digest] }))
  const child = spawn(process.execPath, [join(root, 'dist', 'git-server.js'), '--state', state], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, socket: join(state, 's'), url: JSON.parse(line).base_url }
  }
  throw new Error('The git server did not start.')
}

async function addRepository(server, name, registry) {
  await new Promise((resolve, reject) => {
    const headers = { authorization: `token ${TOKEN}` }
    const call = request(
      { socketPath: server.socket, method: 'POST', path: '/host/repositories', headers },
      (response) => {
        response.resume()
        response.on('end', resolve)
      },
    )
    call.on('error', reject)
    call.end(JSON.stringify({ name, default_branch: 'main' }))
  })
  const work = join(place, `seed-${name}`)
  mkdirSync(work)
  const config = { packageRules: [{ matchDatasources: ['npm'], registryUrls: [registry.url] }], prHourlyLimit: 0 }
  writeFileSync(join(work, 'renovate.json'), JSON.stringify(config))
  writeFileSync(join(work, 'package.json'), `${JSON.stringify({ dependencies: { [PACKAGE]: '1.0.0' } }, null, 2)}\n`)
  const url = `${server.url.replace('://', `://x:${TOKEN}@`)}/admin/${name}.git`
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '-A'],
    [...identity, 'commit', '-q', '-m', 'Begin'],
    ['push', '-q', url, 'HEAD:main'],
  ]) {
    const { code, output } = await run('git', args, {}, work)
    if (code !== 0) throw new Error(output)
  }
}

async function renovate(server, platform, more = {}) {
  const own = mkdtempSync(join(place, 'run-'))
  const program = join(cache, 'node_modules', 'renovate', 'dist', 'renovate.mjs')
  const older = join(cache, 'node_modules', 'renovate', 'dist', 'renovate.js')
  return await run(process.execPath, [existsSync(program) ? program : older, `admin/${platform}`], {
    ...more,
    RENOVATE_PLATFORM: platform,
    RENOVATE_ENDPOINT: `${server.url}/`,
    RENOVATE_TOKEN: TOKEN,
    RENOVATE_ONBOARDING: 'false',
    RENOVATE_REQUIRE_CONFIG: 'optional',
    RENOVATE_BINARY_SOURCE: 'global',
    RENOVATE_ENABLED_MANAGERS: '["npm"]',
    RENOVATE_BASE_DIR: own,
    RENOVATE_CACHE_DIR: join(own, 'cache'),
    RENOVATE_DEPENDENCY_DASHBOARD: 'false',
    LOG_LEVEL: 'debug',
    HOME: own,
  })
}

async function pulls(server, name) {
  const headers = { authorization: `token ${TOKEN}` }
  const response = await fetch(`${server.url}/api/v1/repos/admin/${name}/pulls?state=all&sort=recentupdate`, {
    headers,
  })
  return await response.json()
}

async function run(program, args, environment, cwd = place) {
  const began = Date.now()
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (output += part))
  const code = await new Promise((resolve) => child.on('close', resolve))
  return { code, output, seconds: (Date.now() - began) / 1000 }
}

await main()
