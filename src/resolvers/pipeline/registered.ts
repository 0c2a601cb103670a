/**
 * A pipeline that is a resolver of its own: its command names its `<name>.resolver.yaml` (docs/pipelines.md, A pipeline as a resolver). That file
 * and the graph lie in the working directory, and are read each time the program starts.
 */
import { basename } from 'node:path'
import { checkFamily } from '../../pipeline/check/family.ts'
import { readSource } from '../../pipeline/files/read-source.ts'
import { derivedManifest } from '../../pipeline/form/derived-manifest.ts'
import { formOf, inputsOf } from '../../pipeline/form/form-of.ts'
import { parseResolverFile, RESOLVER_FILE, type ResolverFile } from '../../pipeline/form/resolver-file.ts'
import { type Fields, ResolveError } from '../../sdk/index.ts'
import { fromFolder, type PipelineParams } from './input.ts'

export interface Registered {
  name: string
  version: string
  description: string
  fields(): Fields
  /** Its graph, as it is now. */
  source(): ReturnType<typeof fromFolder>
  /** What the resolver `pipeline` would be given. */
  paramsOf(filled: Readonly<Record<string, unknown>>): PipelineParams
}

/** Undefined where the program runs as the resolver `pipeline` itself. Throws `pipeline_invalid` where its form or its graph can't be used. */
export async function registeredPipeline(argv: readonly string[] = process.argv): Promise<Registered | undefined> {
  const path = argv.slice(1).find((word) => RESOLVER_FILE.test(word))
  if (path === undefined) return undefined
  const name = basename(path)
  const { file, problems } = await parseResolverFile(await readSource(path), name)
  if (file === undefined) throw new ResolveError('pipeline_invalid', { name, errors: problems })
  const manifest = derivedManifest(file, name)
  const errors = await graphErrors(file)
  // A program that cannot start is not added, and its stderr is told.
  if (errors.length > 0) throw new ResolveError('pipeline_invalid', { name: file.pipeline, errors: [errors.join(' ')] })
  return {
    name: String(manifest['name']),
    version: String(manifest['version']),
    description: String(manifest['description']),
    // What is left out gets its default with the other inputs.
    fields: () =>
      Object.fromEntries(
        formOf(file).components.map((one) => [one.id, { toComponent: () => one, whenMissing: undefined }]),
      ),
    source: () => fromFolder(process.cwd(), file.pipeline),
    paramsOf: (filled) => paramsOf(file, filled),
  }
}

async function graphErrors({ pipeline }: ResolverFile): Promise<string[]> {
  const found = await fromFolder(process.cwd(), pipeline)
  if ('problem' in found) return [found.problem]
  const { diagnostics } = checkFamily({ path: found.file, source: found.source, read: (path) => found.read(path) })
  return diagnostics.flatMap(({ severity, file = pipeline, line, column, message }) =>
    severity === 'error' ? [`${file}${line === undefined ? '' : `:${line}:${column ?? 1}`}: ${message}`] : [],
  )
}

/** Options of a run may stand beside the params, for tests: a form does not show them. */
const OPTIONS = ['script', 'simulate', 'auto_approve', 'prose_gates', 'model', 'set'] as const

function paramsOf(file: ResolverFile, filled: Readonly<Record<string, unknown>>): PipelineParams {
  const own = new Set(file.params.map(({ id }) => id))
  const options = OPTIONS.filter((key) => !own.has(key) && filled[key] !== undefined).map((key) => [key, filled[key]])
  const inputs = inputsOf(file, Object.fromEntries([...own].map((id) => [id, filled[id]])))
  const from = file.repositoryFrom === undefined ? '' : inputs[file.repositoryFrom]
  return {
    ...Object.fromEntries(options),
    inputs,
    ...(typeof from === 'string' && from.trim() !== '' ? { repository: from } : {}),
  }
}
