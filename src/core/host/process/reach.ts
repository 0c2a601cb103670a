/** Checks whether an instance has a live host, and starts a background host for one that has none (architecture, decision 2). */
import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../../errors.ts'
import { installedFile } from '../../files/installation.ts'
import { HOST_ADOPT_LIMIT_MS } from '../../limits.ts'
import { instancePaths } from '../../store/home.ts'
import { isOwnerAlive, readOwner } from '../../store/owners.ts'

const LOOK_MS = 20

/** Whether a live host owns the instance. `ownSocket` is the caller's: for itself the caller knows what it hosts. */
export async function hasHost(home: string, id: string, ownSocket?: string): Promise<boolean> {
  const owner = readOwner(instancePaths(home, id).owners)
  return owner !== undefined && owner.socket !== ownSocket && (await isOwnerAlive(owner))
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
