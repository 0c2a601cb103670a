/**
 * Reserves stdout for the channel to the host: everything that the author's code prints goes to stderr. {@link
 * file://./register.ts} calls it before any other code, {@link file://./serve.ts} later if that did not happen.
 */

const CAPTURED = Symbol.for('resolve-platform.stdout-captured')

type Marked = typeof globalThis & { [CAPTURED]?: true }

export function isCaptured(): boolean {
  return (globalThis as Marked)[CAPTURED] === true
}

/** Before anything was printed: a getter, so that no stream is opened on fd 1. */
export function captureStdout(): void {
  if (isCaptured()) return
  ;(globalThis as Marked)[CAPTURED] = true
  Object.defineProperty(process, 'stdout', { configurable: true, enumerable: true, get: () => process.stderr })
}

/** Other code may already hold the stream (console keeps the first one it used), so its write function is replaced as well. */
export function captureStdoutLate(): void {
  if (isCaptured()) return
  const { stdout, stderr } = process
  stdout.write = stderr.write.bind(stderr) as typeof stdout.write
  captureStdout()
}
