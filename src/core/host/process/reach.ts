/** Checks whether an instance has a live host, and starts a background host for one that has none (architecture, decision 2). */
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { installedFile } from '../../files/installation.ts'
import { isSameProcess } from '../../files/process-identity.ts'
import { HOST_ADOPT_LIMIT_MS, HOST_END_LIMIT_MS, HOST_SILENT_MS } from '../../limits.ts'
import { API } from '../../protocol/http.ts'
import { instancePaths } from '../../store/home.ts'
import { isOwnerAlive, readOwner } from '../../store/owners.ts'

const LOOK_MS = 20

/** Whether a live host owns the instance. `ownSocket` is the caller's: for itself the caller knows what it hosts. */
export async function hasHost(home: string, id: string, ownSocket?: string): Promise<boolean> {
  const owner = readOwner(instancePaths(home, id).owners)
  return owner !== undefined && owner.socket !== ownSocket && (await isOwnerAlive(owner))
}

/** Whether an instance has a live host, and whether that one answers requests. A suspended host accepts connections all the same. */
export type HostState = 'none' | 'silent' | 'answers'

/** Sends the host a real request. */
export async function hostState(home: string, id: string, ownSocket?: string): Promise<HostState> {
  const owner = readOwner(instancePaths(home, id).owners)
  if (owner === undefined) return 'none'
  if (owner.socket === ownSocket) return 'answers'
  if (!(await isOwnerAlive(owner))) return 'none'
  return (await answersRequests(owner.socket)) ? 'answers' : 'silent'
}

/** False only where nothing came back in time: a refusal or a broken connection shows that the process goes on. */
export async function answersRequests(socketPath: string, limitMs = HOST_SILENT_MS): Promise<boolean> {
  const { request } = await import('node:http')
  return await new Promise((resolve) => {
    const asked = request({ socketPath, path: `${API}/health`, agent: false })
    const settle = (answers: boolean) => {
      clearTimeout(timer)
      resolve(answers)
      asked.destroy()
    }
    const timer = setTimeout(() => settle(false), limitMs)
    asked.on('response', () => settle(true))
    asked.on('error', () => settle(true))
    asked.end()
  })
}

/**
 * Ends the process that owns the instance, by its identity: never one that got its pid later. Its other instances go on without a host
 * until the next host adopts them. Returns false where the process is not to be found here, or does not end.
 */
export async function endOwner(home: string, id: string): Promise<boolean> {
  const owner = readOwner(instancePaths(home, id).owners)
  if (owner === undefined || owner.released) return true
  const { process: identity } = owner
  if (!isSameProcess(identity)) return false
  process.kill(identity.pid, 'SIGKILL')
  const deadline = Date.now() + HOST_END_LIMIT_MS
  while (isSameProcess(identity)) {
    if (Date.now() > deadline) return false
    await sleep(LOOK_MS)
  }
  return true
}

/** Starts a background host for the instance and waits until it owns the instance. Throws `host_unreachable`. */
export async function startBackgroundHost(home: string, id: string): Promise<void> {
  const program = installedFile('host.js')
  if (program === undefined) throw fail('host_unreachable', { instance: id, reason: 'dist/host.js is not built' })
  const logs = join(home, 'logs')
  mkdirSync(logs, { recursive: true, mode: 0o700 })
  const log = openSync(join(logs, 'host.log'), 'a', 0o600)
  // A host started from inside a worker must not carry the worker's mark, or it would be ended with the worker.
  const { RESOLVE_DIR: _dir, RESOLVE_CHANNEL: _channel, ...env } = process.env
  const child = spawn(process.execPath, [program, home, id], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: '/',
    env,
  })
  closeSync(log)
  let hasEnded = false
  child.once('exit', () => {
    hasEnded = true
  })
  child.once('error', () => {
    hasEnded = true
  })
  child.unref()
  const deadline = Date.now() + HOST_ADOPT_LIMIT_MS
  while (Date.now() < deadline) {
    const owner = readOwner(instancePaths(home, id).owners)
    // Another host that took it first is as good, and so is an instance that has ended.
    if (owner !== undefined && (owner.process.pid === child.pid || (await isOwnerAlive(owner)))) return
    if (hasEnded) break
    await sleep(LOOK_MS)
  }
  throw fail('host_unreachable', {
    instance: id,
    reason: `a background host did not take it over; see ${join(logs, 'host.log')}`,
  })
}
