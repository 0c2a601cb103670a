/** Runs tasks side by side, a number of them at once: the branches of a parallel node, and nodes in dataflow mode. */

export interface Tasks<T> {
  /** The next one to begin; undefined where none can begin now. */
  next(): { run: (signal: AbortSignal) => Promise<T>; ended: (value: T) => void } | undefined
  most: number
  /** Whether the others are to be ended. */
  isDecided(): boolean
  signal: AbortSignal
}

/** Resolves when nothing runs and nothing can begin. When one rejects or `signal` aborts, the others are ended first; then it rejects. */
export async function sideBySide<T>({ next, most, isDecided, signal }: Tasks<T>): Promise<void> {
  const ending = new AbortController()
  const all = AbortSignal.any([signal, ending.signal])
  const running = new Set<Promise<void>>()
  let fault: { error: unknown } | undefined
  const begin = (task: NonNullable<ReturnType<Tasks<T>['next']>>) => {
    const one = task.run(all).then(
      (value) => {
        running.delete(one)
        // What ends after the decision counts no longer: when it ends is luck.
        if (!all.aborted) task.ended(value)
        if (isDecided()) ending.abort(new Error('the other branches have decided'))
      },
      (error: unknown) => {
        running.delete(one)
        if (all.aborted) return
        fault = { error }
        ending.abort(error)
      },
    )
    running.add(one)
  }
  if (isDecided()) return
  for (;;) {
    while (!all.aborted && running.size < most) {
      const task = next()
      if (task === undefined) break
      begin(task)
    }
    if (running.size === 0) break
    await Promise.race(running)
  }
  if (fault !== undefined) throw fault.error
  signal.throwIfAborted()
}
