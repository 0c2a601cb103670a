/**
 * A local process for an inquiry: it gets no RESOLVE_DIR, no secrets and no instance. Its stdin is a pipe, so it ends with the
 * host that asks. A process that ignores the end of its input is ended by the next process that makes an inquiry or begins to host.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { fail } from '../../errors.ts'
import { identify, isSameProcess } from '../../files/process-identity.ts'
import { STDERR_TAIL_BYTES } from '../../limits.ts'
import type { Channel } from '../../rpc/channel.ts'
import { ChildChannel } from './child-channel.ts'
import { workerEnvironment } from './environment.ts'
import { freshProcesses, type ProcessTable } from './process-table.ts'
import { processesOf, signalAll, unlessScarce } from './process-tree.ts'

export interface InquiryProcess {
  channel: Channel
  /** The end of its stderr. */
  stderr(): string
  /** Why its program could not be started. */
  launchError(): Error | undefined
  close(): Promise<void>
}

export interface InquiryProcessPlan {
  /** The directory of the resolver's files. */
  directory: string
  command: readonly string[]
  compileCache?: string | undefined
}

/**
 * Throws `launch_failed` where this process has no file descriptors left; {@link InquiryProcess.launchError} has any other
 * reason.
 */
export function openInquiryProcess(plan: InquiryProcessPlan): InquiryProcess {
  const [command = '', ...args] = plan.command
  const mark = `${ownPrefix()}${randomBytes(12).toString('hex')}`
  const child = spawn(command, args, {
    cwd: plan.directory,
    env: { ...workerEnvironment({ compileCache: plan.compileCache }), RESOLVE_INQUIRY: mark },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let stderr = ''
  let launchError: Error | undefined
  child.on('error', (error) => {
    launchError = error
  })
  // Without file descriptors the child has no pipes, so it was not started.
  if (child.stderr === undefined) {
    throw fail('launch_failed', { command: plan.command.join(' '), reason: 'too many files are open' })
  }
  child.stderr.on('data', (bytes: Buffer) => {
    stderr = (stderr + bytes.toString('utf8')).slice(-STDERR_TAIL_BYTES)
  })
  return {
    channel: new ChildChannel(child),
    stderr: () => stderr,
    launchError: () => launchError,
    close: async () => {
      const leader = child.exitCode === null && child.signalCode === null ? (child.pid ?? 0) : 0
      const table = await freshProcesses()
      signalAll(processesOf({ leader, variable: `RESOLVE_INQUIRY=${mark}` }, table), 'SIGKILL')
      endAbandoned(table)
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy()
      child.unref()
    },
  }
}

/** As {@link endAbandoned}, with a look of its own: a process that begins to host calls it. Throws where it lacks file descriptors. */
export async function endAbandonedInquiries(): Promise<void> {
  endAbandoned(await freshProcesses())
}

/** Ends inquiry processes whose host has died and that did not notice the end of their input. */
function endAbandoned(table: ProcessTable): void {
  for (const mark of table.marked.keys()) {
    if (isAbandoned(mark)) signalAll(processesOf({ leader: 0, variable: mark }, table), 'SIGKILL')
  }
}

const MARK = /^RESOLVE_INQUIRY=(pid:\[\d+\])\.(\d+)\.(\d+)\.[0-9a-f]{24}$/

/** The pid of a host is only meaningful in this process's own PID namespace. */
function isAbandoned(mark: string): boolean {
  const [, namespace, pid, startTime = ''] = MARK.exec(mark) ?? []
  const own = unlessScarce(() => identify(process.pid))
  if (namespace === undefined || namespace !== ownNamespace() || own === undefined) return false
  return unlessScarce(() => isSameProcess({ pid: Number(pid), startTime, bootId: own.bootId })) === false
}

/** The host's id in the mark of the process. '' where it cannot be determined; then only the host itself ends the process. */
function ownPrefix(): string {
  const [namespace, own] = [ownNamespace(), unlessScarce(() => identify(process.pid))]
  return namespace === undefined || own === undefined ? '' : `${namespace}.${own.pid}.${own.startTime}.`
}

function ownNamespace(): string | undefined {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return undefined
  }
}
