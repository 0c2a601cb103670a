/** The rules that a pipeline is checked by before it runs (docs/pipelines.md, Checks). An error keeps it from running. */
import { parseCondition } from '../language/condition.ts'
import type { Diagnostic, Offset } from '../language/diagnostic.ts'
import {
  type Attributes,
  durationOf,
  integerOf,
  isOn,
  numberOf,
  type PipelineEdge,
  type PipelineNode,
  textOf,
} from '../language/graph.ts'
import { HANDLERS, SHAPES, typeNamed } from '../language/handlers.ts'
import { parseStylesheet } from '../language/stylesheet.ts'
import { cycleIn, type Flow, reachableFrom, targetsOf } from './flow.ts'
import { joinOf } from './join.ts'

/** A diagnostic whose place is still an offset. */
export type Found = Omit<Diagnostic, 'line' | 'column'> & { at?: Offset }

export type Rule = (flow: Flow) => Iterable<Found>

const FIDELITIES = ['full', 'truncate', 'compact', 'summary:low', 'summary:medium', 'summary:high']
const JUMPS = ['retry_target', 'fallback_retry_target']
const MODEL_HANDLERS: readonly unknown[] = ['codergen', 'prompt']

function error(rule: string, message: string, more: Partial<Found> = {}): Found {
  return { rule, severity: 'error', message, ...more }
}

function warning(rule: string, message: string, more: Partial<Found> = {}): Found {
  return { rule, severity: 'warning', message, ...more }
}

const ofNode = ({ id, at }: PipelineNode): Partial<Found> => ({ node_id: id, at })
const ofEdge = ({ from, to, at }: PipelineEdge): Partial<Found> => ({ edge: [from, to], at })

function* nodesOf({ graph, handlers }: Flow, ...wanted: string[]): Generator<PipelineNode> {
  for (const node of graph.nodes.values()) if (wanted.includes(handlers.get(node.id) ?? '')) yield node
}

function* oneStart(flow: Flow): Generator<Found> {
  if (flow.mode === 'dataflow') return
  const { starts, graph } = flow
  if (starts.length === 0) {
    const cycle = cycleIn(graph.nodes, flow.outgoing)
    const hasSession = [...graph.nodes.values()].some(({ attributes }) => attributes.has('session'))
    const why =
      hasSession && flow.exits.length === 0 && cycle !== undefined
        ? ` A graph of nodes with session= needs none, but must have no cycle: ${cycle.join(' → ')}.`
        : ''
    yield error('start_node', `There is no start node.${why}`, { fix: 'add start [shape=Mdiamond]' })
  }
  for (const id of starts.slice(1))
    yield error('start_node', `"${id}" is a second start node, beside "${starts[0]}".`, place(flow, id))
}

function* oneExit(flow: Flow): Generator<Found> {
  if (flow.mode === 'dataflow') return
  if (flow.exits.length === 0)
    yield error('terminal_node', 'There is no exit node.', { fix: 'add exit [shape=Msquare]' })
  for (const id of flow.exits.slice(1))
    yield error('terminal_node', `"${id}" is a second exit node, beside "${flow.exits[0]}".`, place(flow, id))
}

function place({ graph }: Flow, id: string): Partial<Found> {
  const node = graph.nodes.get(id)
  return node === undefined ? { node_id: id } : ofNode(node)
}

function* knownShapes({ graph, handlers, outgoing, incoming }: Flow): Generator<Found> {
  for (const node of graph.nodes.values()) {
    if (handlers.get(node.id) !== undefined) continue
    const shape = textOf(node.attributes, 'shape') ?? ''
    const isAlone = outgoing.get(node.id)?.length === 0 && incoming.get(node.id)?.length === 0
    // A note or a legend.
    if (!isAlone)
      yield error('shape_known', `No handler has the shape "${shape}" of "${node.id}".`, {
        ...ofNode(node),
        fix: `use one of ${SHAPES.join(', ')}`,
      })
  }
}

function* knownTypes({ graph }: Flow): Generator<Found> {
  for (const node of graph.nodes.values()) {
    const type = textOf(node.attributes, 'type')
    if (type !== undefined && typeNamed(type) === undefined)
      yield warning('type_known', `No handler is named "${type}"; the shape of "${node.id}" decides.`, {
        ...ofNode(node),
        fix: `use one of ${Object.keys(HANDLERS).join(', ')}`,
      })
  }
}

function* ends({ starts, exits, incoming, outgoing }: Flow): Generator<Found> {
  for (const id of starts)
    for (const edge of incoming.get(id) ?? [])
      yield error('start_no_incoming', 'No edge may lead to the start node.', ofEdge(edge))
  for (const id of exits)
    for (const edge of outgoing.get(id) ?? [])
      yield error('exit_no_outgoing', 'No edge may leave the exit node.', ofEdge(edge))
}

/** A jump counts as a way: of a node that is reached, and of the graph. */
function* reachability(flow: Flow): Generator<Found> {
  const { graph, starts, outgoing, incoming, handlers } = flow
  if (flow.mode === 'dataflow' || starts.length === 0) return
  const jumps = (attributes: Attributes) => JUMPS.flatMap((name) => textOf(attributes, name) ?? [])
  const reached = reachableFrom([...starts, ...jumps(graph.attributes)], (id) => [
    ...targetsOf(outgoing, id),
    ...jumps(graph.nodes.get(id)?.attributes ?? new Map()),
  ])
  for (const node of graph.nodes.values()) {
    if (reached.has(node.id) || starts.includes(node.id)) continue
    const isAlone = outgoing.get(node.id)?.length === 0 && incoming.get(node.id)?.length === 0
    if (isAlone && handlers.get(node.id) === undefined) continue
    const make = isAlone ? warning : error
    yield make(
      'reachability',
      `"${node.id}" is unreachable${isAlone ? ' (an orphan)' : ''}: no way leads there from the start.`,
      ofNode(node),
    )
  }
}

function* undeclared({ graph, handlers }: Flow): Generator<Found> {
  for (const node of graph.nodes.values()) {
    if (node.isImplicit && MODEL_HANDLERS.includes(handlers.get(node.id)))
      yield warning(
        'edge_target_exists',
        `"${node.id}" is only named by an edge; it will be an LLM session with its name as the prompt.`,
        {
          ...ofNode(node),
          fix: `declare it: ${node.id} [prompt="…"]`,
        },
      )
  }
}

function* conditions({ graph }: Flow): Generator<Found> {
  for (const edge of graph.edges) {
    const value = edge.attributes.get('condition')
    if (value === undefined) continue
    const parsed = parseCondition(value.text)
    const at = { ...ofEdge(edge), at: value.at }
    if (!parsed.isOk)
      yield error('condition_syntax', `The condition "${value.text}" is malformed. ${parsed.message}`, at)
    else if (parsed.extensions.length > 0)
      yield {
        rule: 'condition_extension',
        severity: 'info',
        message: `Other engines may not read ${parsed.extensions.join(' ')} in a condition.`,
        ...at,
      }
  }
}

function* stylesheet({ graph }: Flow): Generator<Found> {
  const value = graph.attributes.get('model_stylesheet')
  if (value === undefined) return
  const parsed = parseStylesheet(value.text)
  if (!parsed.isOk)
    yield error('stylesheet_syntax', `model_stylesheet is malformed. ${parsed.message}`, { at: value.at })
}

function* fidelities({ graph }: Flow): Generator<Found> {
  const check = function* (attributes: Attributes, name: string, where: Partial<Found>): Generator<Found> {
    const value = textOf(attributes, name)
    if (value !== undefined && !FIDELITIES.includes(value))
      yield warning('fidelity_valid', `"${value}" is no fidelity; compact is used.`, {
        ...where,
        fix: `use one of ${FIDELITIES.join(', ')}`,
      })
  }
  yield* check(graph.attributes, 'default_fidelity', {})
  for (const node of graph.nodes.values()) yield* check(node.attributes, 'fidelity', ofNode(node))
  for (const edge of graph.edges) yield* check(edge.attributes, 'fidelity', ofEdge(edge))
}

function* jumpTargets({ graph }: Flow): Generator<Found> {
  for (const name of JUMPS) {
    const check = (attributes: Attributes, where: Partial<Found>): Found[] => {
      const target = attributes.get(name)
      if (target === undefined || graph.nodes.has(target.text)) return []
      return [
        warning('retry_target_exists', `${name} names "${target.text}", which is no node.`, {
          ...where,
          at: target.at,
        }),
      ]
    }
    yield* check(graph.attributes, {})
    for (const node of graph.nodes.values()) yield* check(node.attributes, ofNode(node))
  }
}

function* gates({ graph, outgoing }: Flow): Generator<Found> {
  const ofGraph = JUMPS.some((name) => graph.attributes.has(name))
  for (const node of graph.nodes.values()) {
    if (!isOn(node.attributes, 'goal_gate') || ofGraph || JUMPS.some((name) => node.attributes.has(name))) continue
    const goesBack = (outgoing.get(node.id) ?? []).some(({ attributes }) => attributes.has('condition'))
    yield warning(
      'goal_gate_has_retry',
      `"${node.id}" is a goal gate without a retry_target${goesBack ? '; only its edges lead back' : ''}: a run that ends with it unsatisfied fails.`,
      { ...ofNode(node), fix: 'add retry_target=<node>' },
    )
  }
}

function* prompts(flow: Flow): Generator<Found> {
  for (const node of nodesOf(flow, 'codergen', 'prompt')) {
    const { attributes } = node
    const says = ['prompt', 'label', 'session'].some((name) => (textOf(attributes, name) ?? '').trim() !== '')
    if (!says && !node.isImplicit)
      yield warning('prompt_on_llm_nodes', `"${node.id}" has neither prompt nor label; its name is the prompt.`, {
        ...ofNode(node),
        fix: 'add prompt="…"',
      })
  }
}

function* numbers({ graph }: Flow): Generator<Found> {
  const isVariable = (text: string) => text.includes('$')
  const whole = function* (
    attributes: Attributes,
    name: string,
    rule: string,
    where: Partial<Found>,
  ): Generator<Found> {
    const value = attributes.get(name)
    if (value === undefined || isVariable(value.text)) return
    const number = integerOf(attributes, name)
    if (number === undefined || number < 0)
      yield error(rule, `${name} is "${value.text}"; it is a whole number, zero or more.`, { ...where, at: value.at })
  }
  const duration = function* (attributes: Attributes, name: string, where: Partial<Found>): Generator<Found> {
    const value = attributes.get(name)
    if (value !== undefined && !isVariable(value.text) && durationOf(value.text, 1_000) === undefined)
      yield error('duration_valid', `${name} is "${value.text}"; it is a duration such as 250ms, 90s, 15m, 2h.`, {
        ...where,
        at: value.at,
      })
  }
  yield* whole(graph.attributes, 'default_max_retries', 'retry_budget_non_negative', {})
  for (const name of ['max_steps', 'max_visits', 'max_goal_gate_redirects'])
    yield* whole(graph.attributes, name, 'limit_valid', {})
  yield* duration(graph.attributes, 'max_pipeline_duration', {})
  for (const node of graph.nodes.values()) {
    yield* whole(node.attributes, 'max_retries', 'retry_budget_non_negative', ofNode(node))
    for (const name of ['max_visits', 'max_parallel', 'manager.max_cycles'])
      yield* whole(node.attributes, name, 'limit_valid', ofNode(node))
    for (const name of ['timeout', 'duration', 'manager.poll_interval'])
      yield* duration(node.attributes, name, ofNode(node))
  }
  for (const edge of graph.edges) {
    const weight = edge.attributes.get('weight')
    if (weight !== undefined && numberOf(edge.attributes, 'weight') === undefined)
      yield error('limit_valid', `weight is "${weight.text}"; it is a number.`, {
        ...ofEdge(edge),
        at: weight.at,
      })
  }
}

function* tools(flow: Flow): Generator<Found> {
  for (const node of flow.graph.nodes.values()) {
    const isTool = flow.handlers.get(node.id) === 'tool'
    const command = node.attributes.get('tool_command')
    if (command !== undefined && !isTool)
      yield error(
        'tool_command_requires_tool_handler',
        `"${node.id}" has a tool_command but is no tool node; the command would never run.`,
        {
          ...ofNode(node),
          fix: 'add shape=parallelogram',
        },
      )
    if (isTool && (command?.text ?? '').trim() === '')
      yield error('tool_command_missing', `The tool node "${node.id}" has no tool_command.`, {
        ...ofNode(node),
        fix: 'add tool_command="…"',
      })
    const exported = node.attributes.get('tool_env')
    for (const name of listOf(exported?.text ?? '')) {
      const variable = name.split('.').at(-1)?.toUpperCase() ?? ''
      if (!/^[A-Z_][A-Z0-9_]*$/.test(name.toUpperCase().replaceAll('.', '_')) || variable === '')
        yield error(
          'tool_env_posix_identifier',
          `tool_env names "${name}", which is no name of an environment variable in capitals.`,
          {
            ...ofNode(node),
          },
        )
    }
  }
}

/** A list of names with commas or spaces between them. */
export function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((one) => one !== '')
}

function* people(flow: Flow): Generator<Found> {
  for (const node of nodesOf(flow, 'wait.human'))
    if (flow.outgoing.get(node.id)?.length === 0)
      yield warning(
        'human_has_choices',
        `"${node.id}" asks a person, but no edge leaves it: a run that comes there fails.`,
        ofNode(node),
      )
}

function* children(flow: Flow): Generator<Found> {
  for (const node of nodesOf(flow, 'pipeline'))
    if ((textOf(node.attributes, 'dot_file') ?? '').trim() === '')
      yield error('dot_file_missing', `"${node.id}" runs another pipeline, but names none.`, {
        ...ofNode(node),
        fix: 'add dot_file="child.dot"',
      })
}

function* parallels(flow: Flow): Generator<Found> {
  for (const node of nodesOf(flow, 'parallel'))
    if (joinOf(flow, node.id) === undefined)
      yield warning(
        'parallel_join',
        `The branches of "${node.id}" do not meet at a node: a run that comes there fails.`,
        {
          ...ofNode(node),
          fix: 'lead all of them to one node, best a tripleoctagon',
        },
      )
}

export const RULES: readonly Rule[] = [
  oneStart,
  oneExit,
  knownShapes,
  knownTypes,
  ends,
  reachability,
  undeclared,
  conditions,
  stylesheet,
  fidelities,
  jumpTargets,
  gates,
  prompts,
  numbers,
  tools,
  people,
  parallels,
  children,
]
