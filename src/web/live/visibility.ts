/** Tracks whether the page is visible. A page that has been hidden for a minute closes its connections. */

const HIDDEN_LIMIT_MS = 60_000

let hiddenSince = document.visibilityState === 'hidden' ? performance.now() : undefined

document.addEventListener('visibilitychange', () => {
  hiddenSince = document.visibilityState === 'hidden' ? performance.now() : undefined
})

export function isLongHidden(): boolean {
  return hiddenSince !== undefined && performance.now() - hiddenSince >= HIDDEN_LIMIT_MS
}

/** Resolves when the page is visible again, or the signal aborts. */
export function untilShown(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.visibilityState === 'hidden' && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      signal.removeEventListener('abort', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look)
    look()
  })
}
