/** The tools search and glob, by git: it is there wherever workers run, and leaves out what a repository ignores. */
import { spawn } from 'node:child_process'
import { glob as globFiles, stat } from 'node:fs/promises'
import { relative } from 'node:path'
import { createInterface } from 'node:readline'
import {
  TOOL_GLOB_PATHS,
  TOOL_SEARCH_HITS,
  TOOL_SEARCH_LIMIT_MS,
  TOOL_SEARCH_LINE_MAX_CHARS,
  TOOL_SEARCH_MAX_BYTES,
} from '../../core/limits.ts'
import { flag, object, optional, type Static, text } from '../../core/schema/schema.ts'
import type { Place } from './place.ts'
import { mistaken, type Tool, told } from './tool.ts'

const searchInput = object({
  pattern: text({ minLength: 1, maxLength: 2_000, description: 'An extended regular expression (as grep -E)' }),
  path: optional(text({ description: 'A file or directory; default: the working directory' })),
  files: optional(text({ maxLength: 500, description: 'Which files: a glob such as **/*.ts' })),
  ignore_case: optional(flag()),
})

export function searchTool(place: Place): Tool {
  return {
    name: 'search',
    description: `Searches the content of files. At most ${TOOL_SEARCH_HITS} hits, as path:line:text. Leaves out ignored and binary files.`,
    input: searchInput,
    effect: 'reads',
    async run(input, { signal }) {
      const { pattern, path = '.', files, ignore_case = false } = input as Static<typeof searchInput>
      const at = await directoryOf(place, path)
      if ('refused' in at) return mistaken(at.refused)
      const where = (await isRepository(at.directory, signal)) ? ['--untracked'] : ['--no-index', '--exclude-standard']
      const flags = ['--no-color', '-nIE', '--full-name', ...(ignore_case ? ['-i'] : []), ...where]
      const only = at.file === undefined ? (files === undefined ? '.' : `:(glob)${files}`) : `:(literal)${at.file}`
      const found = await linesOf(at.directory, ['grep', ...flags, '-e', pattern, '--', only], TOOL_SEARCH_HITS, signal)
      if (found.problem !== undefined) return mistaken(found.problem)
      if (found.lines.length === 0) return told('No hits.')
      return told(withinBytes(found.lines.map(shortened), found.isCut))
    },
  }
}

const globInput = object({
  pattern: text({ minLength: 1, maxLength: 500, description: 'Such as **/*.ts' }),
  path: optional(text({ description: 'A directory; default: the working directory' })),
})

export function globTool(place: Place): Tool {
  return {
    name: 'glob',
    description: `Finds files by their names. At most ${TOOL_GLOB_PATHS}. Leaves out ignored files.`,
    input: globInput,
    effect: 'reads',
    async run(input, { signal }) {
      const { pattern, path = '.' } = input as Static<typeof globInput>
      const at = await directoryOf(place, path)
      if ('refused' in at) return mistaken(at.refused)
      const found = (await isRepository(at.directory, signal))
        ? await linesOf(
            at.directory,
            ['ls-files', '-co', '--exclude-standard', '--', `:(glob)${pattern}`],
            TOOL_GLOB_PATHS,
            signal,
          )
        : await walk(place, at.directory, pattern, signal)
      if (found.problem !== undefined) return mistaken(found.problem)
      if (found.lines.length === 0) return told('No files.')
      const more = found.isCut ? [`[more than ${TOOL_GLOB_PATHS}; make the pattern narrower]`] : []
      return told([...new Set(found.lines), ...more].join('\n'))
    },
  }
}

interface Lines {
  lines: string[]
  isCut: boolean
  problem?: string
}

async function directoryOf(
  place: Place,
  path: string,
): Promise<{ directory: string; file?: string } | { refused: string }> {
  const found = place.find(path, 'read')
  if ('refused' in found) return found
  const known = await stat(found.path).catch(() => undefined)
  if (known === undefined) return { refused: `There is no ${path}.` }
  if (known.isDirectory()) return { directory: found.path }
  const cut = found.path.lastIndexOf('/')
  return { directory: found.path.slice(0, cut) || '/', file: found.path.slice(cut + 1) }
}

/** Whether the directory is in a repository; `.git` of a clone may name programs, which are not run. */
async function isRepository(directory: string, signal: AbortSignal): Promise<boolean> {
  const { lines } = await linesOf(directory, ['rev-parse', '--is-inside-work-tree'], 1, signal)
  return lines[0] === 'true'
}

/** A folder of a clone that looks like a repository, with a configuration of its own, is none. */
const SAFE = [
  '-c',
  'core.fsmonitor=false',
  '-c',
  'safe.bareRepository=explicit',
  '-c',
  'core.quotePath=false',
  '-c',
  'grep.fallbackToNoIndex=false',
]

/** The lines that git prints, up to a number of them; then it is ended. */
async function linesOf(cwd: string, words: readonly string[], most: number, signal: AbortSignal): Promise<Lines> {
  const limit = AbortSignal.timeout(TOOL_SEARCH_LIMIT_MS)
  const env = { ...process.env, GIT_OPTIONAL_LOCKS: '0', GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C.UTF-8' }
  const child = spawn('git', [...SAFE, ...words], {
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
  for await (const line of createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY })) {
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

/** Outside of a repository: `exclude` keeps the walk out of what is large and never meant. */
async function walk(place: Place, directory: string, pattern: string, signal: AbortSignal): Promise<Lines> {
  const lines: string[] = []
  const until = Date.now() + TOOL_SEARCH_LIMIT_MS
  for await (const found of globFiles(pattern, { cwd: directory, exclude: (name) => LEFT_OUT.has(String(name)) })) {
    signal.throwIfAborted()
    if (lines.length >= TOOL_GLOB_PATHS || Date.now() > until) return { lines, isCut: true }
    // A pattern may climb out, or go through a link.
    const at = place.find(`${directory}/${found}`, 'read')
    if ('path' in at) lines.push(relative(directory, at.path) || '.')
  }
  return { lines: lines.sort(), isCut: false }
}

const LEFT_OUT = new Set(['.git', 'node_modules', '.resolve'])

function shortened(line: string): string {
  return line.length > TOOL_SEARCH_LINE_MAX_CHARS ? `${line.slice(0, TOOL_SEARCH_LINE_MAX_CHARS)} [line cut]` : line
}

function withinBytes(lines: readonly string[], isCut: boolean): string {
  const shown: string[] = []
  let bytes = 0
  for (const line of lines) {
    bytes += Buffer.byteLength(line) + 1
    if (bytes > TOOL_SEARCH_MAX_BYTES) break
    shown.push(line)
  }
  const more =
    isCut || shown.length < lines.length ? ['[more hits; make the pattern narrower, or give path or files]'] : []
  return [...shown, ...more].join('\n')
}
