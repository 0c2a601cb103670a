/** The rules of pipelines: each finds what it is for, tells where and what to write, and leaves a sound pipeline alone. */
import { expect, test } from 'vitest'
import { checkPipeline } from '../../src/pipeline/check/check.ts'

const SOUND = `digraph sound {
  goal="Ship it"
  start [shape=Mdiamond]
  plan [prompt="Plan $goal"]
  build [prompt="Build it", goal_gate=true, retry_target=plan]
  gate [shape=diamond]
  test [shape=parallelogram, tool_command="npm test", timeout=15m, tool_env="context.name, task"]
  ask [shape=hexagon, label="Deliver?"]
  exit [shape=Msquare]
  start -> plan -> build -> test -> gate
  gate -> ask [condition="outcome=success"]
  gate -> build [condition="outcome!=success", weight=2]
  ask -> exit [label="[Y] Yes"]
  ask -> plan [label="[N] No"]
}`

function rulesIn(source: string): string[] {
  return checkPipeline(source).diagnostics.map(({ severity, rule, node_id, edge, line }) =>
    [severity, rule, node_id ?? edge?.join('->'), line].filter((part) => part !== undefined).join(' '),
  )
}

/** The sound pipeline with a line more. */
const withLine = (line: string) => rulesIn(SOUND.replace(/}$/, `${line}\n}`))

test('a sound pipeline has no diagnostics', () => {
  expect(checkPipeline(SOUND)).toMatchObject({ diagnostics: [], isRunnable: true, flow: { mode: 'walk' } })
})

test.each([
  ['second [shape=Mdiamond]; second -> plan', 'error start_node second 15'],
  ['second [shape=Msquare]; plan -> second', 'error terminal_node second 15'],
  ['odd [shape=star]; plan -> odd', 'error shape_known odd 15'],
  ['odd [shape=star, type=tool, tool_command=ls]; plan -> odd', undefined],
  ['note [shape=note, label="A remark"]', undefined],
  ['odd [type=dream, prompt=x]; plan -> odd', 'warning type_known odd 15'],
  ['plan -> start', 'error start_no_incoming plan->start 15'],
  ['exit -> plan', 'error exit_no_outgoing exit->plan 15'],
  ['lost [prompt=x]', 'warning reachability lost 15'],
  ['lost [prompt=x]; lost -> plan', 'error reachability lost 15'],
  ['lost [prompt=x]; lost -> plan; plan [retry_target=lost]', undefined],
  ['lost [prompt=x]; lost -> plan; retry_target=lost', undefined],
  ['plan -> unheard', 'warning edge_target_exists unheard 15'],
  ['plan -> test [condition="outcome="]', undefined],
  ['plan -> test [condition="=x"]', 'error condition_syntax plan->test 15'],
  ['plan -> test [condition="a=1 || b=2"]', 'info condition_extension plan->test 15'],
  ['model_stylesheet="* { llm_model }"', 'error stylesheet_syntax 15'],
  ['model_stylesheet="* { llm_model: a; } .fast, #plan { model: b }"', undefined],
  ['plan [fidelity=loud]', 'warning fidelity_valid plan 5'],
  ['plan [fidelity="summary:low"]', undefined],
  ['plan [retry_target=nowhere]', 'warning retry_target_exists plan 15'],
  ['test [goal_gate=true]', 'warning goal_gate_has_retry test 7'],
  ['bare []; plan -> bare', 'warning prompt_on_llm_nodes bare 15'],
  ['plan [max_retries=-1]', 'error retry_budget_non_negative plan 15'],
  ['plan [max_retries=many]', 'error retry_budget_non_negative plan 15'],
  ['default_max_retries="$n"', undefined],
  ['max_steps=-1', 'error limit_valid 15'],
  ['plan [timeout=soon]', 'error duration_valid plan 15'],
  ['plan [timeout="1800"]', undefined],
  ['plan -> test [weight=heavy]', 'error limit_valid plan->test 15'],
  ['plan -> test [weight=2.5]', undefined],
  ['plan [tool_command=ls]', 'error tool_command_requires_tool_handler plan 5'],
  ['test [tool_command=""]', 'error tool_command_missing test 8'],
  ['test [tool_env="1x"]', 'error tool_env_posix_identifier test 8'],
  ['who [shape=hexagon]; plan -> who', 'warning human_has_choices who 15'],
  [
    'fan [shape=component]; plan -> fan; fan -> {one two}; one [prompt=x] two [prompt=x]',
    'warning parallel_join fan 15',
  ],
  ['child [shape=folder]; plan -> child', 'error dot_file_missing child 15'],
  ['child [type=subgraph, graph_ref="c.dot"]; plan -> child', undefined],
])('%s: %s', (line, wanted) => {
  const found = withLine(line).filter(
    (one) => !one.startsWith('warning edge_target_exists') || line.includes('unheard'),
  )
  if (wanted === undefined) expect(found).toEqual([])
  else expect(found.map((one) => one.replace(/ \d+$/, ''))).toContain(wanted.replace(/ +\d+$/, ''))
})

test('a diagnostic has its place and what to write', () => {
  const { diagnostics, isRunnable } = checkPipeline(
    'digraph {\n  start [shape=Mdiamond]\n  a [prompt=x, timeout=soon]\n  start -> a\n}',
  )
  expect(isRunnable).toBe(false)
  expect(diagnostics).toEqual([
    expect.objectContaining({ rule: 'terminal_node', severity: 'error', fix: 'add exit [shape=Msquare]' }),
    {
      rule: 'duration_valid',
      severity: 'error',
      message: 'timeout is "soon"; it is a duration such as 250ms, 90s, 15m, 2h.',
      node_id: 'a',
      line: 3,
      column: 24,
    },
  ])
})

test('a graph of sessions without start and exit runs as dataflow, if it has no cycle', () => {
  const flow = 'Align [session="@b:align"] Plan [session="@b:plan"] Align -> Plan'
  expect(checkPipeline(`digraph { ${flow} }`)).toMatchObject({ diagnostics: [], flow: { mode: 'dataflow' } })
  expect(rulesIn(`digraph { ${flow} -> Align }`)).toEqual(['error start_node', 'error terminal_node'])
  expect(checkPipeline(`digraph { ${flow} -> Align }`).diagnostics[0]?.message).toContain('Align → Plan')
})

test('pictures of an architecture are not run', () => {
  expect(rulesIn('digraph { browser -> server -> database }')).toContain('error start_node')
})

test('a graph with a fault of syntax is not judged by rules', () => {
  expect(rulesIn('digraph { start [shape=Mdiamond }')).toEqual(['error syntax 1'])
})
