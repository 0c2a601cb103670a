/** Counts what this process reads from files: which were opened, and how many bytes at once without a turn of the event loop. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

export interface FileReads {
  opens: number
  bytes: number
  /** The most bytes in one turn of the event loop. */
  bytesOfTurn: number
}

/** Counts reads of files that `isCounted` names, until the answered function is called. */
export function countReads(isCounted: (path: string) => boolean): { reads: FileReads; stop: () => void } {
  const reads: FileReads = { opens: 0, bytes: 0, bytesOfTurn: 0 }
  const { openSync, readSync, closeSync } = fs
  const held = new Set<number>()
  let ofTurn = 0
  let turn: NodeJS.Immediate | undefined
  fs.openSync = (...args: Parameters<typeof openSync>) => {
    const fd = openSync(...args)
    if (isCounted(String(args[0]))) {
      held.add(fd)
      reads.opens += 1
    }
    return fd
  }
  fs.closeSync = (fd) => {
    held.delete(fd)
    closeSync(fd)
  }
  fs.readSync = ((fd: number, ...rest: [Buffer]) => {
    const count = readSync(fd, ...rest)
    if (held.has(fd)) {
      reads.bytes += count
      ofTurn += count
      reads.bytesOfTurn = Math.max(reads.bytesOfTurn, ofTurn)
      turn ??= setImmediate(() => {
        turn = undefined
        ofTurn = 0
      })
    }
    return count
  }) as typeof readSync
  syncBuiltinESMExports()
  const stop = () => {
    clearImmediate(turn)
    Object.assign(fs, { openSync, readSync, closeSync })
    syncBuiltinESMExports()
  }
  return { reads, stop }
}
