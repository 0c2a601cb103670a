/**
 * Checks whether this machine and this home can run instances, for `doctor`. Each failed check names the command that repairs
 * it.
 */
import { accessSync, chmodSync, constants, existsSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ResolveError } from '../../errors.ts'
import { DISK_FLOOR_BYTES, DISK_FLOOR_FRACTION, GIB } from '../../limits.ts'
import { listTargets } from '../../notify/sender.ts'
import { readTargetFile, targetsPath } from '../../notify/target-file.ts'
import { destinationOf } from '../../notify/targets.ts'
import { quoteWord } from '../../primitives/quote-word.ts'
import { keyPath, readKey } from '../../secrets/key-file.ts'
import { checkSealed, listSecrets, secretsPath } from '../../secrets/secret-store.ts'
import { instancesDirectory, prepareHome } from '../../store/home.ts'
import { openTokens } from '../../store/tokens.ts'
import type { HealthRow } from '../platform.ts'
import { checkCatalog } from './health-catalog.ts'
import { checkForge } from './health-forge.ts'
import { checkInstances } from './health-instances.ts'
import { checkMachine } from './health-machine.ts'

export interface HealthPlan {
  home: string
  builtins: string
  /** Repair what can be repaired safely: modes, leftovers, instances without a host, processes without an instance. */
  fix: boolean
}

/** Never throws for what it finds. Every check is reported, in the order in which they depend on one another. */
export async function checkHealth(plan: HealthPlan): Promise<HealthRow[]> {
  const home = checkHome(plan)
  const rows = [...(await checkMachine(plan.home)), checkForge(), ...home]
  // Without a home, the checks below cannot run.
  if (home.some(({ check, state }) => check === 'home' && state === 'failed')) return rows
  return [
    ...rows,
    checkTokens(plan.home),
    ...checkSecrets(plan),
    ...checkNotifications(plan.home),
    checkDisk(plan.home),
    ...(await checkCatalog(plan)),
    ...(await checkInstances(plan)),
  ]
}

function checkHome({ home, fix }: HealthPlan): HealthRow[] {
  try {
    prepareHome(home)
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const message = error instanceof ResolveError ? error.message : `Can't use ${home}: it may not be read and written.`
    const mend = existsAs(home) === 'directory' ? `chmod -R u+rwX ${quoteWord(home)}` : 'export RESOLVE_HOME=~/.resolve'
    return [{ check: 'home', state: 'failed', message, mend }]
  }
  const open = [home, instancesDirectory(home), join(home, 'resolvers')].filter((path) => modeOf(path) !== 0o700)
  const usable: HealthRow = { check: 'home', state: 'ok', message: `The home is ${home}`, mend: null }
  if (open.length === 0)
    return [usable, { check: 'modes', state: 'ok', message: 'Only you can read the home', mend: null }]
  const modes = open.map((path) => `${path} has mode ${modeOf(path).toString(8)}`).join(', ')
  const mend = `chmod 700 ${open.map(quoteWord).join(' ')}`
  if (!fix) return [usable, { check: 'modes', state: 'failed', message: `${modes}: other users may reach it`, mend }]
  try {
    for (const path of open) chmodSync(path, 0o700)
  } catch {
    return [usable, { check: 'modes', state: 'failed', message: `${modes}, and belongs to another user`, mend }]
  }
  return [usable, { check: 'modes', state: 'mended', message: `${modes}; made 700`, mend: null }]
}

/** Files that must be readable by their owner alone. */
function checkSecrets({ home, fix }: HealthPlan): HealthRow[] {
  const files = [keyPath(home), secretsPath(home), targetsPath(home)].filter((path) => existsSync(path))
  if (files.length === 0) return []
  const open = files.filter((path) => (modeOf(path) & 0o077) !== 0)
  const modes = open.map((path) => `${path} has mode ${modeOf(path).toString(8)}`).join(', ')
  const mend = `chmod 600 ${open.map(quoteWord).join(' ')}`
  const row = (state: HealthRow['state'], message: string, command: string | null = null): HealthRow => {
    return { check: 'secrets', state, message, mend: command }
  }
  try {
    const known = listSecrets(home).length
    readKey(home)
    checkSealed(home)
    for (const target of readTargetFile(home)) destinationOf(home, target)
    if (open.length === 0)
      return [row('ok', `${known} ${known === 1 ? 'secret is' : 'secrets are'} set, and only you can read them`)]
    if (!fix) return [row('failed', `${modes}: other users may read secrets`, mend)]
    for (const path of open) chmodSync(path, 0o600)
    return [row('mended', `${modes}; made 600`)]
  } catch (error) {
    return [
      row(
        'failed',
        error instanceof ResolveError ? error.message : `${modes}, and belongs to another user`,
        open.length === 0 ? null : mend,
      ),
    ]
  }
}

/** What waits is sent by the next process that hosts instances, so it is only a note. */
function checkNotifications(home: string): HealthRow[] {
  try {
    return listTargets(home).flatMap(({ name, waiting, given_up, failing_since, last_error }): HealthRow[] => {
      const mend = `resolve notify test ${quoteWord(name)}`
      const waits = `${name} could not be told of ${waiting} ${waiting === 1 ? 'instance' : 'instances'} since ${failing_since}: ${last_error}`
      const lost = `${given_up} ${given_up === 1 ? 'notification' : 'notifications'} for ${name} were given up`
      return [...(failing_since !== null ? [waits] : []), ...(given_up > 0 ? [lost] : [])].map((message) => {
        return { check: 'notify', state: 'note', message, mend }
      })
    })
  } catch (error) {
    const message = error instanceof ResolveError ? error.message : String(error)
    return [{ check: 'notify', state: 'failed', message, mend: null }]
  }
}

function checkTokens(home: string): HealthRow {
  const tokens = openTokens(home)
  const problem = tokens.problem()
  if (problem !== null) {
    const path = String(problem.details['path'])
    return {
      check: 'tokens',
      state: 'failed',
      message: problem.message,
      mend: `mv ${quoteWord(path)} ${quoteWord(`${path}.broken`)}`,
    }
  }
  const count = tokens.list().length
  return {
    check: 'tokens',
    state: 'ok',
    message: `${count} ${count === 1 ? 'token' : 'tokens'} for the HTTP API`,
    mend: null,
  }
}

function checkDisk(home: string): HealthRow {
  const { bavail, blocks, bsize } = statfsSync(home)
  return diskRow({ free: bavail * bsize, total: blocks * bsize })
}

/** Bytes that are free for this user, and bytes of the file system. */
export function diskRow({ free, total }: { free: number; total: number }): HealthRow {
  const floor = Math.max(DISK_FLOOR_BYTES, total * DISK_FLOOR_FRACTION)
  const gib = (bytes: number) => `${(bytes / GIB).toFixed(1)} GiB`
  const message = `${gib(free)} of ${gib(total)} are free`
  if (free >= floor) return { check: 'disk', state: 'ok', message, mend: null }
  const mend = 'resolve instance prune --older-than 7d'
  return { check: 'disk', state: 'failed', message: `${message}; ${gib(floor)} are needed`, mend }
}

function modeOf(path: string): number {
  return statSync(path).mode & 0o777
}

function existsAs(path: string): 'directory' | 'other' | 'nothing' {
  try {
    return statSync(path).isDirectory() ? 'directory' : 'other'
  } catch {
    return 'nothing'
  }
}
