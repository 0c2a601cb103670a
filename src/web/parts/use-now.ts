/** The clock of the page: one tick a second, for ages and durations. */
import { useSyncExternalStore } from 'react'
import { isReachable } from '../api/reach.ts'

let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (isReachable()) now = Date.now()
  timer ??= setInterval(() => {
    // Ages and durations are those of the last known state: while the server cannot be reached, they would be guesses.
    if (!isReachable()) return
    now = Date.now()
    for (const notify of listeners) notify()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Milliseconds since 1970. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}
