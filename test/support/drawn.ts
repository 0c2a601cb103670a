/** Waits until Ink has taken what was typed and drawn it. */

/** A lone Escape waits this long for the rest of a sequence. */
const ESCAPE_MS = 30
/** Each key can cause a render, and its effects another one. */
const TURNS = 10

/**
 * React renders in later turns of the event loop. A timer alone is no measure of them: in a process that was held up it fires before the turns
 * that were due.
 */
export async function drawn(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ESCAPE_MS))
  for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
