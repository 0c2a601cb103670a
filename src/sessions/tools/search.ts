/** The tools search and glob, by git: it is there wherever workers run, and leaves out what a repository ignores. */
import { stat } from 'node:fs/promises'
import {
  TOOL_GLOB_PATHS,
  TOOL_SEARCH_HITS,
  TOOL_SEARCH_LINE_MAX_CHARS,
  TOOL_SEARCH_MAX_BYTES,
} from '../../core/limits.ts'
import { flag, object, optional, type Static, text } from '../../core/schema/schema.ts'
import { linesOf, repositoryOf } from '../search/git-lines.ts'
import { matcherOf, readPattern } from '../search/patterns.ts'
import { walk } from '../search/walk.ts'
import type { Place } from './place.ts'
import { mistaken, type Tool, told } from './tool.ts'

const searchInput = object({
  pattern: text({ minLength: 1, maxLength: 2_000, description: 'An extended regular expression (as grep -E)' }),
  path: optional(text({ description: 'A file or directory; default: the working directory' })),
  files: optional(text({ maxLength: 500, description: 'Which files: a glob such as **/*.{ts,tsx}' })),
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
      const at = await directoryOf(place, path, signal)
      if ('refused' in at) return mistaken(at.refused)
      const wanted = readPattern(files ?? '', at.directory)
      if ('problem' in wanted) return mistaken(wanted.problem)
      const where = at.isRepository ? ['--untracked'] : ['--no-index', '--exclude-standard']
      const flags = ['--no-color', '-nIE', '--full-name', ...(ignore_case ? ['-i'] : []), ...where]
      const globs = wanted.patterns.map((one) => `:(glob)${one}`)
      const only = at.file !== undefined ? [`:(literal)${at.file}`] : globs.length > 0 ? globs : ['.']
      const words = ['grep', ...flags, '-e', pattern, '--', ...only]
      const found = await linesOf(at.directory, words, TOOL_SEARCH_HITS, signal)
      if (found.problem !== undefined) return mistaken(found.problem)
      if (found.lines.length === 0)
        return found.isCut ? mistaken('No hits in the time there is: give path or files.') : told('No hits.')
      return told(withinBytes(found.lines.map(shortened), found.isCut))
    },
  }
}

const globInput = object({
  pattern: text({ minLength: 1, maxLength: 500, description: 'Such as **/*.ts or src/**/*.{ts,tsx}' }),
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
      const at = await directoryOf(place, path, signal)
      if ('refused' in at) return mistaken(at.refused)
      const wanted = readPattern(pattern, at.directory)
      if ('problem' in wanted) return mistaken(wanted.problem)
      const globs = wanted.patterns.map((one) => `:(glob)${one}`)
      const words = ['ls-files', '-co', '--exclude-standard', '--', ...globs]
      const allows = (full: string) => 'path' in place.find(full, 'read')
      const found = at.isRepository
        ? await linesOf(at.directory, words, TOOL_GLOB_PATHS, signal)
        : await walk(at.directory, matcherOf(wanted.patterns), allows, signal)
      if (found.problem !== undefined) return mistaken(found.problem)
      if (found.lines.length === 0)
        return found.isCut ? mistaken('No files in the time there is: give path.') : told('No files.')
      const more = found.isCut ? [`[more than ${TOOL_GLOB_PATHS}; make the pattern narrower]`] : []
      return told([...new Set(found.lines), ...more].join('\n'))
    },
  }
}

interface Where {
  directory: string
  file?: string
  isRepository: boolean
}

async function directoryOf(place: Place, path: string, signal: AbortSignal): Promise<Where | { refused: string }> {
  const found = place.find(path, 'read')
  if ('refused' in found) return found
  const known = await stat(found.path).catch(() => undefined)
  if (known === undefined) return { refused: `There is no ${path}.` }
  const cut = found.path.lastIndexOf('/')
  const at = known.isDirectory()
    ? { directory: found.path }
    : { directory: found.path.slice(0, cut) || '/', file: found.path.slice(cut + 1) }
  const root = await repositoryOf(at.directory, signal)
  // A home may lie in a repository of its owner, and the settings of a clone may say that its files are elsewhere.
  return { ...at, isRepository: root !== undefined && 'path' in place.find(root, 'read') }
}

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
