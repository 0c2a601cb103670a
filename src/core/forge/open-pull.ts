/**
 * Opens a pull request at most once: finds it, else creates it, else finds it again. A second call, a crash between two steps and an answer
 * that was lost all end at one pull request. Promotion calls it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { fail } from '../errors.ts'
import { FORGE_FIND_PAGES_MAX } from '../limits.ts'
import type { NewPull, OpenPull } from './forge.ts'
import { type ForgeDoor, type ForgeHttp, refused } from './forge-http.ts'
import { FORGES } from './forges.ts'

export interface Opened {
  pull: OpenPull
  /** Whether this call created it. */
  created: boolean
}

export interface OpenOptions {
  /** Whether title and body of an existing one are replaced. Default true. */
  update?: boolean
  onStep?: (step: 'asked' | 'created') => void
}

export async function openPull(
  http: ForgeHttp,
  door: ForgeDoor,
  wanted: NewPull,
  options: OpenOptions = {},
): Promise<Opened> {
  const forge = FORGES[door.repo.forge]
  const { update = true, onStep } = options
  let pull = wanted
  let mayBeOurs = false
  for (let round = 0; ; ) {
    const open = await findOpen(http, door, pull)
    if (open !== undefined) {
      const isSame = open.title === pull.title && open.body === pull.body
      if (!update || isSame || mayBeOurs) return { pull: open, created: mayBeOurs }
      return { pull: await http.ask(door, forge.update(door.repo, open, pull)), created: false }
    }
    onStep?.('asked')
    const outcome = await http.askOnce(door, forge.create(door.repo, pull))
    onStep?.('created')
    if (outcome.kind === 'done') return { pull: outcome.value, created: true }
    const why = outcome.kind === 'refused' ? forge.refusal(outcome.status, outcome.words) : undefined
    if (why === 'no_commits') throw fail('nothing_to_promote', { branch: pull.head, target: pull.target })
    if (why === 'no_drafts' && pull.isDraft) {
      pull = { ...pull, isDraft: false }
      continue
    }
    if (outcome.kind === 'refused' && why !== 'exists' && why !== 'not_yet')
      throw refused(door.repo, outcome.status, outcome.words)
    const pauseMs = http.retryMs[round]
    if (pauseMs === undefined)
      throw outcome.kind === 'lost' ? outcome.error : refused(door.repo, outcome.status, outcome.words)
    mayBeOurs ||= outcome.kind === 'lost'
    round += 1
    await sleep(pauseMs, undefined, door.signal === undefined ? {} : { signal: door.signal })
  }
}

/** The open pull request of this head into this target. */
async function findOpen(http: ForgeHttp, door: ForgeDoor, { head, target }: NewPull): Promise<OpenPull | undefined> {
  const forge = FORGES[door.repo.forge]
  for (let page = 1; page <= FORGE_FIND_PAGES_MAX; page += 1) {
    const { pull, more } = await http.ask(door, forge.find(door.repo, head, target, page))
    if (pull !== undefined) return pull
    if (!more) return undefined
  }
  return undefined
}
