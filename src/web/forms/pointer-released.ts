/**
 * Waits while a button of the pointer is held down: a message that is inserted then would move the button under the pointer, and
 * the browser would not send its click. For the forms.
 */

/** A pointer whose release is not told must not hold a message back for longer. */
const HELD_LIMIT_MS = 3_000

let isHeld = false
const waiting = new Set<() => void>()

function release(): void {
  isHeld = false
  // The click follows the release within the same task.
  setTimeout(() => {
    for (const resume of waiting) resume()
  })
}

document.addEventListener('pointerdown', () => (isHeld = true), { capture: true })
for (const type of ['pointerup', 'pointercancel'] as const) document.addEventListener(type, release, { capture: true })
window.addEventListener('blur', release)

/** Resolves at once where nothing is held down. */
export async function pointerReleased(): Promise<void> {
  if (!isHeld) return
  await new Promise<void>((resolve) => {
    const resume = () => {
      clearTimeout(limit)
      waiting.delete(resume)
      resolve()
    }
    const limit = setTimeout(resume, HELD_LIMIT_MS)
    waiting.add(resume)
  })
}
