/** The files that a pipeline names: child pipelines and `@file` prompts. Reads them from the folder of the pipeline, and from nowhere else. */
import { realpath } from 'node:fs/promises'
import { join, posix, relative, sep } from 'node:path'
import { ResolveError } from '../../core/errors.ts'
import { PIPELINE_FILES_MAX, PIPELINE_FILES_MAX_BYTES } from '../../core/limits.ts'
import { childPathOf } from '../check/family.ts'
import { flowOf } from '../check/flow.ts'
import { type Diagnostic, Lines, type Offset } from '../language/diagnostic.ts'
import { type PipelineGraph, textOf } from '../language/graph.ts'
import { parsePipeline } from '../language/parse.ts'
import { readSource } from './read-source.ts'

/** A file that an attribute names. */
interface Named {
  kind: 'pipeline' | 'text'
  /** As it is written, without the `@` of a prompt. */
  path: string
  at: Offset
  node_id: string
}

export interface FileDiagnostic extends Diagnostic {
  /** As {@link FoundFiles.files} names it. */
  file: string
}

export interface FoundFiles {
  /** The texts by their paths from the folder of the pipeline, with `/`. The pipeline itself is not among them. */
  files: Record<string, string>
  /** Names that lead to no file, or to one that is not read. */
  diagnostics: FileDiagnostic[]
}

/** `name` is the file of the pipeline in `folder`. */
export async function readNamedFiles(
  folder: string,
  name: string,
  source: string,
  graph: PipelineGraph,
): Promise<FoundFiles> {
  const files = Object.create(null) as Record<string, string>
  const diagnostics: FileDiagnostic[] = []
  const root = await realpath(folder)
  const waiting = [{ file: name, source, graph }]
  let [count, bytes] = [0, 0]
  for (const parent of waiting) {
    const lines = new Lines(parent.source)
    for (const named of namedBy(parent.graph)) {
      const path = posix.normalize(posix.join(posix.dirname(parent.file), named.path))
      if (path === name || path in files) continue
      const isFull = count >= PIPELINE_FILES_MAX || bytes > PIPELINE_FILES_MAX_BYTES
      const read = isFull ? FULL : await readNamed(root, path, named)
      if ('text' in read) {
        count += 1
        bytes += Buffer.byteLength(read.text)
        files[path] = read.text
        if (named.kind === 'pipeline')
          waiting.push({ file: path, source: read.text, graph: parsePipeline(read.text).graph })
      } else {
        const { at, node_id } = named
        diagnostics.push({ file: parent.file, node_id, ...lines.of(at), ...read })
        if (isFull) return { files, diagnostics }
      }
    }
  }
  return { files, diagnostics }
}

type NotRead = Pick<FileDiagnostic, 'rule' | 'severity' | 'message'>

const FULL: NotRead = {
  rule: 'files_limit',
  severity: 'error',
  message: `The pipeline names more than ${PIPELINE_FILES_MAX} files, or more than ${PIPELINE_FILES_MAX_BYTES} bytes.`,
}

async function readNamed(root: string, path: string, named: Named): Promise<{ text: string } | NotRead> {
  const shown = `"${named.path}"`
  const outside = (what: string): NotRead => ({
    rule: 'file_outside',
    severity: 'warning',
    message: `${shown} is ${what} outside of the folder of the pipeline: it is not read, and not part of a run.`,
  })
  if (named.path.includes('$')) {
    const message = `${shown} is known only when it runs; it is not checked, and not part of a run.`
    return { rule: 'file_by_variable', severity: 'info', message }
  }
  if (posix.isAbsolute(named.path) || path === '..' || path.startsWith('../')) return outside('a file')
  try {
    // A missing file is told by the reading.
    const real = await realpath(join(root, path)).catch(() => join(root, path))
    const inside = relative(root, real)
    if (inside === '..' || inside.startsWith(`..${sep}`)) return outside('a link to a file')
    return { text: await readSource(real, named.path) }
  } catch (error) {
    if (!(error instanceof ResolveError)) throw error
    return { rule: 'file_missing', severity: 'warning', message: error.message }
  }
}

/** A prompt is a file where it is `@` and a path alone. */
const PROMPT_FILE = /^@[^\s@]+$/

function* namedBy(graph: PipelineGraph): Generator<Named> {
  const flow = flowOf(graph)
  for (const node of graph.nodes.values()) {
    const { id: node_id, attributes } = node
    const path = childPathOf(flow, node)
    if (path !== undefined) {
      const value = ['stack.child_dotfile', 'dot_file'].flatMap((name) => attributes.get(name) ?? [])[0]
      yield { kind: 'pipeline', path, at: value?.at ?? node.at, node_id }
    }
    const prompt = textOf(attributes, 'prompt')
    if (prompt !== undefined && PROMPT_FILE.test(prompt))
      yield { kind: 'text', path: prompt.slice(1), at: attributes.get('prompt')?.at ?? node.at, node_id }
  }
}
