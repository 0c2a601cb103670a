/** Brings every push from the git server of an instance into the host's own repositories, and tells it in the journal. */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { hostRepoPath } from '../../git/host-layout.ts'
import type { HostDoor } from '../../git-server/host-door.ts'
import { GIT_REFS_TOLD_MAX, GIT_SERVER_RETRY_MS } from '../../limits.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { fetchPushed, type PushPlace, removeStaleLocks, untoldRefs } from './pushed-refs.ts'

export interface PushedWorkParts {
  ledger: Ledger
  write: (line: () => void) => Promise<void>
  /** The directory for git of the instance. */
  directory: string
  warn: (kind: string, value: number, detail: string, limit?: number) => Promise<void>
  /** Aborted when this host releases the instance. */
  signal: AbortSignal
}

export interface PushSource {
  door: HostDoor
  token: string
}

export class PushedWork {
  readonly #parts: PushedWorkParts
  #fetches: Promise<void> = Promise.resolve()

  constructor(parts: PushedWorkParts) {
    this.#parts = parts
  }

  /** Returns when no fetch is left. */
  async settled(): Promise<void> {
    await this.#fetches
  }

  /** One after the other; never rejects. `source`: the server at the time of its turn; undefined where there is none. */
  async fetch(repo: string, source: () => PushSource | undefined): Promise<void> {
    this.#fetches = this.#fetches.then(() => this.#fetchNow(repo, source())).catch(() => undefined)
    await this.#fetches
  }

  async #fetchNow(repo: string, source: PushSource | undefined): Promise<void> {
    const { directory, signal, warn } = this.#parts
    const place = { repo, bare: hostRepoPath(directory, repo), signal }
    if (source === undefined || signal.aborted || !existsSync(place.bare)) return
    const { door, token } = source
    const relay = await door.openRelay()
    let trouble: string | undefined
    try {
      trouble = await fetchPushed(place, relay.baseUrl, token)
      // The git of a host that was killed may hold a lock of this repository for a moment yet, or may have left it.
      for (let tries = 0; trouble !== undefined && tries < FETCH_TRIES && !signal.aborted; tries += 1) {
        if (!(await isUp(door))) break
        await sleep(GIT_SERVER_RETRY_MS * 2 ** tries, undefined, { signal, ref: false }).catch(() => undefined)
        await removeStaleLocks(place.bare)
        trouble = await fetchPushed(place, relay.baseUrl, token)
      }
    } finally {
      relay.close()
    }
    if (signal.aborted) return
    // A server that ended meanwhile is started again, and then all is fetched.
    if (trouble !== undefined && (await isUp(door)))
      await warn('git_fetch', 1, `what was pushed to ${repo} can't be fetched: ${trouble}`)
    await this.#tell(place)
  }

  async #tell(place: PushPlace): Promise<void> {
    const { ledger, write, warn } = this.#parts
    const told = (ref: string) =>
      ledger.story.git?.pushes.find((one) => one.repo === place.repo && one.ref === ref)?.commit
    for (const push of await untoldRefs(place, told)) {
      if (place.signal.aborted) return
      const isNew = told(push.ref) === undefined
      if (isNew && (ledger.story.git?.pushes.length ?? 0) >= GIT_REFS_TOLD_MAX) {
        const detail = 'pushes to further branches and tags are not told'
        await warn('git_refs', GIT_REFS_TOLD_MAX, detail, GIT_REFS_TOLD_MAX)
        return
      }
      await write(() => ledger.record('platform.git.pushed', push))
    }
  }
}

export async function isUp(door: HostDoor): Promise<boolean> {
  return (await door.health().catch(() => undefined)) !== undefined
}

const FETCH_TRIES = 4
