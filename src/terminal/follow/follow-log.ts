/** Reads the log of an instance page by page, up to now or to its end: for `instance logs` and `run --verbose`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ResolveError } from '../../core/errors.ts'
import type { Connection, LogOptions, Platform } from '../../core/index.ts'
import { LOG_PAGE_MAX_LINES, LOG_WAIT_MAX_S, REMOTE_PATIENCE_MS } from '../../core/limits.ts'
import { within } from '../../core/primitives/within.ts'
import type { LogLine, LogPage } from '../../core/protocol/log.ts'
import { cleanText, indentedText } from '../../core/view/clean.ts'
import { isConnectionError, lostError } from '../output/connection.ts'
import { logLine } from '../view/log-lines.ts'

export interface LogFollowing extends LogOptions {
  /** Go on until the instance ends or the signal fires. */
  follow: boolean
  /** Told when the connection to a server is lost, and when it is back. */
  onConnection?: (connection: Connection) => void
}

export async function* followLog(platform: Platform, id: string, options: LogFollowing): AsyncGenerator<LogLine> {
  const { follow, onConnection = () => {}, signal, tail, ...chosen } = options
  const read = (after: number, isFirst: boolean) =>
    platform.logs(id, {
      ...chosen,
      ...(after === 0 ? {} : { after }),
      // A number of last lines is counted once, at the beginning.
      ...(isFirst && tail !== undefined ? { tail } : {}),
      ...(follow && !isFirst ? { waitMs: LOG_WAIT_MAX_S * 1_000 } : {}),
      ...(signal === undefined ? {} : { signal }),
      limit: LOG_PAGE_MAX_LINES,
    })
  const hasLeft = () => signal?.aborted === true
  let page: LogPage = await read(chosen.after ?? 0, true)
  for (let since: number | undefined; ; ) {
    yield* page.lines
    const { ended, lines, next } = page
    if (ended || hasLeft() || (!follow && lines.length === 0)) return
    try {
      const askedAt = performance.now()
      page = await readOrPass(read, next)
      // A server that has no place for one more waiting reader answers at once.
      const isEarly = page.lines.length === 0 && !page.ended && performance.now() - askedAt < EMPTY_PAUSE_MS
      if (follow && isEarly) await pause(signal)
      if (since !== undefined) onConnection({ state: 'back', since })
      since = undefined
    } catch (error) {
      if (hasLeft()) return
      if (!follow || !isConnectionError(error)) throw error
      const now = Date.now()
      if (since === undefined) onConnection({ state: 'lost', since: now, givesUpAt: now + REMOTE_PATIENCE_MS })
      since ??= now
      if (now - since > REMOTE_PATIENCE_MS) throw lostError(error, { since, id })
      page = { lines: [], next, ended: false }
      await pause(signal)
    }
  }
}

const EMPTY_PAUSE_MS = 1_000

async function pause(signal: AbortSignal | undefined): Promise<void> {
  await sleep(EMPTY_PAUSE_MS, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
}

/** An empty page where too many readers of the same token wait already. */
async function readOrPass(
  read: (after: number, isFirst: boolean) => Promise<LogPage>,
  after: number,
): Promise<LogPage> {
  try {
    return await read(after, false)
  } catch (error) {
    if (error instanceof ResolveError && error.code === 'too_many') return { lines: [], next: after, ended: false }
    throw error
  }
}

/** How long the end of a run waits for the last lines of its log. */
const LAST_LINES_MS = 3_000

/** Shows the log while a run is followed (`--verbose`). */
export function showLog(
  platform: Platform,
  id: string,
  { note, isNew }: { note: (line: string) => void; isNew: boolean },
): { end(isOver: boolean): Promise<void> } {
  const left = new AbortController()
  const shown = (async () => {
    const options = { follow: true, signal: left.signal, ...(isNew ? {} : { tail: 0 }) }
    for await (const line of followLog(platform, id, options)) note(indentedText(logLine(line)))
  })().catch((error: unknown) => {
    if (!left.signal.aborted) note(`The log can't be shown: ${error instanceof Error ? cleanText(error.message) : ''}`)
  })
  return {
    end: async (isOver) => {
      if (isOver) await within(LAST_LINES_MS, shown)
      left.abort()
      await within(LAST_LINES_MS, shown)
    },
  }
}
