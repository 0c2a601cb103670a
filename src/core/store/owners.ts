/**
 * Ownership of an instance: `owners/<epoch>.json`. The highest epoch owns it; the owner is dead exactly when its socket refuses
 * a connection (architecture, decision 2).
 */
import * as fs from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { isScarcity, systemCode } from '../errors.ts'
import { failpoint } from '../failpoints.ts'
import { identify, isSameProcess, type ProcessIdentity, pidNamespace } from '../files/process-identity.ts'
import { createExclusiveSync, writeWholeSync } from '../files/write-whole.ts'
import { HOST_CONNECT_LIMIT_MS } from '../limits.ts'
import type { KeptStop } from '../protocol/journal.ts'
import type { InstancePaths } from './home.ts'

export interface Owner {
  epoch: number
  /** The socket on which the host listens. */
  socket: string
  process: ProcessIdentity
  /** The host released the instance and may still run. */
  released: boolean
}

/** The owner with the highest epoch; undefined where the instance never had one. */
export function readOwner(directory: string): Owner | undefined {
  const epoch = highestEpoch(directory)
  if (epoch === 0) return undefined
  try {
    const owner = JSON.parse(fs.readFileSync(ownerFile(directory, epoch), 'utf8')) as Partial<Owner> | null
    const isWhole = typeof owner?.socket === 'string' && typeof owner.process?.pid === 'number'
    return isWhole ? { ...(owner as Owner), epoch } : undefined
  } catch (error) {
    if (isScarcity(error)) throw error
    return undefined
  }
}

/** The highest epoch claimed so far; 0 where there is none. */
export function highestEpoch(directory: string): number {
  let highest = 0
  for (const name of listNames(directory)) {
    const match = /^(\d+)\.json$/.exec(name)
    if (match !== null) highest = Math.max(highest, Number(match[1]))
  }
  return highest
}

/** Claims an epoch; returns false where another process claimed it first. */
export function claimEpoch(directory: string, epoch: number, socket: string): boolean {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  const identity = { ...(identify(process.pid) as ProcessIdentity), namespace: pidNamespace() }
  const owner: Owner = { epoch, socket, process: identity, released: false }
  // Without a sync: no host survives a power loss, so a claim that is lost with it names none that lives.
  const isFirst = createExclusiveSync(ownerFile(directory, epoch), JSON.stringify(owner), {
    onStep: (step) => {
      if (step === 'written') failpoint('owner.drafted')
    },
  })
  if (isFirst) failpoint('owner.claimed')
  return isFirst
}

/** Releases an epoch while the host still runs: any process may claim the next one. */
export function releaseEpoch(directory: string, owner: Owner): void {
  failpoint('owner.releasing')
  writeWholeSync(ownerFile(directory, owner.epoch), JSON.stringify({ ...owner, released: true }))
  failpoint('owner.released')
}

// A stop that is on disk before its host is asked: where the host does not answer, the next owner carries it out, or the same host when
// it goes on (reliability F27).

/** Durable when it returns. Throws the system's error. */
export function keepStop(paths: Pick<InstancePaths, 'keptStop'>, stop: KeptStop): void {
  writeWholeSync(paths.keptStop, JSON.stringify(stop), { durable: true })
}

/** Undefined where there is none, or a damaged one. */
export function readKeptStop(paths: Pick<InstancePaths, 'keptStop'>): KeptStop | undefined {
  try {
    const { how, reason, force, incarnation } = JSON.parse(fs.readFileSync(paths.keptStop, 'utf8')) as Partial<KeptStop>
    if (how !== 'stop' && how !== 'cancel') return undefined
    if (typeof reason !== 'string' || typeof force !== 'boolean' || typeof incarnation !== 'number') return undefined
    return { how, reason, force, incarnation }
  } catch {
    return undefined
  }
}

export function dropKeptStop(paths: Pick<InstancePaths, 'keptStop'>): void {
  try {
    fs.rmSync(paths.keptStop, { force: true })
  } catch {
    // It stays: it is void for any later worker, and a repeated stop of this one changes nothing.
  }
}

/** Whether the owner still accepts connections. A missing socket file of a living host does not make it dead. */
export async function isOwnerAlive(owner: Owner): Promise<boolean> {
  if (owner.released) return false
  const answer = await knock(owner.socket)
  if (answer === 'missing') return isSameProcess(owner.process)
  return answer === 'open'
}

function knock(socket: string): Promise<'open' | 'refused' | 'missing'> {
  return new Promise((resolve) => {
    const connection = connect(socket)
    const settle = (answer: 'open' | 'refused' | 'missing') => {
      clearTimeout(timer)
      connection.destroy()
      resolve(answer)
    }
    // A host that neither accepts nor refuses is busy or stopped, not dead.
    const timer = setTimeout(() => settle('open'), HOST_CONNECT_LIMIT_MS)
    connection.on('connect', () => settle('open'))
    connection.on('error', (error) => {
      const code = systemCode(error)
      if (code === 'ECONNREFUSED') settle('refused')
      else settle(code === 'ENOENT' ? 'missing' : 'open')
    })
  })
}

function ownerFile(directory: string, epoch: number): string {
  return join(directory, `${epoch}.json`)
}

function listNames(directory: string): string[] {
  try {
    return fs.readdirSync(directory)
  } catch (error) {
    // Failing to read the directory does not show that the instance has no owner.
    if (isScarcity(error)) throw error
    return []
  }
}
