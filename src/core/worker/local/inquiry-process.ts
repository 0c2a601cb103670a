/**
 * A process of this machine in which a resolver only answers questions: without RESOLVE_DIR, without secrets, without an instance. Its
 * stdin is a pipe, so it ends with the host that asks; one that ignores that is ended by the next host that asks something.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { fail } from '../../errors.ts'
import { identify, isSameProcess } from '../../files/process-identity.ts'
import { RPC_FRAME_MAX_BYTES, STDERR_TAIL_BYTES } from '../../limits.ts'
import type { Channel } from '../../rpc/channel.ts'
import { LineSplitter } from '../../rpc/lines.ts'
import { workerEnvironment } from './environment.ts'
import { freshProcesses, type ProcessTable } from './process-table.ts'
import { processesOf, signalAll, unlessScarce } from './process-tree.ts'

export interface InquiryProcess {
  channel: Channel
  /** The last it wrote to stderr. */
  stderr(): string
  /** Why its program could not be started. */
  launchError(): Error | undefined
  close(): Promise<void>
}

export interface InquiryProcessPlan {
  /** Where the resolver's files are. */
  directory: string
  command: readonly string[]
  compileCache?: string | undefined
}

/** Throws `launch_failed` where this process may open no more files; any other reason is told by {@link InquiryProcess.launchError}. */
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
  // Without file descriptors the child has no pipes, and there is no process.
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

/** Ends the processes of hosts that are gone: such a resolver did not notice that its input ended. */
function endAbandoned(table: ProcessTable): void {
  for (const mark of table.marked.keys()) {
    if (isAbandoned(mark)) signalAll(processesOf({ leader: 0, variable: mark }, table), 'SIGKILL')
  }
}

const MARK = /^RESOLVE_INQUIRY=(pid:\[\d+\])\.(\d+)\.(\d+)\.[0-9a-f]{24}$/

/** Only a host of this process's own PID namespace can be looked for by its number. */
function isAbandoned(mark: string): boolean {
  const [, namespace, pid, startTime = ''] = MARK.exec(mark) ?? []
  const own = unlessScarce(() => identify(process.pid))
  if (namespace === undefined || namespace !== ownNamespace() || own === undefined) return false
  return unlessScarce(() => isSameProcess({ pid: Number(pid), startTime, bootId: own.bootId })) === false
}

/** Names the asking host in the mark of a process; '' where that cannot be told, and then no host ends it but its own. */
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

class ChildChannel implements Channel {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #splitter = new LineSplitter(RPC_FRAME_MAX_BYTES)

  constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child
    // A resolver that ends early closes its stdin: the call that waits says so.
    child.stdin.on('error', () => {})
  }

  send(line: string): void {
    this.#child.stdin.write(`${line}\n`)
  }

  onLine(listener: (line: string) => void): void {
    this.#child.stdout.on('data', (bytes: Buffer) => {
      for (const line of this.#splitter.push(bytes)) listener(line.bytes === null ? '' : line.bytes.toString('utf8'))
    })
  }

  onClose(listener: () => void): void {
    this.#child.on('error', listener)
    this.#child.on('close', listener)
  }

  close(): void {
    this.#child.stdin.destroy()
  }
}
