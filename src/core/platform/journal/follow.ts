/** Follows an instance's journal to its end: the one way anyone learns what happens (architecture, decision 1). */
import { watch } from 'node:fs'
import { SWEEP_MS } from '../../limits.ts'
import type { EventEnvelope } from '../../protocol/event.ts'
import type { JournalEvent } from '../../protocol/journal.ts'
import { isStatus, isTerminal } from '../../protocol/status.ts'
import { JournalReader } from '../../store/journal-reader.ts'
import type { FollowOptions } from '../platform.ts'

/** How often a follower looks whether the instance still has a host. */
const ATTEND_MS = 2_000

/**
 * Yields every event after `after`, once and in order. With `follow` it waits for more until the instance has ended or
 * the signal fires; `instance.ensureHost` is called now and then while it waits, so that an orphaned instance finds a host.
 */
export async function* followJournal(
  path: string,
  options: FollowOptions,
  instance: { ensureHost: () => Promise<void>; hasEnded: () => boolean },
): AsyncGenerator<JournalEvent> {
  const reader = new JournalReader(path, options.after ?? 0)
  // Nothing more comes to an instance that has ended: also a reader who has seen it all is let go.
  const bell = options.follow && !instance.hasEnded() ? ring(path, options.signal) : undefined
  let attendedAt = Date.now()
  let hasEnded = bell === undefined
  try {
    while (!options.signal?.aborted) {
      const rang = bell?.next()
      const lines = reader.read()
      for (const { seq, sourceEnd, text } of lines) {
        const event = JSON.parse(text) as EventEnvelope
        yield { seq, sourceEnd, text, event }
        if (isEnd(event)) return
      }
      if (lines.length > 0) continue
      if (hasEnded || rang === undefined) return
      if (Date.now() - attendedAt > ATTEND_MS) {
        attendedAt = Date.now()
        await instance.ensureHost()
        hasEnded = instance.hasEnded()
        if (hasEnded) continue
      }
      await rang
    }
  } finally {
    bell?.stop()
    reader.close()
  }
}

/** Whether the event is the move into a final status, after which nothing comes. */
function isEnd(event: EventEnvelope): boolean {
  if (event.event_type !== 'platform.instance.status_changed') return false
  const { to } = event.data
  return isStatus(to) && isTerminal(to)
}

/** Rings when the file grew, and every quarter of a second all the same. The timer keeps a waiting process alive. */
function ring(path: string, signal: AbortSignal | undefined): { next: () => Promise<void>; stop: () => void } {
  let wake: () => void = () => {}
  const onRing = () => wake()
  const timer = setInterval(onRing, SWEEP_MS)
  let stopWatch = () => {}
  try {
    const watcher = watch(path, { persistent: false }, onRing)
    watcher.on('error', () => watcher.close())
    stopWatch = () => watcher.close()
  } catch {
    // Watches may be used up on this machine; the timer does.
  }
  signal?.addEventListener('abort', onRing)
  return {
    next: () =>
      new Promise((resolve) => {
        wake = resolve
      }),
    stop: () => {
      clearInterval(timer)
      stopWatch()
      signal?.removeEventListener('abort', onRing)
    },
  }
}
