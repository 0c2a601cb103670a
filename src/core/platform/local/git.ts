/** What consumers do with the repositories of an instance, on this machine's home directory. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ResolveError } from '../../errors.ts'
import type { Ledger, News } from '../../host/ledger/ledger.ts'
import type { HostProcess } from '../../host/process/host-process.ts'
import type { PromotionParts } from '../../host/promotion/run-promotion.ts'
import { HOST_RETRY_MAX_MS, HOST_RETRY_MIN_MS, HOST_TRIES } from '../../limits.ts'
import { backoffMs } from '../../primitives/backoff.ts'
import { isTerminal, type Status } from '../../protocol/status.ts'
import type { Story } from '../../view/story.ts'
import type { InstanceGit } from '../platform.ts'
import { callOwner } from './reach-host.ts'

export interface GitParts {
  home: string
  hosts: HostProcess
  /** Throws `instance_unknown`. */
  story: (id: string) => Promise<Story>
  ensureHost: (id: string) => Promise<void>
}

export function localGit(parts: GitParts): InstanceGit {
  return {
    promote: async (id, repo, ask, actor, options) => {
      const { home, hosts, ensureHost, story } = parts
      for (let tries = 1; ; tries += 1) {
        const { status } = await story(id)
        if (hosts.get(id) === undefined && hasHost(status)) await ensureHost(id)
        const here = await promotionParts(parts, id)
        try {
          if (here !== undefined) {
            const { promoteFor } = await import('../../host/promotion/run-promotion.ts')
            return await promoteFor({ ...here, ...options }, repo, ask, actor)
          }
          return await callOwner(home, id, hosts.socketPath, (owner) => owner.git.promote(id, repo, ask, actor))
        } catch (error) {
          const isElsewhere = error instanceof ResolveError && error.code === 'host_unreachable'
          if (!isElsewhere || tries === HOST_TRIES) throw error
          await pauseAfter(tries)
        }
      }
    },
  }
}

function hasHost(status: Status): boolean {
  return !isTerminal(status) && status !== 'paused'
}

/** Undefined where another process hosts the instance. */
async function promotionParts({ home, hosts }: GitParts, id: string): Promise<PromotionParts | undefined> {
  const { hideKnown } = await import('../../host/promotion/known-texts.ts')
  const tell = (news: News) => tellInstance(hosts, id, news, (ledger) => hideKnown(home, ledger))
  const partsOf = ({ story, redactor }: Ledger): PromotionParts => ({
    ...{ home, story, tell },
    holdsSecret: (bytes) => redactor.holds(bytes),
  })
  const host = hosts.get(id)
  if (host !== undefined) return partsOf(host.ledger)
  let parts: PromotionParts | undefined
  await hosts.write(id, (ledger) => {
    hideKnown(home, ledger)
    parts = partsOf(ledger)
  })
  return parts
}

/** An instance may end, or get a host, while it is promoted. Where another process has it then, that one's journal lacks the event. */
async function tellInstance(
  hosts: HostProcess,
  id: string,
  news: News,
  prepare: (ledger: Ledger) => void,
): Promise<void> {
  for (let tries = 1; tries <= HOST_TRIES; tries += 1) {
    if ((await hosts.get(id)?.tell(news)) === true) return
    const isWritten = await hosts.write(id, (ledger) => {
      prepare(ledger)
      ledger.tell(news)
    })
    if (isWritten) return
    await pauseAfter(tries)
  }
}

async function pauseAfter(tries: number): Promise<void> {
  await sleep(backoffMs(tries - 1, HOST_RETRY_MIN_MS, HOST_RETRY_MAX_MS))
}
