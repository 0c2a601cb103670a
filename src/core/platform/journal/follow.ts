/**
 * Yields the events of a journal to one consumer in this process: a terminal, an export of a run, a test. It reads from a
 * feed.
 */
import type { EventEnvelope } from '../../protocol/event.ts'
import type { JournalEvent } from '../../protocol/journal.ts'
import { isStatus, isTerminal } from '../../protocol/status.ts'
import type { FollowOptions } from '../platform.ts'
import type { HeldFeed } from './journal-feed.ts'

/** Keeps a waiting process alive, because the timers of a feed do not. */
const ALIVE_MS = 60_000

/**
 * Yields every event after `after`, once and in order. With `follow` it waits for more until the instance has ended or the
 * signal fires. Throws `journal_broken`, and the reason why an orphaned instance cannot get a host.
 */
export async function* followJournal(hold: () => HeldFeed, options: FollowOptions): AsyncGenerator<JournalEvent> {
  const { after = 0, follow = false, signal } = options
  const { feed, release } = hold()
  let wake: () => void = () => {}
  const onNews = () => wake()
  const alive = setInterval(() => {}, ALIVE_MS)
  const stop = follow ? feed.follow(onNews) : () => {}
  signal?.addEventListener('abort', onNews)
  try {
    let offset = feed.seek(after)
    while (!signal?.aborted) {
      // Created before the read: growth during the read ends the wait.
      const news = new Promise<void>((resolve) => {
        wake = resolve
      })
      const stretch = feed.readLines(offset)
      if (stretch === undefined) {
        if (!follow || feed.hasEnded) return
        if (feed.trouble !== undefined) throw feed.trouble
        await news
        continue
      }
      offset = stretch.next
      for (const { seq, sourceEnd, text } of stretch.lines) {
        const event = JSON.parse(text) as EventEnvelope
        yield { seq, sourceEnd, text, event }
        if (isEnd(event)) return
      }
    }
  } finally {
    clearInterval(alive)
    signal?.removeEventListener('abort', onNews)
    stop()
    release()
  }
}

/** Whether the event is the move to a final status, after which no event comes. */
function isEnd(event: EventEnvelope): boolean {
  if (event.event_type !== 'platform.instance.status_changed') return false
  const { to } = event.data
  return isStatus(to) && isTerminal(to)
}
