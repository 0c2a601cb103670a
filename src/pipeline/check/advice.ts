/** Advice on a pipeline that may run, but perhaps not as its author thinks (docs/pipelines.md, Checks). Never an error. */
import { type Condition, keysOf, parseCondition } from '../language/condition.ts'
import { isOn, type PipelineEdge, type PipelineNode, textOf } from '../language/graph.ts'
import { REASONING_EFFORTS } from '../language/reasoning.ts'
import { variablesIn } from '../language/variables.ts'
import { cyclesIn, type Flow } from './flow.ts'
import { type Found, listOf, type Rule } from './rules.ts'

const REMOVED = ['runs_on', 'continue_on_fail', 'requires', 'feedback_from', 'response_schema', 'report_outcome']

function advice(rule: string, message: string, more: Partial<Found>): Found {
  return { rule, severity: 'warning', message, ...more }
}

const ofNode = ({ id, at }: PipelineNode): Partial<Found> => ({ node_id: id, at })

function conditionOf(edge: PipelineEdge): Condition {
  const parsed = parseCondition(textOf(edge.attributes, 'condition') ?? '')
  return parsed.isOk ? parsed.condition : { kind: 'always' }
}

/** Its text would be part of the command: a quote in it ends the author's. */
function* injections({ graph, handlers }: Flow): Generator<Found> {
  const declared = new Set(
    listOf(textOf(graph.attributes, 'params') ?? '').map((entry) => entry.split('=', 1)[0] as string),
  )
  for (const node of graph.nodes.values()) {
    if (handlers.get(node.id) !== 'tool') continue
    const names = variablesIn(textOf(node.attributes, 'tool_command') ?? '')
    const fromPeople = names.filter(
      (name) => declared.has(name) || /^(?:context\.)?(?:goal|human\.gate\.|last_response)/.test(name),
    )
    if (fromPeople.length > 0)
      yield advice(
        'shell_injection',
        `The command of "${node.id}" holds $${fromPeople.join(', $')}: what a person or a model wrote becomes part of the command.`,
        {
          ...ofNode(node),
          fix: `add tool_env="${fromPeople.join(',')}" and write "$${(fromPeople[0] as string).toUpperCase().replaceAll('.', '_')}" in the command`,
        },
      )
  }
}

function* maskedExits({ graph, handlers }: Flow): Generator<Found> {
  for (const node of graph.nodes.values()) {
    if (handlers.get(node.id) !== 'tool') continue
    const command = textOf(node.attributes, 'tool_command') ?? ''
    if (/[^|]\|[^|]/.test(command.replace(/"[^"]*"|'[^']*'/g, '""')) && !command.includes('pipefail'))
      yield advice('pipe_masks_exit', `The exit code of "${node.id}" is that of the last command of its pipe.`, {
        ...ofNode(node),
        fix: 'begin the command with "set -o pipefail;"',
      })
    if (/(?:\|\|\s*true|;\s*true|;\s*exit 0)\s*$/.test(command))
      yield advice('always_succeeds', `The command of "${node.id}" succeeds whatever happens.`, ofNode(node))
  }
}

/** A cycle needs a way out that depends on something. */
function* endlessCycles(flow: Flow): Generator<Found> {
  for (const members of cyclesIn(flow)) {
    const node = flow.graph.nodes.get(members.values().next().value as string) as PipelineNode
    const ways = [...members].flatMap((id) => (flow.outgoing.get(id) ?? []).map((edge) => ({ id, edge })))
    const leaves = ways.filter(({ edge }) => !members.has(edge.to))
    const isChosen = ({ id, edge }: { id: string; edge: PipelineEdge }) =>
      conditionOf(edge).kind !== 'always' || edge.attributes.has('label') || flow.handlers.get(id) === 'wait.human'
    if (leaves.length > 0 && !ways.some(isChosen))
      yield advice(
        'cycle_without_condition',
        `The cycle through "${[...members].join('", "')}" has no condition: it always goes the same way.`,
        ofNode(node),
      )
    if (leaves.length === 0)
      yield advice(
        'cycle_without_exit',
        `No edge leaves the cycle through "${[...members].join('", "')}".`,
        ofNode(node),
      )
  }
}

/** `tool.last_line` keeps the value of an earlier tool when a later one fails. */
function* staleKeys({ graph, outgoing }: Flow): Generator<Found> {
  for (const node of graph.nodes.values()) {
    const edges = outgoing.get(node.id) ?? []
    const readsLine = edges.filter((edge) => keysOf(conditionOf(edge)).some((key) => key.endsWith('tool.last_line')))
    const readsFail = edges.filter((edge) =>
      (textOf(edge.attributes, 'condition') ?? '').replaceAll(' ', '').includes('outcome=fail'),
    )
    for (const edge of readsLine) {
      if (readsFail.length > 0 && !keysOf(conditionOf(edge)).includes('outcome'))
        yield advice(
          'stale_last_line',
          'When the command fails, tool.last_line may be that of an earlier one: this edge and the one for outcome=fail can both be true.',
          {
            edge: [edge.from, edge.to],
            at: edge.at,
            fix: 'add outcome=success && to the condition',
          },
        )
    }
  }
}

function* removedExtensions({ graph }: Flow): Generator<Found> {
  for (const node of graph.nodes.values()) {
    const found = REMOVED.filter((name) => node.attributes.has(name))
    if (found.length > 0)
      yield advice(
        'removed_extension',
        `${found.join(', ')} of "${node.id}" was removed from the language and is not looked at.`,
        ofNode(node),
      )
  }
}

function* unknownEfforts({ graph }: Flow): Generator<Found> {
  for (const node of graph.nodes.values()) {
    const effort = textOf(node.attributes, 'reasoning_effort')?.trim().toLowerCase()
    // A variable has its value at run time.
    if (effort === undefined || effort === '' || effort.includes('$')) continue
    if (!REASONING_EFFORTS.some((one) => one === effort))
      yield advice(
        'reasoning_unknown',
        `"${effort.slice(0, 40)}" is no reasoning_effort: the model of "${node.id}" thinks as it does by itself.`,
        { ...ofNode(node), fix: `write one of ${REASONING_EFFORTS.join(', ')}` },
      )
  }
}

/** The exit is a success though what failed was only noted. */
function* ignoredFailures({ graph, outgoing, handlers }: Flow): Generator<Found> {
  for (const node of graph.nodes.values()) {
    if (handlers.get(node.id) !== 'tool' || isOn(node.attributes, 'allow_partial')) continue
    const edges = outgoing.get(node.id) ?? []
    const [only] = edges
    const isPlain = edges.length === 1 && only !== undefined && conditionOf(only).kind === 'always'
    if (isPlain && handlers.get(only.to) !== 'conditional' && handlers.get(only.to) !== 'exit')
      yield {
        rule: 'failure_passed_over',
        severity: 'info',
        message: `When "${node.id}" fails, the run goes on with "${only.to}".`,
        ...ofNode(node),
      }
  }
}

export const ADVICE: readonly Rule[] = [
  injections,
  maskedExits,
  endlessCycles,
  staleKeys,
  removedExtensions,
  unknownEfforts,
  ignoredFailures,
]
