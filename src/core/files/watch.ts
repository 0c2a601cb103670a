/**
 * Notifies when something may have changed: file watching for speed, a periodic sweep for certainty (architecture, decision 3;
 * threats D9).
 */
import { watch } from 'node:fs'
import { SWEEP_MS, SWEEP_WATCHED_MS } from '../limits.ts'

/**
 * Calls `onChange` when one of the files, or something in one of the directories, changes, and at every sweep; `swept` says which.
 * Without `sweepMs` the sweep is slow while everything is watched. Returns the function that stops it. Neither the watch nor the
 * timer keeps the process alive.
 */
export function watchAndSweep(
  paths: readonly string[],
  onChange: (swept: boolean) => void,
  sweepMs?: number,
): () => void {
  const watchers = paths.map((path) => watchOne(path, () => onChange(false)))
  const isWatched = watchers.every((stop) => stop !== undefined)
  const sweep = setInterval(() => onChange(true), sweepMs ?? (isWatched ? SWEEP_WATCHED_MS : SWEEP_MS))
  sweep.unref()
  return () => {
    clearInterval(sweep)
    for (const stop of watchers) stop?.()
  }
}

function watchOne(path: string, onChange: () => void): (() => void) | undefined {
  try {
    const watcher = watch(path, { persistent: false }, onChange)
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    // Watches are a limited resource of the machine. Without one, the sweep runs more often.
    return undefined
  }
}
