/**
 * The lifeline of a local worker: a FIFO that every process of the worker inherits open for writing. A reader gets end-of-file
 * when the last of these processes has ended, so an adopting host, which is not the parent of the worker, notices the end at
 * once. {@link file://./local.ts} passes it to the worker and reads it. It only means "check now", or "some process still holds
 * this": a program may close it, or start children without it (Python does). The check of the processes decides whether a
 * worker has ended (docs/decisions/0017-lifeline.md).
 */
import * as fs from 'node:fs'
import { Socket } from 'node:net'
import { isScarcity, systemCode } from '../../errors.ts'

/**
 * Above 15, because Node does not pass inherited descriptors up to 15 to its children. Below 64, because some machines allow no
 * more.
 */
const LIFELINE_FD = 40
/** The capacity of a pipe: more bytes than that come from a writer that is still running. */
const PIPE_MAX_BYTES = 1024 * 1024

/** The stdio of a process that gets the lifeline besides stdin, stdout and stderr. */
export function stdioWithLifeline<T extends number | 'pipe'>(
  three: readonly [T, T, T],
  lifeline: number,
): ('ignore' | T | number)[] {
  return [...three, ...Array<'ignore'>(LIFELINE_FD - three.length).fill('ignore'), lifeline]
}

/** The lifeline, opened so that another process of the worker can inherit it; undefined where it is missing. */
export function openToHold(path: string): number | undefined {
  const { O_RDWR, O_NONBLOCK, O_NOFOLLOW } = fs.constants
  return openFifo(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW)
}

/**
 * Calls `onEnd` when the last process that held the lifeline has closed it. Returns a function that stops the watch. There is
 * no call where the lifeline is missing, had ended before, or was written to, so the caller must also check periodically.
 */
export function watchLifeline(path: string, onEnd: () => void): () => void {
  let socket: Socket
  try {
    const fd = openToRead(path)
    if (fd === undefined) return () => {}
    if (!hasWriter(fd)) {
      fs.closeSync(fd)
      return () => {}
    }
    socket = new Socket({ fd, readable: true, writable: false })
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return () => {}
  }
  socket.unref()
  socket.on('error', () => {})
  socket.on('data', () => socket.destroy())
  socket.on('end', onEnd)
  return () => socket.destroy()
}

/** Whether any process still holds the lifeline. Throws if this process has no file descriptors left. */
export function isLifelineHeld(path: string): boolean {
  const fd = openToRead(path)
  if (fd === undefined) return false
  try {
    return hasWriter(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/**
 * The pids of the processes that inherited the lifeline and still hold it. Checks the inherited descriptor number, which is
 * fast; checks all descriptors only with `isThorough`, and only if no process was found. Throws if this process has no file
 * descriptors left.
 */
export function holdersOf(path: string, isThorough: boolean): number[] {
  const line = fs.statSync(path, { throwIfNoEntry: false })
  if (line?.isFIFO() !== true) return []
  const pids = namesIn('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const found = pids.filter((pid) => isInherited(line, pid, String(LIFELINE_FD)))
  if (found.length > 0 || !isThorough) return found.map(Number)
  return pids.filter((pid) => namesIn(`/proc/${pid}/fd`).some((fd) => isInherited(line, pid, fd))).map(Number)
}

/** A host opens its files so that child processes do not inherit them. A descriptor with this flag was not inherited. */
const CLOSES_ON_EXEC = 0o2000000
const ACCESS_MODE = 0o3

function isInherited(line: fs.Stats, pid: string, fd: string): boolean {
  try {
    const { dev, ino } = fs.statSync(`/proc/${pid}/fd/${fd}`)
    if (dev !== line.dev || ino !== line.ino) return false
    const [, octal = '0'] = /^flags:\s*([0-7]+)/m.exec(fs.readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'latin1')) ?? []
    const flags = Number.parseInt(octal, 8)
    return (flags & ACCESS_MODE) !== fs.constants.O_RDONLY && (flags & CLOSES_ON_EXEC) === 0
  } catch (error) {
    if (isScarcity(error)) throw error
    return false
  }
}

function namesIn(directory: string): string[] {
  try {
    return fs.readdirSync(directory)
  } catch (error) {
    if (isScarcity(error)) throw error
    return []
  }
}

/** undefined where there is no FIFO: instances of an earlier version have none, and a worker can remove or replace it. */
function openToRead(path: string): number | undefined {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = fs.constants
  return openFifo(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
}

function openFifo(path: string, flags: number): number | undefined {
  let fd: number
  try {
    fd = fs.openSync(path, flags)
  } catch (error) {
    if (isScarcity(error) || systemCode(error) === undefined) throw error
    return undefined
  }
  if (fs.fstatSync(fd).isFIFO()) return fd
  fs.closeSync(fd)
  return undefined
}

/** Reads and discards bytes that were written: they have no meaning. */
function hasWriter(fd: number): boolean {
  const buffer = Buffer.allocUnsafe(PIPE_MAX_BYTES / 16)
  try {
    for (let read = 0; read < PIPE_MAX_BYTES; ) {
      const bytes = fs.readSync(fd, buffer)
      if (bytes === 0) return false
      read += bytes
    }
  } catch (error) {
    if (systemCode(error) !== 'EAGAIN') throw error
  }
  return true
}
