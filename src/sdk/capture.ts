/**
 * Keeps stdout for the channel to the host: whatever the author's code prints goes to stderr.
 * Called by {@link file://./register.ts} before any other code, or late by {@link file://./serve.ts}.
 */

const CAPTURED = Symbol.for('resolve-platform.stdout-captured')

type Marked = typeof globalThis & { [CAPTURED]?: true }

export function isCaptured(): boolean {
  return (globalThis as Marked)[CAPTURED] === true
}

/** Before anything was printed: a getter, so that no stream is opened on fd 1 at all. */
export function captureStdout(): void {
  if (isCaptured()) return
  ;(globalThis as Marked)[CAPTURED] = true
  Object.defineProperty(process, 'stdout', { configurable: true, enumerable: true, get: () => process.stderr })
}

/** When code may already hold the stream (console keeps the first one it used): its writes are turned too. */
export function captureStdoutLate(): void {
  if (isCaptured()) return
  const { stdout, stderr } = process
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write
  captureStdout()
}
