/**
 * Which instances of a home are up, for a process that lives long: what has ended is read once and remembered, so that ten
 * thousand finished ones cost a look into one directory. `serve` calls it every few seconds.
 */
import { statSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isTerminal, type Status } from '../protocol/status.ts'
import { instanceIds, instancePaths } from '../store/home.ts'
import { readRecord } from '../store/record.ts'

/** An instance that has not ended. */
export interface LiveInstance {
  id: string
  status: Status
  /** Milliseconds since 1970. */
  createdAt: number
}

export interface Roll {
  /** What needs a host: neither ended nor paused. */
  live: LiveInstance[]
  counts: Partial<Record<Status, number>>
  /** What can't be read, and why. */
  broken: { id: string; error: unknown }[]
}

type Known =
  | { kind: 'live'; status: Status; createdAt: number }
  | { kind: 'ended'; status: Status }
  /** Read again only when its files change. */
  | { kind: 'paused'; status: Status; fingerprint: string }
  | { kind: 'broken'; error: unknown; fingerprint: string }

/** Instances that are read in one turn of the event loop. */
const READ_PER_TURN = 32

export class RollCall {
  readonly #home: string
  readonly #known = new Map<string, Known>()

  constructor(home: string) {
    this.#home = home
  }

  /** Throws `home_unusable`; a damaged instance is told of, and hides no other. */
  async look(): Promise<Roll> {
    const ids = new Set(instanceIds(this.#home))
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id)
    let read = 0
    for (const id of ids) {
      const before = this.#known.get(id)
      if (before?.kind === 'ended') continue
      const fingerprint = this.#fingerprint(id)
      const isSettled = before?.kind === 'paused' || before?.kind === 'broken'
      if (isSettled && before.fingerprint === fingerprint) continue
      this.#known.set(id, this.#read(id, fingerprint))
      read += 1
      if (read % READ_PER_TURN === 0) await nextTurn()
    }
    return this.#roll()
  }

  #read(id: string, fingerprint: string): Known {
    try {
      const { status, created_at } = readRecord(instancePaths(this.#home, id))
      if (isTerminal(status)) return { kind: 'ended', status }
      if (status === 'paused' && isOld(fingerprint)) return { kind: 'paused', status, fingerprint }
      return { kind: 'live', status, createdAt: Date.parse(created_at) }
    } catch (error) {
      return { kind: 'broken', error, fingerprint }
    }
  }

  #roll(): Roll {
    const roll: Roll = { live: [], counts: {}, broken: [] }
    for (const [id, known] of this.#known) {
      if (known.kind === 'broken') {
        roll.broken.push({ id, error: known.error })
        continue
      }
      roll.counts[known.status] = (roll.counts[known.status] ?? 0) + 1
      if (known.kind === 'live' && known.status !== 'paused') roll.live.push({ id, ...known })
    }
    return roll
  }

  #fingerprint(id: string): string {
    const { journal, record } = instancePaths(this.#home, id)
    const [first, second] = [journal, record].map((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found === undefined ? '-' : `${found.mtimeMs}:${found.size}:${found.ino}`
    })
    return `${first} ${second}`
  }
}

/** A record may be a moment behind its journal: what changed just now is looked at once more. */
const FRESH_MS = 2_000

function isOld(fingerprint: string): boolean {
  return Date.now() - Number.parseFloat(fingerprint) > FRESH_MS
}
