/** A server in a process of its own, whose use of the machine is looked at from outside while things are done to it (reliability I10). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Held, HostUse } from './invariants-host.ts'
import type { Lateness } from './pulse.ts'

const PROGRAM = join(import.meta.dirname, 'serve-program.ts')
const LOOK_MS = 100

export interface MeasuredServer {
  url: string
  token: string
  pid: number
  /** Measures until the answered function is called. */
  measure(name: string): () => Promise<HostUse>
  close(): Promise<void>
}

export async function measuredServer(home: string, added: NodeJS.ProcessEnv = {}): Promise<MeasuredServer> {
  const child = spawn(process.execPath, [PROGRAM, home, '0'], {
    env: { ...process.env, ...added },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const pid = child.pid as number
  const [line] = (await once(createInterface({ input: child.stdout as NonNullable<typeof child.stdout> }), 'line')) as [
    string,
  ]
  const { url, token } = JSON.parse(line) as { url: string; token: string }
  const told = new Map<string, (lateness: Lateness) => void>()
  child.on('message', ({ end, lateness }: { end: string; lateness: Lateness }) => {
    told.get(end)?.(lateness)
    told.delete(end)
  })
  const measure = (name: string) => {
    const before = heldBy(pid)
    const peak = { ...before }
    const look = () => {
      const now = heldBy(pid)
      for (const what of Object.keys(peak) as (keyof Held)[]) peak[what] = Math.max(peak[what], now[what])
    }
    const timer = setInterval(look, LOOK_MS)
    child.send({ begin: name })
    return async () => {
      clearInterval(timer)
      look()
      const lateness = new Promise<Lateness>((tell) => told.set(name, tell))
      child.send({ end: name })
      return { before, peak, ...(await lateness) }
    }
  }
  const close = async () => {
    const ended = once(child, 'exit')
    child.disconnect()
    await ended
  }
  return { url, token, pid, measure, close }
}

/** What a process holds now, as the kernel counts it. */
export function heldBy(pid: number): Held {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  const count = (name: string) => Number(new RegExp(`^${name}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0)
  const held = {
    rssBytes: count('VmRSS') * 1024,
    fds: 0,
    threads: count('Threads'),
    inotifyInstances: 0,
    inotifyWatches: 0,
  }
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    held.fds += 1
    try {
      if (readlinkSync(`/proc/${pid}/fd/${fd}`) !== 'anon_inode:inotify') continue
      held.inotifyInstances += 1
      held.inotifyWatches += readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'latin1').split('inotify wd:').length - 1
    } catch {
      // It was closed meanwhile.
    }
  }
  return held
}
