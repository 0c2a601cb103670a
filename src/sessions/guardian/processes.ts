/** The processes of a worker, found by the marks in their environment: for the guardian and for ending what a command started (Linux). */
import { readdirSync, readFileSync } from 'node:fs'

/** Every process of a tool call carries it, also one that left its group. */
export const CALL_MARK = 'RESOLVE_CALL'

export interface Process {
  pid: number
  parent: number
  session: number
  threads: number
  argv: readonly string[]
  /** The tool call that started it. */
  call: string | undefined
  /** The mark of the helper that it belongs to. */
  helper: string | undefined
}

/** Begins the mark of a command that the resolver itself runs: no tool call, and so no orphan of one. */
export const RESOLVER_COMMAND = 'resolver '

/** The processes of a helper, which runs sessions beside a resolver without the SDK, carry it too. */
export const HELPER_MARK = 'RESOLVE_HELPER'

/** The mark of the helper that this process is, for programs that get another environment than its own. */
export function ownHelperMark(): Record<string, string> {
  const mark = process.env[HELPER_MARK]
  return mark === undefined ? {} : { [HELPER_MARK]: mark }
}

/** Of the worker whose coordination directory is `resolveDir`. Empty where the system tells no processes. */
export function processesOf(resolveDir: string): Process[] {
  const found: Process[] = []
  for (const name of namesIn('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const process = readProcess(Number(name), `RESOLVE_DIR=${resolveDir}`)
    if (process !== undefined) found.push(process)
  }
  return found
}

export function processesOfCall(resolveDir: string, call: string): Process[] {
  return processesOf(resolveDir).filter((one) => one.call === call && one.pid !== process.pid)
}

export function endProcess(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

/** As a person would write it, without control characters. */
export function commandLine({ argv }: Process, maxChars = 120): string {
  const text = argv.join(' ').replace(/[\p{Cc}\p{Cf}]/gu, ' ')
  return text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text
}

function readProcess(pid: number, mark: string): Process | undefined {
  const base = `/proc/${pid}`
  const variables = readText(`${base}/environ`)?.split('\0')
  if (variables === undefined || !variables.includes(mark)) return undefined
  // After the name of the program, which may hold spaces and brackets: state, parent, group, session, …, threads.
  const stat = readText(`${base}/stat`)
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (fields === undefined || fields[0] === 'Z') return undefined
  const markedBy = (name: string) => variables.find((one) => one.startsWith(`${name}=`))?.slice(name.length + 1)
  const argv = (readText(`${base}/cmdline`) ?? '').split('\0').filter((word) => word !== '')
  return {
    pid,
    parent: Number(fields[1]),
    session: Number(fields[3]),
    threads: Number(fields[17]) || 1,
    argv,
    call: markedBy(CALL_MARK),
    helper: markedBy(HELPER_MARK),
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return undefined
  }
}
