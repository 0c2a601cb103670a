/** Tells a long-running process when the catalog may have changed: a watch is quick, a sweep is the guarantee (architecture, decision 3). */
import { SWEEP_WATCHED_MS } from '../limits.ts'

export interface Watched {
  /** The folder that holds the file; only the file itself is looked at in it. */
  home: string
  file: string
  /** Manifests of directory sources, as of now. */
  manifests(): string[]
}

/** Calls `look`, whose failure means only that there is nothing to see, after a change and every sweep; returns its stop. */
export function watchCatalog(watched: Watched, look: () => Promise<void>): () => Promise<void> {
  let isStopped = false
  const tryLook = () => look().catch(() => {})
  const sweep = setInterval(() => void tryLook(), SWEEP_WATCHED_MS)
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
      void tryLook().then(() => watcher.closed || watcher.add(watched.manifests()))
    })
    // The system may have no watches left: then the sweep alone finds the change.
    watcher.on('error', () => {})
    return watcher
  })().catch(() => undefined)
  return async () => {
    isStopped = true
    clearInterval(sweep)
    await (await opening)?.close()
  }
}
