/** Advice: what runs, but perhaps not as its author thinks. */
import { expect, test } from 'vitest'
import { checkPipeline } from '../../src/pipeline/check/check.ts'

const rulesOf = (body: string) =>
  checkPipeline(`digraph { start [shape=Mdiamond] exit [shape=Msquare] node [prompt=x] ${body} }`)
    // The nodes that edges alone name are not what is looked at here.
    .diagnostics.filter(({ rule }) => rule !== 'edge_target_exists')
    .map(({ severity, rule, node_id, edge }) => `${severity} ${rule} ${node_id ?? edge?.join('->')}`)

const tool = (command: string, more = '') => `t [shape=parallelogram, prompt="", tool_command="${command}"${more}]`

test.each([
  [
    'a parameter in a command',
    `params="task,branch=main"; ${tool('echo $task')}; start -> t -> exit`,
    ['warning shell_injection t'],
  ],
  ['what a person wrote', `${tool('say $human.gate.text')}; start -> t -> exit`, ['warning shell_injection t']],
  ['a value of the context', `${tool('cat $work_dir/x')}; start -> t -> exit`, []],
  ['by the environment', `params=task; ${tool('echo \\"$TASK\\"', ', tool_env=task')}; start -> t -> exit`, []],
  ['a pipe', `${tool('make | tee log')}; start -> t -> exit`, ['warning pipe_masks_exit t']],
  ['pipefail', `${tool('set -o pipefail; make | tee log')}; start -> t -> exit`, []],
  ['or, and a bar within quotes', `${tool("make || grep 'a|b' log")}; start -> t -> exit`, []],
  ['|| true', `${tool('make || true')}; start -> t -> exit`, ['warning always_succeeds t']],
  ['a cycle that always goes the same way', 'start -> a -> b -> a; b -> exit', ['warning cycle_without_condition a']],
  ['a cycle with a condition', 'start -> a -> b; b -> a [condition="outcome=fail"]; b -> exit', []],
  ['a cycle without a way out', 'start -> a -> b; b -> a; start -> exit', ['warning cycle_without_exit a']],
  ['a cycle that a person leaves', 'start -> a -> b; b [shape=hexagon]; b -> a; b -> exit', []],
  [
    'a stale line',
    `${tool('x')}; start -> t; t -> exit [condition="tool.last_line=ok"]; t -> a [condition="outcome=fail"]; a -> exit`,
    ['warning stale_last_line t->exit'],
  ],
  [
    'a line with the outcome',
    `${tool('x')}; start -> t; t -> exit [condition="outcome=success && tool.last_line=ok"]; t -> a [condition="outcome=fail"]; a -> exit`,
    [],
  ],
  ['a removed extension', 'a [runs_on=always]; start -> a -> exit', ['warning removed_extension a']],
  ['an effort that no model knows', 'a [reasoning_effort=much]; start -> a -> exit', ['warning reasoning_unknown a']],
  [
    'an effort that models know, or a variable',
    'a [reasoning_effort=High]; b [reasoning_effort="$x"]; start -> a -> b -> exit',
    [],
  ],
  ['a failure that is passed over', `${tool('x')}; start -> t -> a -> exit`, ['info failure_passed_over t']],
])('%s', (_, body, wanted) => {
  expect(rulesOf(body)).toEqual(wanted)
})
