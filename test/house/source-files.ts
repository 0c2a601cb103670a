/** The source files of the checkout and what each of them imports. Read by the house tests. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

export const root = resolve(import.meta.dirname, '..', '..')

export interface SourceFile {
  /** From the root, with "/": `src/core/host/lifecycle/instance-host.ts`. */
  path: string
  text: string
  /** The text without comments; lines stay where they were. */
  code: string
  imports: Import[]
}

export interface Import {
  /** As written: `node:fs`, `ink`, `../errors.ts`. */
  specifier: string
  /** The imported file from the root, for a relative specifier. */
  path: string | undefined
  /** Only for the compiler: gone when the program runs. */
  isType: boolean
}

export function sourceFiles(folder: string): SourceFile[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  const sources = files.filter((file) => /\.tsx?$/.test(file)).sort()
  return sources.map((file) => readSource(join(folder, file).split(sep).join('/')))
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), 'utf8')
  const code = withoutComments(text)
  return { path, text, code, imports: importsOf(code, path) }
}

/** Strings are kept whole, so that a "//" in one is not taken for a comment. */
const TOKEN = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g

export function withoutComments(text: string): string {
  return text.replace(TOKEN, (token) => (token.startsWith('/') ? token.replace(/[^\n]/g, ' ') : token))
}

const FROM = /\b(import|export)\s+(type\s+)?(?:[\w$*{}\s,]+?\s+from\s+)?['"]([^'"]+)['"]/g
const DYNAMIC = /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g

export function importsOf(code: string, path: string): Import[] {
  const written = [...code.matchAll(FROM)].map((match) => toImport(match[3] ?? '', path, match[2] !== undefined))
  const dynamic = [...code.matchAll(DYNAMIC)].map((match) => toImport(match[1] ?? '', path, false))
  return [...written, ...dynamic]
}

function toImport(specifier: string, from: string, isType: boolean): Import {
  // A style sheet belongs to no room.
  const isRelative = specifier.startsWith('.') && !specifier.endsWith('.css')
  const path = isRelative
    ? relative(root, resolve(root, dirname(from), specifier))
        .split(sep)
        .join('/')
    : undefined
  return { specifier, path, isType }
}

/** The room of a file: its folder (`core/host/ingest`), or the file itself where it lies in `src/core` (`core/errors`). */
export function roomOf(path: string): string {
  const inSource = path.replace(/^src\//, '')
  const folder = inSource.split('/').slice(0, -1).join('/')
  if (folder === 'core') return inSource.replace(/\.tsx?$/, '')
  // The folders of commands and built-in resolvers follow the words of the command line and the resolvers' names.
  return /^(?:commands|resolvers)\b/.exec(folder)?.[0] ?? folder
}
