/**
 * Notifies a long-running process when the catalog may have changed: file watching for speed, a periodic sweep for certainty
 * (architecture, decision 3).
 */
import { SWEEP_WATCHED_MS } from '../limits.ts'

export interface Watched {
  /** The folder that holds the file; other files in it are ignored. */
  home: string
  file: string
  /** Current manifests of directory sources. */
  manifests(): string[]
}

/**
 * Calls `check` after a change and at every sweep; its errors are ignored, because the next sweep tries again. Returns the
 * function that stops it.
 */
export function watchCatalog(watched: Watched, check: () => Promise<void>): () => Promise<void> {
  let isStopped = false
  const tryCheck = () => check().catch(() => {})
  const sweep = setInterval(() => void tryCheck(), SWEEP_WATCHED_MS)
  sweep.unref()
  const opening = (async () => {
    const { watch } = await import('chokidar')
    if (isStopped) return undefined
    const isOurs = (path: string) =>
      path === watched.home || path === watched.file || watched.manifests().includes(path)
    const watcher = watch([watched.home, ...watched.manifests()], {
      depth: 0,
      ignoreInitial: true,
      persistent: false,
      ignored: (path) => !isOurs(path),
    })
    watcher.on('all', () => {
      void tryCheck().then(() => watcher.closed || watcher.add(watched.manifests()))
    })
    // The system may have no watches left; the sweep then finds the change.
    watcher.on('error', () => {})
    return watcher
  })().catch(() => undefined)
  return async () => {
    isStopped = true
    clearInterval(sweep)
    await (await opening)?.close()
  }
}
