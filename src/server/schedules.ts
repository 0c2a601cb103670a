/** Runs the schedules of the home while the server runs (R72); {@link file://./serve.ts} starts it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ResolveError } from '../core/errors.ts'
import { type LocalPlatform, type ScheduleNews, ScheduleRunner } from '../core/index.ts'
import { SCHEDULE_LOOK_MS } from '../core/limits.ts'

export interface SchedulesParts {
  home: string
  platform: LocalPlatform
  /** Called once for each outcome, in the server that decided it. */
  onNews: (sentence: string, news: ScheduleNews) => void
  /** Called when schedules cannot be run, once for each reason; null when they can again. */
  onProblem: (message: string | null) => void
}

/** Starts at once; returns the function that stops it. */
export function startSchedules({ home, platform, onNews, onProblem }: SchedulesParts): () => Promise<void> {
  const stopped = new AbortController()
  const runs = {
    create: (request: Parameters<typeof platform.create>[0]) => platform.create(request),
    recordOf: async (id: string) => {
      try {
        return await platform.record(id)
      } catch (error) {
        if (error instanceof ResolveError && error.code === 'instance_unknown') return undefined
        throw error
      }
    },
  }
  const runner = new ScheduleRunner({ home, platform: runs, tell: (news) => onNews(sentenceOf(news), news) })
  const going = (async () => {
    while (!stopped.signal.aborted) {
      try {
        await runner.look()
        onProblem(null)
      } catch (error) {
        onProblem(error instanceof Error ? error.message : String(error))
      }
      await sleep(SCHEDULE_LOOK_MS, undefined, { signal: stopped.signal, ref: false }).catch(() => {})
    }
  })()
  return async () => {
    stopped.abort()
    await going
    await runner.close()
  }
}

function sentenceOf({ schedule, outcome, due_at, instance_id, detail, count }: ScheduleNews): string {
  if (outcome === 'started') return `Schedule ${schedule}, due ${due_at}: started ${instance_id}.`
  if (outcome === 'missed' && count > 1)
    return `Schedule ${schedule} missed ${count} due times, the last ${due_at}. ${detail ?? ''}`
  return `Schedule ${schedule}, due ${due_at}: ${outcome}. ${detail ?? ''}`
}
