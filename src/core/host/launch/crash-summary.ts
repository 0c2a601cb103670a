/**
 * The cause of a crash in the output of a program, in one sentence: the error with the file and line where it happened. For a
 * resolver that ended before it answered, and for a worker that ended without a result. Pure.
 */
import { fileURLToPath } from 'node:url'

/** `Error [ERR_X]: …`, `TypeError: …`, `ModuleNotFoundError: …`, `Uncaught SyntaxError …: …`. */
const ERROR = /^(?:Uncaught )?(?:[A-Z]\w*(?:\.\w+)*)?(?:Error|Exception)\b[^:]*: (.+)/
/** What Node says of a module in a folder whose package.json says otherwise. */
const COMMONJS = /^SyntaxError.*: (?:Cannot use import statement outside a module|Unexpected token 'export')$/
const AS_MODULE = 'Set "type": "module" in the package.json of the resolver.'
const NODE_FRAME = /^at (?:.*\()?((?:file:\/\/)?\/[^()]+?):(\d+):\d+\)?$/
const NODE_PLACE = /^((?:file:\/\/)?\/\S+?):(\d+)$/
const PYTHON_FRAME = /^File "(.+)", line (\d+)/
/** Frames of Node and of packages do not show what the author wrote. */
const FOREIGN = /\/node_modules\/|\/resolve-platform\/|\/dist\/(?:parts|sdk)\//

/** undefined where the output has no error that is recognised. `dir` is the resolver's directory: paths are told from there. */
export function crashSummary(output: string, dir?: string): string | undefined {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
  const isPython = lines.some((line) => line.startsWith('Traceback '))
  const error = isPython ? lines.findLast((line) => ERROR.test(line)) : lines.find((line) => ERROR.test(line))
  if (error === undefined) return undefined
  const missing = /Cannot find (?:package|module) '[^']+' imported from (\S+)/.exec(error)
  if (missing !== null) return missing[0].replace(missing[1] ?? '', from(missing[1] ?? '', dir))
  if (COMMONJS.test(error)) return `${error}. ${AS_MODULE}`
  const place = isPython ? lines.map(pythonPlace).findLast(isPlace) : nodePlace(lines)
  return place === undefined ? error : `${error} (${from(place.path, dir)}:${place.line})`
}

interface Place {
  path: string
  line: string
}

/** The first frame of the author's own code; else the place that Node prints above a syntax error. */
function nodePlace(lines: readonly string[]): Place | undefined {
  const own = (pattern: RegExp) =>
    lines
      .map((line) => toPlace(pattern.exec(line)))
      .filter(isPlace)
      .find(({ path }) => !FOREIGN.test(path))
  return own(NODE_FRAME) ?? own(NODE_PLACE)
}

function pythonPlace(line: string): Place | undefined {
  return toPlace(PYTHON_FRAME.exec(line))
}

function toPlace(match: RegExpExecArray | null): Place | undefined {
  const [, path, line] = match ?? []
  return path === undefined || line === undefined ? undefined : { path, line }
}

function isPlace(place: Place | undefined): place is Place {
  return place !== undefined
}

/** The path below `dir`, else the name of the file. */
function from(place: string, dir: string | undefined): string {
  const path = place.startsWith('file://') ? toPath(place) : place
  if (dir !== undefined && path.startsWith(`${dir}/`)) return path.slice(dir.length + 1)
  return path.split('/').at(-1) ?? path
}

function toPath(url: string): string {
  try {
    return fileURLToPath(url)
  } catch {
    return url
  }
}
