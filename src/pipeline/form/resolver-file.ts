/**
 * Reads `<name>.resolver.yaml`: the form of a pipeline and what makes it a resolver of its own (docs/pipelines.md, A pipeline as a resolver).
 * The catalog makes its manifest from it, and the resolver `pipeline` its form. Pure but for loading the parser.
 */
import { isObject } from '../../core/primitives/is-object.ts'

export const RESOLVER_FILE = /\.resolver\.ya?ml$/

export type ParamInput = 'text' | 'longText' | 'choice'

export interface PipelineParam {
  id: string
  input: ParamInput
  label: string
  description: string | undefined
  required: boolean
  /** As text; undefined where there is none. */
  default: string | undefined
  options: readonly { value: string; label: string }[]
}

export interface ResolverFile {
  /** Its title for people. */
  title: string
  /** The first paragraph, on one line. */
  description: string
  /** The graph, a path from the file. */
  pipeline: string
  /** The param that names the repository of the workspace. */
  repositoryFrom: string | undefined
  params: readonly PipelineParam[]
  /** What the manifest takes as it is: `version`, `container`, `secrets`, … */
  manifest: Readonly<Record<string, unknown>>
}

const PARAMS_MAX = 100
const OPTIONS_MAX = 200
const OF_MANIFEST = ['version', 'container', 'secrets', 'max_running', 'capabilities_required']
const INPUTS: Readonly<Record<string, ParamInput>> = {
  text: 'text',
  string: 'text',
  longText: 'longText',
  longtext: 'longText',
  textarea: 'longText',
  choice: 'choice',
  select: 'choice',
}

/** `fileName` is the name of the file, without its folder. All problems at once; with one there is no file. */
export async function parseResolverFile(
  text: string,
  fileName: string,
): Promise<{ file: ResolverFile; problems: [] } | { file: undefined; problems: string[] }> {
  const { readYaml } = await import('./read-yaml.ts')
  const read = readYaml(text)
  if ('problems' in read) return { file: undefined, problems: read.problems }
  const { value } = read
  if (!isObject(value)) return { file: undefined, problems: ['It must be a mapping with "pipeline" and "params".'] }
  const reader = new Reader()
  const file = reader.read(value, fileName.replace(RESOLVER_FILE, ''))
  return reader.problems.length > 0 ? { file: undefined, problems: reader.problems } : { file, problems: [] }
}

class Reader {
  readonly problems: string[] = []

  read(value: Record<string, unknown>, name: string): ResolverFile {
    const title = this.#text(value, 'name', '') ?? name
    const description = firstParagraph(this.#text(value, 'description', '') ?? '')
    const pipeline = this.#text(value, 'pipeline', '') ?? `${name}.dot`
    if (!isInside(pipeline)) this.problems.push('pipeline must be a path from this file, without "..".')
    const params = this.#params(value['params'])
    const repositoryFrom = this.#text(value, 'workspace_repo_from', '')
    if (repositoryFrom !== undefined && !params.some(({ id }) => id === repositoryFrom))
      this.problems.push(`workspace_repo_from names "${repositoryFrom}", which is no param.`)
    return {
      title,
      description: description === '' ? title : description,
      pipeline,
      repositoryFrom,
      params,
      manifest: Object.fromEntries(
        OF_MANIFEST.flatMap((key) => (Object.hasOwn(value, key) ? [[key, value[key]]] : [])),
      ),
    }
  }

  #params(value: unknown): PipelineParam[] {
    if (value === undefined || value === null) return []
    if (!isObject(value)) {
      this.problems.push('params must be a mapping of names to fields.')
      return []
    }
    const entries = Object.entries(value)
    if (entries.length > PARAMS_MAX) this.problems.push(`params has more than ${PARAMS_MAX} fields.`)
    return entries.slice(0, PARAMS_MAX).flatMap(([id, param]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(id)) {
        this.problems.push(`params.${id.slice(0, 80)} must be named by letters, digits and "_".`)
        return []
      }
      if (isObject(param)) return [this.#param(id, param)]
      this.problems.push(`params.${id} must be a mapping.`)
      return []
    })
  }

  #param(id: string, value: Record<string, unknown>): PipelineParam {
    const at = `params.${id}.`
    const word = value['input'] ?? value['type'] ?? 'text'
    const input = typeof word === 'string' && Object.hasOwn(INPUTS, word) ? INPUTS[word] : undefined
    if (input === undefined) this.problems.push(`${at}input must be text, longText or choice.`)
    const options = this.#options(value['options'], at)
    if (input === 'choice' && options.length === 0) this.problems.push(`${at}options must be a list of choices.`)
    const start = scalar(value['default'])
    if (value['default'] != null && start === undefined) this.problems.push(`${at}default must be a text.`)
    if (input === 'choice' && start !== undefined && !options.some((option) => option.value === start))
      this.problems.push(`${at}default must be one of its options.`)
    return {
      id,
      input: input ?? 'text',
      label: this.#text(value, 'label', at) ?? id,
      description: this.#text(value, 'description', at)?.trim(),
      required: value['required'] === true,
      default: start,
      options,
    }
  }

  #options(value: unknown, at: string): { value: string; label: string }[] {
    if (value === undefined || value === null) return []
    const listed = Array.isArray(value) && value.length <= OPTIONS_MAX ? (value as unknown[]) : undefined
    const options = listed?.map((one) => {
      const own = isObject(one) ? scalar(one['value']) : scalar(one)
      if (own === undefined) return undefined
      return { value: own, label: (isObject(one) ? scalar(one['label']) : undefined) ?? own }
    })
    const known = options?.filter((one) => one !== undefined)
    if (known !== undefined && known.length === options?.length) return known
    this.problems.push(`${at}options must be a list of at most ${OPTIONS_MAX} texts, or of {value, label}.`)
    return []
  }

  /** Undefined where there is none; a problem where it is no text. */
  #text(value: Record<string, unknown>, key: string, at: string): string | undefined {
    const found = value[key]
    if (found === undefined || found === null || found === '') return undefined
    if (typeof found === 'string') return found
    this.problems.push(`${at}${key} must be a text.`)
    return undefined
  }
}

function scalar(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined
}

function firstParagraph(text: string): string {
  return (text.trim().split(/\n\s*\n/)[0] ?? '').replaceAll(/[\p{Cc}\s]+/gu, ' ').trim()
}

function isInside(path: string): boolean {
  return (
    !path.startsWith('/') && !/[\\\p{Cc}]/u.test(path) && path.split('/').every((part) => part !== '..' && part !== '')
  )
}
