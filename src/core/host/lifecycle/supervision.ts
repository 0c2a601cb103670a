/** Supervises a running worker: its lifetime and its watchdog, started and stopped together. */
import type { Story } from '../../view/story.ts'
import type { Worker } from '../../worker/worker.ts'
import { lifetimeMs, startLifetime, upMs } from './lifetime.ts'
import { startWatchdog } from './watchdog.ts'

export interface SupervisionOptions {
  worker: Worker
  story: Story
  warn: (kind: string, value: number, limit: number) => void
  /** Called when the lifetime is used up (R27). */
  onLifetimeOver: () => void
  watchdogMs: number | undefined
}

/** Returns the function that stops it. */
export function superviseWorker({ worker, story, warn, onLifetimeOver, watchdogMs }: SupervisionOptions): () => void {
  const limitMs = lifetimeMs()
  const stopLifetime = startLifetime(
    limitMs,
    upMs(story, Date.now()),
    (used) => warn('lifetime', used, limitMs),
    onLifetimeOver,
  )
  const stopWatchdog = startWatchdog({
    usage: async () => worker.usage?.(),
    warn: ({ kind, value, limit }) => warn(kind, value, limit),
    periodMs: watchdogMs,
  })
  return () => {
    stopLifetime()
    stopWatchdog()
  }
}
