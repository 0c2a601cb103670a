/** Git for the tools search and glob: what a clone's own settings name does not run, and neither a line nor a pattern fills the memory. */
import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { TOOL_SEARCH_HELD_BYTES, TOOL_SEARCH_LIMIT_MS, TOOL_SEARCH_MEMORY_BYTES } from '../../core/limits.ts'

export interface Lines {
  lines: string[]
  isCut: boolean
  problem?: string
}

/** The root of the repository that the directory is in; undefined outside of one. */
export async function repositoryOf(directory: string, signal: AbortSignal): Promise<string | undefined> {
  const { lines } = await linesOf(directory, ['rev-parse', '--is-inside-work-tree', '--show-toplevel'], 2, signal)
  return lines[0] === 'true' ? lines[1] : undefined
}

/** A folder of a clone that looks like a repository, with a configuration of its own, is none. */
const SAFE = [
  ...['-c', 'core.fsmonitor=false'],
  ...['-c', 'safe.bareRepository=explicit'],
  ...['-c', 'core.quotePath=false'],
  ...['-c', 'grep.fallbackToNoIndex=false'],
  ...['-c', 'grep.threads=2'],
]

/** A pattern such as `((a{1,99}){1,99}){1,99}` would take all memory there is to be read. A system without the limit works without it. */
const BOUNDED = `ulimit -d ${TOOL_SEARCH_MEMORY_BYTES / 1_024} 2>/dev/null; exec git "$@"`

/** The lines that git prints, up to a number of them; then it is ended. */
export async function linesOf(
  cwd: string,
  words: readonly string[],
  most: number,
  signal: AbortSignal,
): Promise<Lines> {
  const limit = AbortSignal.timeout(TOOL_SEARCH_LIMIT_MS)
  const env = { ...process.env, GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C.UTF-8' }
  const child = spawn('sh', ['-c', BOUNDED, 'git', ...SAFE, ...words], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.any([signal, limit]),
  })
  const exited = new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null))
    child.once('close', resolve)
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors = (errors + chunk).slice(0, 1_000)
  })
  const lines: string[] = []
  let isCut = false
  for await (const line of linesIn(child.stdout)) {
    if (lines.length >= most) {
      isCut = true
      break
    }
    lines.push(line)
  }
  if (isCut) child.kill('SIGKILL')
  const code = await exited
  signal.throwIfAborted()
  if (limit.aborted) return { lines, isCut: true }
  // 1: nothing found.
  const failed = !isCut && lines.length === 0 && code !== 0 && code !== 1
  return { lines, isCut, ...(failed ? { problem: errors.trim() || 'git can not be run here. Use a command.' } : {}) }
}

const LF = 0x0a

/** Of a line that is longer than what is shown of one, the beginning: a file may be one line of gigabytes. */
export async function* linesIn(stream: Readable): AsyncGenerator<string> {
  let held: Buffer[] = []
  let bytes = 0
  let isOpen = false
  const keep = (part: Buffer) => {
    const room = part.subarray(0, TOOL_SEARCH_HELD_BYTES - bytes)
    if (room.length > 0) held.push(room)
    bytes += room.length
    isOpen ||= part.length > 0
  }
  const take = () => {
    const line = Buffer.concat(held).toString('utf8').replace(/\r$/, '')
    held = []
    bytes = 0
    isOpen = false
    return line
  }
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let start = 0
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, start)) {
      keep(chunk.subarray(start, at))
      start = at + 1
      yield take()
    }
    keep(chunk.subarray(start))
  }
  if (isOpen) yield take()
}
