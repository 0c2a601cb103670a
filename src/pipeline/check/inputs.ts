/** What a pipeline has to be given before it runs: the params that it declares, and the variables of its goal (docs/pipelines.md, The file). */
import { type PipelineGraph, textOf } from '../language/graph.ts'
import { variablesIn } from '../language/variables.ts'

/** Of `params="name, other=default"`, by name; undefined where there is no default. */
export function declaredInputs({ attributes }: PipelineGraph): Map<string, string | undefined> {
  const entries = (textOf(attributes, 'params') ?? '').split(',').map((entry) => {
    const [name = '', ...rest] = entry.split('=')
    return [name.trim(), rest.length === 0 ? undefined : rest.join('=').trim()] as const
  })
  return new Map(entries.filter(([name]) => name !== ''))
}

/** The names in the goal that have no value: without them, sessions would not know what to do. */
export function missingInputs(graph: PipelineGraph, given: Readonly<Record<string, unknown>>): string[] {
  if (Object.hasOwn(given, 'goal')) return []
  const declared = declaredInputs(graph)
  const hasValue = (name: string): boolean =>
    Object.hasOwn(given, name) ||
    declared.get(name) !== undefined ||
    // `$a.b` may be the key `a` and the text `.b`.
    (name.includes('.') && hasValue(name.slice(0, name.lastIndexOf('.'))))
  return [...new Set(variablesIn(textOf(graph.attributes, 'goal') ?? ''))].filter((name) => !hasValue(name))
}
