/** Whether the server can be reached, as the latest request or the browser says. Screens disable what cannot be sent meanwhile. */
import { useSyncExternalStore } from 'react'

let isReached = true
const listeners = new Set<() => void>()

/** Called after every request: with true for any response, with false for none. */
export function noteReach(next: boolean): void {
  if (next === isReached) return
  isReached = next
  for (const notify of listeners) notify()
}

export function isReachable(): boolean {
  return isReached
}

export function onReach(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function useReachable(): boolean {
  return useSyncExternalStore(onReach, isReachable)
}

/** Why an action cannot be sent now; null if it can. */
export const OFFLINE_WHY = 'Can’t reach the server. This can be sent when the connection is back.'

addEventListener('offline', () => noteReach(false))
