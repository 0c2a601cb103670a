/**
 * Runs long synchronous work in slices, so that the event loop serves others in between. All works of a process share the slices: one goes
 * on in each turn of the event loop, however many there are. Readers of journals use it.
 */

/** When this turn began, where work was done in it; undefined at its beginning. */
let began: number | undefined
/** The works whose slice is used up, in their order. */
const waiting: (() => void)[] = []

/** The result of `work`, which yields wherever it may be interrupted. Throws what it throws. */
export async function inTurns<T>(work: Generator<void, T>, sliceMs: number): Promise<T> {
  try {
    for (;;) {
      began ??= beginTurn()
      const { done, value } = work.next()
      if (done === true) return value as T
      if (performance.now() - began >= sliceMs) await nextTurn()
    }
  } finally {
    work.return(undefined as T)
  }
}

/** The result of `work` at once: for a caller that has the event loop to itself. Throws what it throws. */
export function atOnce<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value as T
  }
}

function beginTurn(): number {
  setImmediate(() => {
    began = undefined
  })
  return performance.now()
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(giveTurn)
  })
}

function giveTurn(): void {
  began = beginTurn()
  const next = waiting[0]
  next?.()
  // It stays in front until it is done with its slice, so that the next one is called in a turn of its own.
  setImmediate(() => {
    waiting.shift()
    if (waiting.length > 0) giveTurn()
  })
}
