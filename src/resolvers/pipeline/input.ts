/** Reads what an instance of the resolver `pipeline` is given (docs/decisions/0034, Contract). */
import { realpathSync } from 'node:fs'
import { posix, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ResolveError } from '../../core/errors.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { jsonObjectIn } from '../../core/primitives/json-object.ts'
import { flowOf, reachableFrom, targetsOf } from '../../pipeline/check/flow.ts'
import { LIBRARY_FOLDER, pipelineNamed } from '../../pipeline/files/library.ts'
import { readSource, readSourceNow } from '../../pipeline/files/read-source.ts'
import { textOf } from '../../pipeline/language/graph.ts'
import { parsePipeline } from '../../pipeline/language/parse.ts'
import { type Answers, parseScript } from '../../pipeline/run/answers.ts'
import type { PipelineInput, PipelineSource } from '../../pipeline/run/run-pipeline.ts'
import type { InstanceConfig } from '../../sdk/index.ts'

export interface PipelineParams {
  pipeline?: string
  graph?: string
  file?: unknown
  files?: unknown
  inputs?: unknown
  set?: unknown
  script?: unknown
  simulate?: string
  auto_approve?: boolean
  prose_gates?: unknown
  repository?: string
  branch?: string
  model?: string
}

/** An address, with the folder or file in it after `#subdirectory=`. */
const GIT_ADDRESS = /^(?:git\+)?((?:https?|ssh|file):\/\/[^#\s]+|[\w.-]+@[\w.-]+:[^#\s]+)(?:#(.*))?$/

const PIPELINE_REPO = 'pipeline-source'

export function workspaceOf({ repository = '', branch = '', pipeline = '' }: PipelineParams) {
  const repos = [
    ...(repository.trim() === ''
      ? []
      : [{ url: repository.trim(), ...(branch.trim() === '' ? {} : { branch: branch.trim() }) }]),
    ...(GIT_ADDRESS.test(pipeline.trim())
      ? [{ url: pipeline.trim().replace(GIT_ADDRESS, '$1'), ...refOf(pipeline), name: PIPELINE_REPO }]
      : []),
  ]
  return repos.length === 0 ? null : { repos, ...(repository.trim() === '' ? {} : { git_server: true }) }
}

function refOf(pipeline: string): { branch?: string } {
  const ref = new URLSearchParams(GIT_ADDRESS.exec(pipeline.trim())?.[2] ?? '').get('ref')
  return ref === null || ref === '' ? {} : { branch: ref }
}

/** The graph, and a way to what belongs to it. */
export async function readSourceOf(
  { pipeline = '', graph = '', file, files }: PipelineParams,
  workingDirectory: string,
  clones: readonly { url: string; path: string }[],
): Promise<PipelineSource | { problem: string }> {
  const name = pipeline.trim()
  if (name === '') {
    if (graph.trim() === '') return { problem: 'No pipeline: give "pipeline" or "graph".' }
    const given = isObject(files) ? files : {}
    const read = (path: string) => {
      const text = Object.hasOwn(given, path) ? given[path] : undefined
      return typeof text === 'string' ? text : undefined
    }
    return {
      file: typeof file === 'string' && file !== '' ? posix.normalize(file) : 'pipeline.dot',
      source: graph,
      read,
    }
  }
  const address = GIT_ADDRESS.exec(name)
  if (address !== null) {
    const clone = clones.find(({ path }) => path.endsWith(`/${PIPELINE_REPO}`)) ?? clones.at(-1)
    if (clone === undefined) return { problem: `The repository of "${name}" was not cloned.` }
    return await fromFolder(clone.path, new URLSearchParams(address[2] ?? '').get('subdirectory') ?? 'main.dot')
  }
  if (!/[/.]/.test(name)) {
    const folder = fileURLToPath(new URL(`./${LIBRARY_FOLDER}/`, import.meta.url))
    const found = await pipelineNamed(folder, name)
    if ('path' in found) return await fromFolder(folder, `${name}.dot`)
    const own = await fromFolder(workingDirectory, `.resolve/pipelines/${name}.dot`)
    if (!('problem' in own)) return own
    return {
      problem: `There is no pipeline "${name}".${found.meant === undefined ? '' : ` Did you mean "${found.meant}"?`}`,
    }
  }
  return await fromFolder(workingDirectory, name)
}

/** A graph in a folder, with what lies in the folder beside it. */
export async function fromFolder(folder: string, path: string): Promise<PipelineSource | { problem: string }> {
  const plain = posix.normalize(/\.(?:dot|gv)$/.test(path) ? path : `${path}/main.dot`)
  try {
    const root = realpathSync(folder)
    const within = (name: string) => {
      const found = relative(root, realpathSync(posix.join(root, name)))
      return found !== '..' && !found.startsWith(`..${sep}`)
    }
    const real = posix.join(root, plain)
    if (plain.startsWith('../') || plain === '..' || !within(plain))
      return { problem: `"${path}" is outside of ${folder}.` }
    const read = (name: string) => {
      try {
        return within(name) ? readSourceNow(realpathSync(posix.join(root, name))) : undefined
      } catch {
        return undefined
      }
    }
    return { file: plain, source: await readSource(real, path), read }
  } catch (error) {
    if (error instanceof ResolveError) return { problem: error.message }
    return { problem: `"${path}" can't be read: there is no such file.` }
  }
}

export function readOptions(params: PipelineParams): Pick<PipelineInput, 'inputs' | 'options'> | { problem: string } {
  const { simulate = '', script, model = '' } = params
  let answers: Answers | undefined = simulate === 'rule' || simulate === 'ask' ? { kind: simulate } : undefined
  if (script !== undefined && script !== null && script !== '') {
    const parsed = parseScript(typeof script === 'string' ? jsonObjectIn(script) : script)
    if (parsed.problems.length > 0) return { problem: parsed.problems.join('\n') }
    answers = parsed.answers
  }
  return {
    inputs: inputsOf(params.inputs),
    options: {
      answers,
      isAutoApproved: params.auto_approve === true,
      hasProseGates: params.prose_gates === 'pass',
      model: model.trim() === '' ? undefined : model.trim(),
    },
  }
}

function inputsOf(given: unknown): Record<string, string> {
  const entries = isObject(given)
    ? Object.entries(given).map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)])
    : String(given ?? '')
        .split(/\r?\n/)
        .flatMap((line) => {
          const [, key, value] = /^\s*([\w.-]+)\s*=(.*)$/.exec(line) ?? []
          return key === undefined ? [] : [[key, (value ?? '').trim()]]
        })
  return Object.fromEntries(entries) as Record<string, string>
}

/** `{"node.attribute": value}` as statements at the end of the source: what is declared last holds. */
export function withSet(source: string, set: unknown): string {
  if (!isObject(set) || Object.keys(set).length === 0) return source
  const lines = Object.entries(set).flatMap(([key, value]) => {
    const at = key.indexOf('.')
    if (at < 1 || at === key.length - 1) return []
    const [node, attribute] = [key.slice(0, at), key.slice(at + 1)]
    const quoted = (text: string) => `"${text.replaceAll(/[\\"]/g, '\\$&')}"`
    return node === 'graph'
      ? [`graph [${quoted(attribute)}=${quoted(String(value))}];`]
      : [`${quoted(node)} [${quoted(attribute)}=${quoted(String(value))}];`]
  })
  const end = source.lastIndexOf('}')
  return end === -1 ? source : `${source.slice(0, end)}\n${lines.join('\n')}\n${source.slice(end)}`
}

export const NO_KEY =
  'The pipeline has LLM sessions, and there is no key of a provider. Set RESOLVE_LLM_PROVIDER_API_KEY, and RESOLVE_LLM_MODEL=provider/model, where the host runs; or run it without a model, with --simulate or --script.'

/** Told before the first node where no way leads round its sessions: its commands would run for minutes until the first session fails. */
export function lacksModel(
  { credentials, llm }: InstanceConfig,
  source: string,
  { answers, model }: PipelineInput['options'],
): boolean {
  if (answers !== undefined || (credentials.llm_provider_api_key ?? '') !== '') return false
  const { graph, handlers, outgoing, starts, exits } = flowOf(parsePipeline(source).graph)
  const named = [model, llm?.model, textOf(graph.attributes, 'model_stylesheet')]
  for (const { attributes } of graph.nodes.values()) named.push(textOf(attributes, 'llm_model'))
  if (named.some((one) => one !== undefined && /(?:scripted|recorded)\//.test(one))) return false
  const isSession = (id: string) => ['codergen', 'prompt'].includes(handlers.get(id) ?? '')
  const without = reachableFrom(starts, (id) => (isSession(id) ? [] : targetsOf(outgoing, id)))
  return [...handlers.keys()].some(isSession) && !exits.some((id) => without.has(id))
}
