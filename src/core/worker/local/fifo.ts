/**
 * The FIFO that a local worker reads. Node can make none, so a program does, and that takes as long as all the rest of a launch: while a
 * resolver is asked whether an instance may be created one is made ahead, and moved into place when the worker is launched.
 */
import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FIFO_AHEAD_MS } from '../../limits.ts'

const MKFIFO = ['mkfifo', '-m', '600'] as const

interface Ahead {
  path: string
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
  const path = join(directory, `.new-${randomBytes(8).toString('hex')}`)
  const timer = setTimeout(() => dropFifoAhead(directory), FIFO_AHEAD_MS).unref()
  const ahead: Ahead = { path, isMade: false, isDropped: false, timer }
  made.set(directory, ahead)
  const [program, ...flags] = MKFIFO
  const child = spawn(program, [...flags, path], { stdio: 'ignore' })
  child.unref()
  // Without it one is made when it is needed, and then the error is told.
  child.on('error', () => dropFifoAhead(directory))
  child.on('exit', (code) => {
    ahead.isMade = code === 0
    if (ahead.isDropped) rmSync(path, { force: true })
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
  rmSync(ahead.path, { force: true })
}

/** Puts a fresh FIFO at the path: the one that lies ready in the directory, or a new one. */
export async function placeFifo(path: string, directory: string): Promise<void> {
  const ahead = made.get(directory)
  if (ahead?.isMade === true) {
    made.delete(directory)
    clearTimeout(ahead.timer)
    try {
      renameSync(ahead.path, path)
      return
    } catch {
      // Somebody tidied it away.
      rmSync(ahead.path, { force: true })
    }
  }
  rmSync(path, { force: true })
  const [program, ...flags] = MKFIFO
  await promisify(execFile)(program, [...flags, path])
}
