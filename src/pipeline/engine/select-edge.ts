/** Which edge a walk takes after a node (docs/pipelines.md, Which edge is taken): five steps, in this order. */
import type { Flow } from '../check/flow.ts'
import { asText, type Condition, isTrue, parseCondition } from '../language/condition.ts'
import { numberOf, type PipelineEdge, textOf } from '../language/graph.ts'
import type { Outcome } from './outcome.ts'

export type Context = Readonly<Record<string, unknown>>

export interface Selected {
  edge: PipelineEdge
  /** A condition of it is true. Every other edge is a plain one. */
  isConditional: boolean
}

const conditions = new WeakMap<PipelineEdge, Condition>()

/** Undefined where no edge fits. A malformed condition is false: the check has refused it before. */
export function selectEdge(flow: Flow, id: string, outcome: Outcome, context: Context): Selected | undefined {
  const edges = flow.outgoing.get(id) ?? []
  const withCondition = edges.filter((edge) => conditionText(edge) !== '')
  const holds = (status: string) =>
    strongest(
      withCondition.filter((edge) =>
        isTrue(conditionOf(edge), { status, label: outcome.preferred_label, get: (key) => valueIn(context, key) }),
      ),
    )
  const fitting = holds(outcome.status) ?? (outcome.is_exhausted === true ? holds('retry') : undefined)
  if (fitting !== undefined) return { edge: fitting, isConditional: true }
  const plain = edges.filter((edge) => conditionText(edge) === '')
  const edge =
    labelled(plain, outcome.preferred_label) ?? suggested(plain, outcome.suggested_next_ids) ?? strongest(plain)
  return edge === undefined ? undefined : { edge, isConditional: false }
}

function conditionText(edge: PipelineEdge): string {
  return (textOf(edge.attributes, 'condition') ?? '').trim()
}

function conditionOf(edge: PipelineEdge): Condition {
  const known = conditions.get(edge)
  if (known !== undefined) return known
  const parsed = parseCondition(conditionText(edge))
  const condition: Condition = parsed.isOk ? parsed.condition : { kind: 'not', of: { kind: 'always' } }
  conditions.set(edge, condition)
  return condition
}

function labelled(edges: readonly PipelineEdge[], label: string | undefined): PipelineEdge | undefined {
  if (label === undefined) return undefined
  const wanted = plainLabel(label)
  return edges.find(({ attributes }) => {
    const own = textOf(attributes, 'label') ?? textOf(attributes, 'preferred_label')
    return own !== undefined && plainLabel(own) === wanted
  })
}

function suggested(edges: readonly PipelineEdge[], ids: readonly string[] | undefined): PipelineEdge | undefined {
  for (const id of ids ?? []) {
    const edge = edges.find(({ to }) => to === id)
    if (edge !== undefined) return edge
  }
  return undefined
}

/** The heaviest; of equals the one whose target comes first by its code units. */
function strongest(edges: readonly PipelineEdge[]): PipelineEdge | undefined {
  const weight = (edge: PipelineEdge) => numberOf(edge.attributes, 'weight') ?? 0
  return edges.toSorted(
    (one, other) => weight(other) - weight(one) || (one.to < other.to ? -1 : one.to > other.to ? 1 : 0),
  )[0]
}

const ACCELERATOR = /^(?:\[\s*(\w)\s*\]\s*|(\w)\)\s+|(\w)\s+-\s+)/

/** `[Y] Yes`, `Y) Yes`, `Y - Yes` and `yes` are one label. */
export function plainLabel(label: string): string {
  return label.trim().replace(ACCELERATOR, '').trim().toLowerCase()
}

/** The key that a label gives to its choice; its first character where it gives none. */
export function acceleratorOf(label: string): string {
  const [, bracket, paren, dash] = ACCELERATOR.exec(label.trim()) ?? []
  return (bracket ?? paren ?? dash ?? label.trim()[0] ?? '').toUpperCase()
}

/** `context.a.b` is the key `context.a.b`, else `a.b`, else `b` of the object `a`. */
export function valueIn(context: Context, key: string): unknown {
  for (const name of [key, key.replace(/^context\./, ''), `context.${key}`]) {
    if (Object.hasOwn(context, name)) return context[name]
  }
  let value: unknown = context
  for (const part of key.replace(/^context\./, '').split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Record<string, unknown>)[part]
  }
  return value
}

export function textIn(context: Context, key: string): string | undefined {
  const value = valueIn(context, key)
  return value === undefined ? undefined : asText(value)
}
