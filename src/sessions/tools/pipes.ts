/**
 * Pipes for the output of commands. What Node gives a program are sockets: a script that writes to `/dev/stderr` can't open one. A FIFO can be
 * opened again. `run-command` takes them.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, constants, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Pipe {
  stream: Socket
  /** For the program: the caller closes it once the program has it. */
  end: number
}

/** Both ends of a FIFO whose name is gone. */
interface Ends {
  read: number
  write: number
}

/** Starting `mkfifo` takes as long as the command itself: a process that runs many makes several at once. */
const MADE_AT_ONCE_MAX = 16

const ready: Ends[] = []
let madeAtOnce = 1

/** Each for one command: none is used twice, as a child in the background may hold it. None where there can be none. */
export function takePipes(count: number): Pipe[] {
  try {
    if (ready.length < count) {
      madeAtOnce = Math.min(madeAtOnce * 2, MADE_AT_ONCE_MAX)
      make(Math.max(count - ready.length, madeAtOnce))
    }
    return ready.splice(0, count).map(({ read, write }) => ({
      stream: new Socket({ fd: read, readable: true, writable: false }),
      end: write,
    }))
  } catch {
    return []
  }
}

/** Their names are gone when it returns: a process that is killed leaves none. */
function make(count: number): void {
  const paths = Array.from({ length: count }, () => join(tmpdir(), `resolve-pipe-${randomBytes(12).toString('hex')}`))
  try {
    execFileSync('mkfifo', ['-m', '600', ...paths], { stdio: 'ignore' })
    for (const path of paths) ready.push(openBoth(path))
  } finally {
    for (const path of paths) rmSync(path, { force: true })
  }
}

function openBoth(path: string): Ends {
  const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return { read, write: openSync(path, constants.O_WRONLY) }
  } catch (error) {
    closeSync(read)
    throw error
  }
}
