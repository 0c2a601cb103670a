/** The checks of {@link file://./health.ts} for the machine: programs, sockets, file watches, Docker. */
import { execFile } from 'node:child_process'
import { accessSync, constants, readFileSync, watch } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { ResolveError, systemCode } from '../../errors.ts'
import { installedFile } from '../../files/installation.ts'
import { socketDirectory } from '../../host/process/control-socket.ts'
import { DOCKER_PING_LIMIT_MS } from '../../limits.ts'
import type { HealthRow } from '../platform.ts'

const GIT_LIMIT_MS = 5_000
const OLDEST_GIT = 2_038

export async function checkMachine(home: string, env: NodeJS.ProcessEnv = process.env): Promise<HealthRow[]> {
  return [
    checkNode(),
    await checkGit(env),
    checkMkfifo(env),
    await checkSockets(home),
    checkWatches(),
    ...(await checkDocker(env)),
  ]
}

function checkNode(): HealthRow {
  const message = `Node ${process.versions.node}`
  const floor = nodeFloor()
  const isOld = process.versions.node.localeCompare(floor, 'en', { numeric: true }) < 0
  if (!isOld) return { check: 'node', state: 'ok', message, mend: null }
  return { check: 'node', state: 'failed', message: `${message} is older than ${floor}`, mend: 'nvm install 24' }
}

function nodeFloor(): string {
  const manifest = installedFile('package.json')
  const { engines } = JSON.parse(manifest === undefined ? '{}' : readFileSync(manifest, 'utf8')) as {
    engines?: { node?: string }
  }
  return /[\d.]+/.exec(engines?.node ?? '')?.[0] ?? '0'
}

async function checkGit(env: NodeJS.ProcessEnv): Promise<HealthRow> {
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], {
      env: { PATH: env['PATH'] },
      timeout: GIT_LIMIT_MS,
    })
    const message = stdout.trim().replace(/^git version/, 'git')
    const [, major, minor] = /(\d+)\.(\d+)/.exec(stdout) ?? []
    if (Number(major) * 1_000 + Number(minor) >= OLDEST_GIT) return { check: 'git', state: 'ok', message, mend: null }
    return { check: 'git', state: 'failed', message: `${message} is older than 2.38`, mend: 'sudo apt-get install git' }
  } catch {
    const message = "Can't run git: resolvers can't be fetched from an address, and workspaces can't be cloned"
    return { check: 'git', state: 'failed', message, mend: 'sudo apt-get install git' }
  }
}

function checkMkfifo(env: NodeJS.ProcessEnv): HealthRow {
  const found = (env['PATH'] ?? '')
    .split(delimiter)
    .find((folder) => folder !== '' && isProgram(join(folder, 'mkfifo')))
  if (found !== undefined) return { check: 'mkfifo', state: 'ok', message: `mkfifo in ${found}`, mend: null }
  const message = "Can't find mkfifo in PATH: no worker can be started"
  return { check: 'mkfifo', state: 'failed', message, mend: 'sudo apt-get install coreutils' }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function checkSockets(home: string): Promise<HealthRow> {
  try {
    const directory = socketDirectory(process.env, home)
    await listenOnce(join(directory, `${process.pid}-doctor.sock`))
    return { check: 'sockets', state: 'ok', message: `Hosts listen in ${directory}`, mend: null }
  } catch (error) {
    const reason = error instanceof ResolveError ? error.message : `Can't listen on a socket (${systemCode(error)}).`
    return { check: 'sockets', state: 'failed', message: reason, mend: 'export TMPDIR=/tmp' }
  }
}

function listenOnce(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(path, () => server.close(() => resolve()))
  })
}

/** Without a watch, changes are found at the next sweep, so this is only a note. */
function checkWatches(): HealthRow {
  try {
    watch('/', { persistent: false }, () => undefined).close()
    return { check: 'watches', state: 'ok', message: 'File watches are available', mend: null }
  } catch (error) {
    const setting = systemCode(error) === 'EMFILE' ? 'max_user_instances' : 'max_user_watches'
    const message = "Can't watch files: news comes up to 0.25 s later"
    return { check: 'watches', state: 'note', message, mend: `sudo sysctl fs.inotify.${setting}=524288` }
  }
}

async function checkDocker(env: NodeJS.ProcessEnv): Promise<HealthRow[]> {
  const address = env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock'
  const row = (message: string): HealthRow => ({ check: 'docker', state: 'note', message, mend: null })
  if (!address.startsWith('unix://')) return [row(`Docker at ${address} was not asked: only a unix socket is`)]
  const socketPath = address.slice('unix://'.length)
  const answer = await ping(socketPath)
  if (answer === undefined) return [row(`There is no Docker engine at ${socketPath}: only local workers can run`)]
  const engine: HealthRow = {
    check: 'docker',
    state: 'ok',
    message: `Docker answers at ${socketPath}${answer}`,
    mend: null,
  }
  return [engine, await checkImage(env), await checkOpenNetwork(env)]
}

/** Not every resolver needs a container, so a missing image is only a note. */
async function checkImage(env: NodeJS.ProcessEnv): Promise<HealthRow> {
  const { findWorkerImage } = await import('../../worker/docker/images.ts')
  const { image, mend, isThere } = await findWorkerImage(env)
  if (isThere) return { check: 'image', state: 'ok', message: `Containers start from ${image}`, mend: null }
  return { check: 'image', state: 'note', message: `There is no image ${image} for workers in containers`, mend }
}

/** A machine without metadata and without services that listen for all need not be guarded, so this is only a note. */
async function checkOpenNetwork(env: NodeJS.ProcessEnv): Promise<HealthRow> {
  const { openChoice, whyUnguarded } = await import('../../worker/egress/open-guard.ts')
  const choice = openChoice(env)
  const why = choice === 'engine' ? 'RESOLVE_OPEN_NETWORK is engine' : await whyUnguarded()
  const note = (message: string, mend: string | null): HealthRow => ({ check: 'network', state: 'note', message, mend })
  if (why !== undefined) {
    const message = `Workers with network open reach this machine's ports and a cloud's metadata service: ${why}`
    return note(message, choice === 'engine' ? 'unset RESOLVE_OPEN_NETWORK' : null)
  }
  if (choice === 'host')
    return note("Workers with network open reach this machine's ports (RESOLVE_OPEN_NETWORK)", null)
  const message = "Workers with network open reach neither this machine's ports nor a cloud's metadata service"
  return { check: 'network', state: 'ok', message, mend: null }
}

/** The engine's API version, with a comma before it; undefined where no engine answers in time. */
function ping(socketPath: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const call = request({ socketPath, path: '/_ping', timeout: DOCKER_PING_LIMIT_MS }, (response) => {
      response.resume()
      const version = response.headers['api-version']
      resolve(response.statusCode === 200 ? (version === undefined ? '' : `, API ${String(version)}`) : undefined)
    })
    call.on('timeout', () => call.destroy())
    call.on('error', () => resolve(undefined))
    call.end()
  })
}
