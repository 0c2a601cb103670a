/**
 * Keeps the events of runs that have ended in the browser's storage, so that a second visit moves none of them. They are gone when the
 * session ends or another token takes its place. A browser without such storage reads them from the server each time.
 */
import { eventsOf, type KeptPage, type KeptRun, PAGE_EVENTS, RUN_MAX_CHARS, runsToForget } from './kept-runs.ts'

const NAME = 'resolve.events'
const RUNS = 'runs'
const PAGES = 'pages'

/** The run that the server has, as its story tells. */
export interface RunNow {
  id: string
  created: string
  last: number
}

/** Undefined where it is not kept. */
export async function readKept<T>(now: RunNow): Promise<T[] | undefined> {
  try {
    return await inStore('readwrite', async (runs, pages) => {
      const run = await done<KeptRun | undefined>(runs.get(now.id))
      if (run === undefined) return undefined
      const found = await done<KeptPage[]>(pages.getAll(pagesOf(now.id)))
      const events = eventsOf<T>(run, found, now)
      if (events === undefined) forget(runs, pages, now.id)
      else runs.put({ ...run, used: Date.now() } satisfies KeptRun)
      return events
    })
  } catch {
    return undefined
  }
}

/** `mayKeep` is asked in the moment of writing: the session may have ended since. */
export async function keepEvents(now: RunNow, events: readonly unknown[], mayKeep: () => boolean): Promise<void> {
  if (events.length !== now.last) return
  const pages: KeptPage[] = []
  let chars = 0
  for (let at = 0; at < events.length; at += PAGE_EVENTS) {
    const text = JSON.stringify(events.slice(at, at + PAGE_EVENTS))
    chars += text.length
    if (chars > RUN_MAX_CHARS) return
    pages.push({ id: now.id, first: at + 1, text })
    // A page is some milliseconds of work: what the person does comes between.
    await new Promise((resolve) => setTimeout(resolve, 0))
  }
  try {
    await inStore('readwrite', async (runs, stored) => {
      if (!mayKeep()) return
      forget(runs, stored, now.id)
      for (const page of pages) stored.put(page)
      runs.put({ ...now, chars, used: Date.now() } satisfies KeptRun)
      for (const id of runsToForget(await done<KeptRun[]>(runs.getAll()))) forget(runs, stored, id)
    })
  } catch {
    // The browser has no room: the run is read from the server again.
  }
}

/** Forgets every run. */
export async function dropKept(): Promise<void> {
  try {
    await inStore('readwrite', async (runs, pages) => {
      runs.clear()
      pages.clear()
    })
  } catch {
    // Without storage nothing was kept.
  }
}

function forget(runs: IDBObjectStore, pages: IDBObjectStore, id: string): void {
  runs.delete(id)
  pages.delete(pagesOf(id))
}

function pagesOf(id: string): IDBKeyRange {
  return IDBKeyRange.bound([id, 0], [id, Number.POSITIVE_INFINITY])
}

/** One transaction over both stores; rejects where it is not committed. */
async function inStore<T>(
  mode: IDBTransactionMode,
  act: (runs: IDBObjectStore, pages: IDBObjectStore) => Promise<T>,
): Promise<T> {
  const base = await opened()
  try {
    const transaction = base.transaction([RUNS, PAGES], mode)
    const committed = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })
    const [result] = await Promise.all([act(transaction.objectStore(RUNS), transaction.objectStore(PAGES)), committed])
    return result
  } finally {
    base.close()
  }
}

function opened(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1)
    request.onupgradeneeded = () => {
      request.result.createObjectStore(RUNS, { keyPath: 'id' })
      request.result.createObjectStore(PAGES, { keyPath: ['id', 'first'] })
    }
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
    request.onblocked = () => reject(request.error)
  })
}

function done<T>(request: IDBRequest): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result as T)
    request.onerror = () => reject(request.error)
  })
}
