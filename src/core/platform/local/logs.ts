/** A page of an instance's log, and the wait for its next line: for {@link file://./local.ts}. */
import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { LOG_LOOK_MS, LOG_PAGE_LINES, LOG_PAGE_MAX_LINES, LOG_WAIT_MAX_S, LOG_WAITING_MAX } from '../../limits.ts'
import { readLog } from '../../log/log-reader.ts'
import type { LogPage } from '../../protocol/log.ts'
import type { LogOptions } from '../platform.ts'

let waiting = 0

export async function readLogs(
  path: string,
  hasEnded: () => boolean,
  { waitMs = 0, signal, limit = LOG_PAGE_LINES, ...query }: LogOptions,
): Promise<LogPage> {
  const wanted = { ...query, limit: Math.min(limit, LOG_PAGE_MAX_LINES) }
  let page = readPage(path, hasEnded, wanted)
  if (waitMs === 0 || waiting >= LOG_WAITING_MAX) return page
  const until = Date.now() + Math.min(waitMs, LOG_WAIT_MAX_S * 1_000)
  waiting += 1
  try {
    let before = ''
    while (page.lines.length === 0 && !page.ended && Date.now() < until && signal?.aborted !== true) {
      await sleep(LOG_LOOK_MS, undefined, signal === undefined ? {} : { signal }).catch(() => undefined)
      const print = printOf(path)
      // The lines that were read before are of other sources: they are not read again.
      if (print !== before || hasEnded()) page = readPage(path, hasEnded, { ...wanted, after: page.next })
      before = print
    }
  } finally {
    waiting -= 1
  }
  return page
}

function readPage(path: string, hasEnded: () => boolean, query: Parameters<typeof readLog>[1]): LogPage {
  // Asked before: the host writes the last line before it records the end.
  const isOver = hasEnded()
  const page = readLog(path, query)
  return { ...page, ended: isOver && page.lines.length < query.limit && isLast(path, page.next) }
}

/** A page may be full by its bytes. */
function isLast(path: string, next: number): boolean {
  return readLog(path, { after: next, limit: 1 }).lines.length === 0
}

function printOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino}:${found.size}`
}
