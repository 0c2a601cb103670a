/**
 * A stop that is on disk before its host is asked: `owners/stop.json`. Where the host does not answer, the next owner carries it out, or
 * the same host when it goes on (reliability F27). The platform writes it, hosts take it.
 */
import { readFileSync, rmSync } from 'node:fs'
import { writeWholeSync } from '../files/write-whole.ts'
import type { InstancePaths } from './home.ts'

export interface KeptStop {
  how: 'stop' | 'cancel'
  reason: string
  force: boolean
  /** The worker that it concerns: it is void for a later one. */
  incarnation: number
}

/** Durable when it returns. Throws the system's error. */
export function keepStop(paths: Pick<InstancePaths, 'keptStop'>, stop: KeptStop): void {
  writeWholeSync(paths.keptStop, JSON.stringify(stop), { durable: true })
}

/** Undefined where there is none, or a damaged one. */
export function readKeptStop(paths: Pick<InstancePaths, 'keptStop'>): KeptStop | undefined {
  try {
    const { how, reason, force, incarnation } = JSON.parse(readFileSync(paths.keptStop, 'utf8')) as Partial<KeptStop>
    if (how !== 'stop' && how !== 'cancel') return undefined
    if (typeof reason !== 'string' || typeof force !== 'boolean' || typeof incarnation !== 'number') return undefined
    return { how, reason, force, incarnation }
  } catch {
    return undefined
  }
}

export function dropKeptStop(paths: Pick<InstancePaths, 'keptStop'>): void {
  try {
    rmSync(paths.keptStop, { force: true })
  } catch {
    // It stays: it is void for any later worker, and a repeated stop of this one changes nothing.
  }
}
