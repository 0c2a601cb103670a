/** The processes that the validator started, which are those of the browser: listening.ts leaves their sockets out, the browser's clean-up ends them. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** The ids of all descendants of this process, as /proc has them. */
export function descendants(): number[] {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)])
  }
  const found: number[] = []
  collect(process.pid)
  return found

  function collect(of: number): void {
    for (const child of children.get(of) ?? []) {
      found.push(child)
      collect(child)
    }
  }
}

/** Ends all of them at once. */
export function killDescendants(): void {
  for (const pid of descendants()) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}

/** The inodes of the sockets that this process and its descendants hold. */
export function ownSockets(): Set<string> {
  const inodes = new Set<string>()
  for (const pid of [process.pid, ...descendants()]) {
    for (const fd of namesIn(`/proc/${pid}/fd`)) {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${fd}`)) ?? []
      if (inode !== undefined) inodes.add(inode)
    }
  }
  return inodes
}

function parentOf(pid: string): number | undefined {
  try {
    // The name of the program, in brackets, may hold spaces and brackets.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
