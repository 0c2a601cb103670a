/**
 * Lets git go on where a resolver put a named pipe in the place of a `.gitignore` or `.gitattributes`. git opens such a file to read it, and waits
 * until a writer opens it too. {@link file://./read-tree.ts} calls it beside each git command.
 */
import { closeSync, constants, openSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A command that takes longer may wait for a pipe. Before, no directory is searched for one. */
const SLOW_MS = 300
const PULSE_MS = 10
const PULSES = 100
const PIPES_MAX = 1_000
const NAMES: readonly string[] = ['.gitignore', '.gitattributes']

/** Returns the function that stops it. */
export function releasePipes(tree: string): () => void {
  const stopped = new AbortController()
  release(tree, stopped.signal).catch(() => {})
  return () => stopped.abort()
}

/** Ends by the signal alone. */
async function release(tree: string, signal: AbortSignal): Promise<void> {
  await sleep(SLOW_MS, undefined, { signal })
  for (;;) {
    const pipes = await pipesBelow(tree, signal)
    for (let pulse = 0; pulse < PULSES; pulse += 1) {
      for (const pipe of pipes) openForReader(pipe)
      await sleep(PULSE_MS, undefined, { signal })
    }
  }
}

/** A reader that waits gets the end of the file at once. Where none waits, nothing happens. */
function openForReader(pipe: string): void {
  try {
    closeSync(openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW))
  } catch {
    // ENXIO: no reader.
  }
}

async function pipesBelow(tree: string, signal: AbortSignal): Promise<string[]> {
  const pipes: string[] = []
  const waiting = [tree]
  for (let at = waiting.pop(); at !== undefined && pipes.length < PIPES_MAX; at = waiting.pop()) {
    signal.throwIfAborted()
    for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
      if (entry.isDirectory() && entry.name !== '.git') waiting.push(join(at, entry.name))
      else if (entry.isFIFO() && NAMES.includes(entry.name)) pipes.push(join(at, entry.name))
    }
  }
  return pipes
}
