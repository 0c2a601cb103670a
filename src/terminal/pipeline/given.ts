/** Finds the pipeline that a command was given: a file, a name of the library, `-` for stdin, or a text. */
import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fail } from '../../core/errors.ts'
import { type Checked, checkPipeline } from '../../pipeline/check/check.ts'
import { checkFamily } from '../../pipeline/check/family.ts'
import { LIBRARY_FOLDER, pipelineNamed } from '../../pipeline/files/library.ts'
import { type FileDiagnostic, readNamedFiles } from '../../pipeline/files/named-files.ts'
import { readSource, sourceOf } from '../../pipeline/files/read-source.ts'
import { builtinsDirectory } from '../output/surroundings.ts'

export interface GivenPipeline {
  /** How messages name it: the word that was given. */
  label: string
  /** Its own file; undefined for a text without one. */
  path: string | undefined
  source: string
}

export function libraryFolder(): string {
  return join(builtinsDirectory(), 'pipeline', LIBRARY_FOLDER)
}

/** Throws `pipeline_missing`, `pipeline_unreadable`. */
export async function givenPipeline(word: string): Promise<GivenPipeline> {
  if (word === '-') return { label: '-', path: undefined, source: sourceOf(await buffer(process.stdin), 'stdin') }
  const path = resolve(word)
  if ((await stat(path).catch(() => undefined)) !== undefined)
    return { label: word, path, source: await readSource(path, word) }
  const found = await pipelineNamed(libraryFolder(), word)
  if ('path' in found) return { label: word, path: found.path, source: await readSource(found.path, word) }
  throw fail('pipeline_missing', found.meant === undefined ? { name: word } : { name: word, nearest: found.meant })
}

/** Whether the run has to find it: a git address, or a path in the repository that is cloned for it. */
export async function isElsewhere(word: string, hasRepository: boolean): Promise<boolean> {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word) || /^[\w.-]+@[\w.-]+:/.test(word)) return true
  return hasRepository && word.endsWith('.dot') && (await stat(resolve(word)).catch(() => undefined)) === undefined
}

export interface WholePipeline extends GivenPipeline {
  checked: Checked
  /** The files that it names, by their paths from its folder. */
  files: Record<string, string>
  /** Of the pipeline and its children; `file` is a path that a person can open from here. */
  diagnostics: FileDiagnostic[]
  /** Whether it and all its children may run. */
  isRunnable: boolean
}

/** Checks a pipeline with the files that it names. */
export async function wholePipeline(given: GivenPipeline): Promise<WholePipeline> {
  const { label, path, source } = given
  const name = path === undefined ? 'pipeline.dot' : basename(path)
  const checked = checkPipeline(source)
  const named =
    path === undefined
      ? { files: {} as Record<string, string>, diagnostics: [] }
      : await readNamedFiles(dirname(path), name, source, checked.graph)
  const { files } = named
  const family = checkFamily({
    path: name,
    source,
    read: (child) => (Object.hasOwn(files, child) ? files[child] : undefined),
  })
  // The reading has told why a child is not there.
  const isTold = (file: string, node: string | undefined) =>
    named.diagnostics.some((one) => one.file === file && one.node_id === node)
  const ofFamily = family.diagnostics
    .map((one) => ({ ...one, file: one.file ?? name }))
    .filter(({ rule, file, node_id }) => rule !== 'child_missing' || !isTold(file, node_id))
  const isFile = label.includes('.')
  const shown = (file: string) => (file === name ? label : isFile ? join(dirname(label), file) : `${label}/${file}`)
  const diagnostics = [...ofFamily, ...named.diagnostics].map((one) => ({ ...one, file: shown(one.file) }))
  const isRunnable = diagnostics.every(({ severity }) => severity !== 'error')
  return { ...given, checked, files, diagnostics: sorted(diagnostics, label), isRunnable }
}

/** The pipeline first, then its files; each by its lines. */
function sorted(all: readonly FileDiagnostic[], first: string): FileDiagnostic[] {
  const order = [...new Set([first, ...all.map(({ file }) => file)])]
  return all.toSorted(
    (one, other) =>
      order.indexOf(one.file) - order.indexOf(other.file) ||
      (one.line ?? 0) - (other.line ?? 0) ||
      (one.column ?? 0) - (other.column ?? 0),
  )
}
