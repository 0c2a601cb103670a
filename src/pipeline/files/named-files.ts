/** The files that a pipeline names: child pipelines and `@file` prompts. Reads them from the folder of the pipeline, and from nowhere else. */
import { realpath } from 'node:fs/promises'
import { join, posix, relative, sep } from 'node:path'
import { ResolveError } from '../../core/errors.ts'
import { PIPELINE_FILES_MAX, PIPELINE_FILES_MAX_BYTES } from '../../core/limits.ts'
import { type Checked, checkPipeline } from '../check/check.ts'
import { type Diagnostic, Lines, type Offset, type Severity } from '../language/diagnostic.ts'
import type { PipelineGraph, Value } from '../language/graph.ts'
import { readSource } from './read-source.ts'

/** A file that an attribute names. */
interface Named {
  kind: 'pipeline' | 'text'
  /** As it is written, without the `@` of a prompt. */
  path: string
  at: Offset
  node_id?: string
}

export interface FileDiagnostic extends Diagnostic {
  /** As {@link FoundFiles.files} names it. */
  file: string
}

export interface FoundFiles {
  /** The texts by their paths from the folder of the pipeline, with `/`. The pipeline itself is not among them. */
  files: Record<string, string>
  /** The child pipelines among them. */
  children: Map<string, Checked>
  /** What is wrong with the names, and in the children. */
  diagnostics: FileDiagnostic[]
}

/** `name` is the file of the pipeline in `folder`. */
export async function readNamedFiles(
  folder: string,
  name: string,
  source: string,
  graph: PipelineGraph,
): Promise<FoundFiles> {
  const found: FoundFiles = {
    files: Object.create(null) as Record<string, string>,
    children: new Map(),
    diagnostics: [],
  }
  const root = await realpath(folder)
  const waiting: { file: string; source: string; graph: PipelineGraph }[] = [{ file: name, source, graph }]
  let bytes = 0
  for (const parent of waiting) {
    const lines = new Lines(parent.source)
    for (const named of namedBy(parent.graph)) {
      const tell = (rule: string, severity: Severity, message: string) => {
        const { at, node_id } = named
        found.diagnostics.push({
          file: parent.file,
          rule,
          severity,
          message,
          ...lines.of(at),
          ...(node_id === undefined ? {} : { node_id }),
        })
      }
      if (named.path.includes('$')) {
        tell(
          'file_by_variable',
          'info',
          `"${named.path}" is known only when it runs; it is looked for in the workspace then.`,
        )
        continue
      }
      const path = posix.normalize(posix.join(posix.dirname(parent.file), named.path.replaceAll('\\', '/')))
      if (posix.isAbsolute(named.path) || path === '..' || path.startsWith('../')) {
        tell(
          'file_outside',
          'warning',
          `"${named.path}" is outside of the folder of the pipeline; it is looked for in the workspace when it runs.`,
        )
        continue
      }
      if (path in found.files || path === name) continue
      if (Object.keys(found.files).length >= PIPELINE_FILES_MAX || bytes > PIPELINE_FILES_MAX_BYTES) {
        tell(
          'files_limit',
          'error',
          `The pipeline names more than ${PIPELINE_FILES_MAX} files, or more than ${PIPELINE_FILES_MAX_BYTES} bytes.`,
        )
        return found
      }
      let text: string
      try {
        const real = await realpath(join(root, path)).catch(() => join(root, path))
        const inside = relative(root, real)
        if (inside === '..' || inside.startsWith(`..${sep}`)) {
          tell(
            'file_outside',
            'warning',
            `"${named.path}" is a link to a file outside of the folder of the pipeline; it is not read.`,
          )
          continue
        }
        text = await readSource(real, named.path)
      } catch (error) {
        if (!(error instanceof ResolveError)) throw error
        tell(named.kind === 'pipeline' ? 'dot_file_exists' : 'prompt_file_exists', 'warning', error.message)
        continue
      }
      bytes += Buffer.byteLength(text)
      found.files[path] = text
      if (named.kind === 'text') continue
      const checked = checkPipeline(text)
      found.children.set(path, checked)
      found.diagnostics.push(...checked.diagnostics.map((one) => ({ file: path, ...one })))
      waiting.push({ file: path, source: text, graph: checked.graph })
    }
  }
  return found
}

/** A prompt is a file where it is `@` and a path alone. */
const PROMPT_FILE = /^@[^\s@]+$/

function* namedBy(graph: PipelineGraph): Generator<Named> {
  yield* childOf(graph.attributes.get('stack.child_dotfile'))
  for (const { id, attributes } of graph.nodes.values()) {
    for (const key of ['dot_file', 'stack.child_dotfile']) yield* childOf(attributes.get(key), id)
    const prompt = attributes.get('prompt')
    if (prompt !== undefined && PROMPT_FILE.test(prompt.text))
      yield { kind: 'text', path: prompt.text.slice(1), at: prompt.at, node_id: id }
  }
}

function* childOf(value: Value | undefined, node_id?: string): Generator<Named> {
  if (value !== undefined && value.text.trim() !== '')
    yield { kind: 'pipeline', path: value.text.trim(), at: value.at, ...(node_id === undefined ? {} : { node_id }) }
}
