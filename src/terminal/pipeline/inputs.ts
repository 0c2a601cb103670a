/** The inputs of a pipeline from `-i` and `--input-file`, checked against its form where it has one; on a terminal asks for what is missing. */
import { basename, dirname, join } from 'node:path'
import { fail, ResolveError, systemCode } from '../../core/errors.ts'
import type { Payload } from '../../core/protocol/form.ts'
import { declaredInputs, missingInputs } from '../../pipeline/check/inputs.ts'
import { readSource } from '../../pipeline/files/read-source.ts'
import { formOf, inputsOf, missingOf } from '../../pipeline/form/form-of.ts'
import { parseResolverFile, type ResolverFile } from '../../pipeline/form/resolver-file.ts'
import type { PipelineGraph } from '../../pipeline/language/graph.ts'
import { askForm } from '../form/ask-form.ts'
import { fitToForm, type GivenInput } from '../input/input-flags.ts'
import { CommandError, usage } from '../output/command-error.ts'
import { EXIT } from '../output/exit-codes.ts'
import type { Output } from '../output/output.ts'

/** The form beside a graph; undefined where there is none. Throws `pipeline_unreadable`, `pipeline_invalid`. */
export async function formBeside(path: string): Promise<ResolverFile | undefined> {
  for (const ending of ['.resolver.yaml', '.resolver.yml']) {
    const name = basename(path).replace(/\.dot$/, '') + ending
    let text: string
    try {
      text = await readSource(join(dirname(path), name))
    } catch (error) {
      if (error instanceof ResolveError && systemCode(error.cause) === 'ENOENT') continue
      throw error
    }
    const { file, problems } = await parseResolverFile(text, name)
    if (file === undefined) throw fail('pipeline_invalid', { name, errors: problems })
    return file
  }
  return undefined
}

/** The form of a graph without a file of its own: the variables of its goal, which it needs, and its other params. */
function formOfGraph(graph: PipelineGraph, missing: readonly string[]): ResolverFile {
  const declared = declaredInputs(graph)
  const names = [...new Set([...missing, ...declared.keys()])]
  const params = names.map((id) => ({
    ...{ id, input: 'text' as const, label: id, description: undefined, options: [] },
    ...{ required: missing.includes(id), default: declared.get(id) },
  }))
  return { title: graph.name, description: '', pipeline: '', repositoryFrom: undefined, params, manifest: {} }
}

/** As {@link pipelineInputs}, for a graph without a form: other inputs than those that it names are taken, too. */
export async function inputsOfGraph(graph: PipelineGraph, given: GivenInput, wish: InputWish): Promise<Payload> {
  const missing = missingInputs(graph, given.payload)
  if (missing.length === 0 && !wish.edit) return given.payload
  return await filledIn(formOfGraph(graph, missing), given.payload, wish)
}

export interface InputWish {
  title: string
  mayAsk: boolean
  /** `--edit`: opens the form even if nothing is missing. */
  edit: boolean
  output: Output
  /** The same command with these fields. */
  again: (fields: readonly string[]) => string
}

/** Throws `form_invalid` with all that is missing, `usage` for an unknown field; exit code 130 where the form is closed. */
export async function pipelineInputs(file: ResolverFile, given: GivenInput, wish: InputWish): Promise<Payload> {
  return await filledIn(file, fitToForm(given, formOf(file)), wish)
}

async function filledIn(file: ResolverFile, payload: Payload, wish: InputWish): Promise<Payload> {
  const form = formOf(file)
  const missing = missingOf(file, payload)
  if (wish.edit && !wish.mayAsk) throw usage('--edit opens a form and needs a terminal.')
  if (missing.length === 0 && !wish.edit) return inputsOf(file, payload)
  const errors = missing.map(({ message }) => message)
  if (!wish.mayAsk) {
    const next = [wish.again(missing.flatMap(({ id }) => ['-i', `${id}=<${id}>`]))]
    throw new CommandError(fail('form_invalid', { errors, fields: missing }), { next })
  }
  const submit = (filled: Payload) => Promise.resolve(missingOf(file, filled).map(({ message }) => message))
  const ended = await askForm(
    { title: wish.title, form, before: payload, submitWord: 'Run', escapeWord: 'cancel', submit },
    wish.output,
  )
  if (ended.kind === 'submitted') return inputsOf(file, ended.payload)
  throw new CommandError(fail('usage', { problem: 'No instance was created.' }), {}, EXIT.interrupted)
}
