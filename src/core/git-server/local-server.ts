/** The git server beside local workers: a detached process on a port of loopback, which outlives its host. */
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { installedFile } from '../files/installation.ts'
import { identify, isSameProcess, type ProcessIdentity } from '../files/process-identity.ts'
import { writeWholeSync } from '../files/write-whole.ts'
import { GIT_SERVER_START_LIMIT_MS, GIT_SERVER_STOP_LIMIT_MS } from '../limits.ts'
import { isObject } from '../primitives/is-object.ts'
import { type GitServerHealth, HostDoor } from './host-door.ts'
import { type GitServerPlaces, prepareGitServer } from './server-places.ts'

export interface LocalGitServer {
  door: HostDoor
  baseUrl: string
  identity: ProcessIdentity
}

/** The content of server.json. */
interface Saved {
  pid: number
  start: string
  boot_id: string
  port: number
}

const LOOK_MS = 25
const HOST = '127.0.0.1'

/** The running server of these places, or a new one. One that does not answer is ended first. */
export async function openLocalGitServer(places: GitServerPlaces, token: string): Promise<LocalGitServer> {
  const running = await findLocalGitServer(places, token)
  if (running !== undefined) return running
  const saved = readSaved(places.record)
  if (saved !== undefined) await kill(identityOf(saved))
  prepareGitServer(places, token)
  // Clones of the worker name the port.
  const before = saved?.port
  const again = before === undefined ? undefined : await start(places, token, before).catch(() => undefined)
  return again ?? (await start(places, token, 0))
}

/** By its socket; server.json says which process it is. */
export async function findLocalGitServer(places: GitServerPlaces, token: string): Promise<LocalGitServer | undefined> {
  const door = new HostDoor(places.state, token)
  const health = await door.health()
  const identity = health === undefined ? undefined : identify(health.pid)
  if (health === undefined || identity === undefined) return undefined
  // A host may have been killed between its start and this file.
  save(places.record, identity, health)
  return { door, baseUrl: health.baseUrl, identity }
}

/** Returns when its process has ended. Does nothing where there is none. server.json stays: it names the port. */
export async function stopLocalGitServer(places: GitServerPlaces, token: string): Promise<void> {
  const running = await findLocalGitServer(places, token)
  const saved = readSaved(places.record)
  const identity = running?.identity ?? (saved === undefined ? undefined : identityOf(saved))
  await running?.door.shutDown().catch(() => {})
  if (identity !== undefined && !(await hasEnded(identity, GIT_SERVER_STOP_LIMIT_MS))) await kill(identity)
}

/** The address of the server that ran last: clones name its port, and a new server takes it again. Undefined where there was none. */
export function localServerUrl(places: GitServerPlaces): string | undefined {
  const saved = readSaved(places.record)
  return saved === undefined ? undefined : `http://${HOST}:${saved.port}`
}

/** Runs {@link file://./../../git-server/main.ts}. */
async function start(places: GitServerPlaces, token: string, port: number): Promise<LocalGitServer> {
  const program = installedFile('git-server.js')
  if (program === undefined) throw fail('git_server_failed', { reason: 'dist/git-server.js is missing' })
  const log = openSync(places.log, 'a', 0o600)
  const child = spawn(process.execPath, [program, '--state', places.state, '--listen', `${HOST}:${port}`], {
    detached: true,
    cwd: '/',
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  let isOver = false
  child.on('exit', () => {
    isOver = true
  })
  child.on('error', () => {
    isOver = true
  })
  child.unref()
  const deadline = Date.now() + GIT_SERVER_START_LIMIT_MS
  while (!isOver && Date.now() < deadline) {
    const found = await findLocalGitServer(places, token)
    if (found !== undefined) return found
    await sleep(LOOK_MS)
  }
  if (!isOver) child.kill('SIGKILL')
  throw fail('git_server_failed', { reason: isOver ? 'it ended at its start' : 'it does not answer' })
}

function save(path: string, identity: ProcessIdentity, { baseUrl }: GitServerHealth): void {
  const { pid, startTime: started, bootId: boot_id } = identity
  const saved: Saved = { pid, start: started, boot_id, port: Number(new URL(baseUrl).port) }
  const text = `${JSON.stringify(saved)}\n`
  if (readText(path) !== text) writeWholeSync(path, text, { durable: true })
}

function readSaved(path: string): Saved | undefined {
  try {
    const value: unknown = JSON.parse(readText(path) ?? '')
    if (!isObject(value)) return undefined
    const { pid, start: started, boot_id, port } = value
    if (typeof pid !== 'number' || typeof started !== 'string' || typeof boot_id !== 'string') return undefined
    return { pid, start: started, boot_id, port: typeof port === 'number' ? port : 0 }
  } catch {
    return undefined
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function identityOf({ pid, start: startTime, boot_id: bootId }: Saved): ProcessIdentity {
  return { pid, startTime, bootId }
}

async function kill(identity: ProcessIdentity): Promise<void> {
  if (!isSameProcess(identity)) return
  try {
    process.kill(identity.pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
  await hasEnded(identity, GIT_SERVER_STOP_LIMIT_MS)
}

async function hasEnded(identity: ProcessIdentity, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs
  while (isSameProcess(identity)) {
    if (Date.now() > deadline) return false
    await sleep(LOOK_MS)
  }
  return true
}
