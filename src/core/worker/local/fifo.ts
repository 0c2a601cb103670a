/**
 * The FIFOs of a local worker: the one that it reads, and its lifeline. Node can make none, so a program does, and that takes as long as all the
 * rest of a launch: while a resolver is asked whether an instance may be created they are made ahead, and moved into place when the worker is launched.
 */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FIFO_AHEAD_MS } from '../../limits.ts'

const MKFIFO = ['mkfifo', '-m', '600'] as const

/** Of the FIFO that a worker reads, and of its lifeline. */
type Paths = readonly [string, string]

interface Ahead {
  paths: Paths
  isMade: boolean
  /** Nobody wants it any more. */
  isDropped: boolean
  timer: NodeJS.Timeout
}

/** By the directory it lies in, one each. */
const made = new Map<string, Ahead>()

/** Begins to make one in a directory of the same file system, under a name that counts as a leftover when this process dies. */
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
  // Without it one is made when it is needed, and then the error is told.
  child.on('error', () => dropFifoAhead(directory))
  child.on('exit', (code) => {
    ahead.isMade = code === 0
    if (ahead.isDropped) removeAll(paths)
  })
}

/** Removes the one that nobody came for. */
export function dropFifoAhead(directory: string): void {
  const ahead = made.get(directory)
  if (ahead === undefined) return
  made.delete(directory)
  clearTimeout(ahead.timer)
  ahead.isDropped = true
  // It may be there without our having heard of it.
  removeAll(ahead.paths)
}

/** Puts a fresh FIFO at each of two paths: the two that lie ready in the directory, or new ones. */
export async function placeFifos(paths: Paths, directory: string): Promise<void> {
  const ahead = made.get(directory)
  if (ahead?.isMade === true) {
    made.delete(directory)
    clearTimeout(ahead.timer)
    try {
      for (const [index, path] of paths.entries()) renameSync(ahead.paths[index] as string, path)
      return
    } catch {
      // Another process removed them.
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
