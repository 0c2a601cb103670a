/**
 * Makes the FIFOs of a local worker: its stdin and its lifeline. Node cannot make one, so a program makes both, which takes as long
 * as the rest of a launch. They can be made ahead while a resolver answers its inquiry; the launch then moves them into place.
 */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FIFO_AHEAD_MS } from '../../limits.ts'

const MKFIFO = ['mkfifo', '-m', '600'] as const

/** The paths of the stdin FIFO and of the lifeline. */
type Paths = readonly [string, string]

interface Ahead {
  paths: Paths
  isMade: boolean
  /** The FIFO is no longer needed. */
  isDropped: boolean
  timer: NodeJS.Timeout
}

/** One for each directory. */
const made = new Map<string, Ahead>()

/** Starts making a FIFO in a directory of the same file system. Its name marks it as a leftover if this process dies. */
export function makeFifoAhead(directory: string): void {
  if (made.has(directory)) return
  const name = `.new-${randomBytes(8).toString('hex')}`
  const paths = [join(directory, name), join(directory, `${name}-lifeline`)] as const
  const timer = setTimeout(() => dropFifoAhead(directory), FIFO_AHEAD_MS).unref()
  const ahead: Ahead = { paths, isMade: false, isDropped: false, timer }
  made.set(directory, ahead)
  const [program, ...flags] = MKFIFO
  const child = spawn(program, [...flags, ...paths], { stdio: 'ignore' })
  child.unref()
  // On failure the FIFO is made when it is needed, and that error is reported.
  child.on('error', () => dropFifoAhead(directory))
  child.on('exit', (code) => {
    ahead.isMade = code === 0
    if (ahead.isDropped) removeAll(paths)
  })
}

/** Removes a FIFO that was not used. */
export function dropFifoAhead(directory: string): void {
  const ahead = made.get(directory)
  if (ahead === undefined) return
  made.delete(directory)
  clearTimeout(ahead.timer)
  ahead.isDropped = true
  // The program may have made them without reporting back.
  removeAll(ahead.paths)
}

/** Puts a fresh FIFO at each of two paths: the two made ahead in the directory, or new ones. */
export async function placeFifos(paths: Paths, directory: string): Promise<void> {
  const ahead = made.get(directory)
  if (ahead?.isMade === true) {
    made.delete(directory)
    clearTimeout(ahead.timer)
    try {
      for (const [index, path] of paths.entries()) renameSync(ahead.paths[index] as string, path)
      return
    } catch {
      // A clean-up removed one of them.
      removeAll(ahead.paths)
    }
  }
  removeAll(paths)
  const [program, ...flags] = MKFIFO
  await promisify(execFile)(program, [...flags, ...paths])
}

function removeAll(paths: Paths): void {
  for (const path of paths) rmSync(path, { force: true })
}
