/** Resumes every instance that is paused because its worker was lost (R58): for `instance resume --lost`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ResolveError } from '../../core/errors.ts'
import type { InstanceRecord, Platform } from '../../core/index.ts'
import { isLost, lostWorker } from '../../core/view/lost-worker.ts'

export interface ResumedLost {
  resumed: string[]
  /** Those that are not resumed, and why. */
  left: { id: string; error: ResolveError }[]
}

/** Waits for those that lost a worker again a moment ago; `onWait` is told of each. */
export async function resumeLostInstances(
  platform: Platform,
  onWait: (id: string, waitMs: number) => void,
): Promise<ResumedLost> {
  const outcome: ResumedLost = { resumed: [], left: [] }
  const lost = await lostInstances(platform)
  await Promise.all(
    lost.map(async ({ instance_id: id }) => {
      try {
        const found = lostWorker(await platform.story(id), Date.now())
        // A person, or a server, was faster.
        if (found === undefined) return
        const waitMs = found.isExhausted ? 0 : found.dueAt - Date.now()
        if (waitMs > 0) onWait(id, waitMs)
        await sleep(Math.max(0, waitMs))
        await platform.resume(id, { host: 'background', lost: true })
        outcome.resumed.push(id)
      } catch (error) {
        if (!(error instanceof ResolveError)) throw error
        outcome.left.push({ id, error })
      }
    }),
  )
  return outcome
}

async function lostInstances(platform: Platform): Promise<InstanceRecord[]> {
  const { records } = await platform.list({ status: ['paused'] })
  return records.filter(isLost)
}
