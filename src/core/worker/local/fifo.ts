/**
 * Makes the FIFO that a local worker reads as stdin. Node cannot make one, so a program does, which takes as long as the rest
 * of a launch. A FIFO can be made ahead while a resolver answers its inquiry; the launch then moves it into place.
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
  /** The FIFO is no longer needed. */
  isDropped: boolean
  timer: NodeJS.Timeout
}

/** One for each directory. */
const made = new Map<string, Ahead>()

/** Starts making a FIFO in a directory of the same file system. Its name marks it as a leftover if this process dies. */
export function makeFifoAhead(directory: string): void {
  if (made.has(directory)) return
  const path = join(directory, `.new-${randomBytes(8).toString('hex')}`)
  const timer = setTimeout(() => dropFifoAhead(directory), FIFO_AHEAD_MS).unref()
  const ahead: Ahead = { path, isMade: false, isDropped: false, timer }
  made.set(directory, ahead)
  const [program, ...flags] = MKFIFO
  const child = spawn(program, [...flags, path], { stdio: 'ignore' })
  child.unref()
  // On failure the FIFO is made when it is needed, and that error is reported.
  child.on('error', () => dropFifoAhead(directory))
  child.on('exit', (code) => {
    ahead.isMade = code === 0
    if (ahead.isDropped) rmSync(path, { force: true })
  })
}

/** Removes a FIFO that was not used. */
export function dropFifoAhead(directory: string): void {
  const ahead = made.get(directory)
  if (ahead === undefined) return
  made.delete(directory)
  clearTimeout(ahead.timer)
  ahead.isDropped = true
  // The program may have made it without reporting back.
  rmSync(ahead.path, { force: true })
}

/** Puts a fresh FIFO at the path: the one made ahead in the directory, or a new one. */
export async function placeFifo(path: string, directory: string): Promise<void> {
  const ahead = made.get(directory)
  if (ahead?.isMade === true) {
    made.delete(directory)
    clearTimeout(ahead.timer)
    try {
      renameSync(ahead.path, path)
      return
    } catch {
      // A clean-up removed it.
      rmSync(ahead.path, { force: true })
    }
  }
  rmSync(path, { force: true })
  const [program, ...flags] = MKFIFO
  await promisify(execFile)(program, [...flags, path])
}
