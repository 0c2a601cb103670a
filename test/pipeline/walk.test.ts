/** The walk through a pipeline: which node follows which outcome. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkPipeline } from '../../src/pipeline/check/check.ts'
import type { Flow } from '../../src/pipeline/check/flow.ts'
import { branchesOf, joinOf } from '../../src/pipeline/check/join.ts'
import type { Outcome, Status } from '../../src/pipeline/engine/outcome.ts'
import { afterAttempt } from '../../src/pipeline/engine/retries.ts'
import { acceleratorOf, plainLabel, selectEdge } from '../../src/pipeline/engine/select-edge.ts'
import {
  type Bounds,
  beginWalk,
  nextStep,
  type Step,
  VISITS_MAX,
  type WalkState,
} from '../../src/pipeline/engine/walk.ts'

const FRAME = 'start [shape=Mdiamond] exit [shape=Msquare]'

function flowOf(body: string, isFramed = true): Flow {
  const { flow, diagnostics } = checkPipeline(`digraph { ${isFramed ? FRAME : ''} ${body} }`)
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
  return flow
}

type Script = Readonly<Record<string, (Partial<Outcome> | Status)[]>>

/** The n-th execution of a node has the n-th outcome of its script; the last one again after that, success without one. */
function walk(
  flow: Flow,
  script: Script = {},
  bounds: Bounds | undefined = undefined,
  from = flow.starts[0] as string,
) {
  const path: string[] = []
  const times: Record<string, number> = {}
  let step: Step = beginWalk(from, {})
  const states: WalkState[] = []
  while (step.kind === 'run') {
    const id = step.state.at
    path.push(step.why === 'edge' || step.why === 'start' ? id : `${step.why}:${id}`)
    states.push(step.state)
    const all = script[id] ?? ['success']
    const said = all[Math.min(times[id] ?? 0, all.length - 1)] as Partial<Outcome> | Status
    times[id] = (times[id] ?? 0) + 1
    const outcome: Outcome = typeof said === 'string' ? { status: said } : { status: 'success', ...said }
    step = nextStep(flow, step.state, outcome, bounds)
  }
  return { path: path.join(' '), status: step.status, reason: step.reason, state: step.state, states }
}

const LOOP = `start -> build -> test -> gate gate [shape=diamond]
  test [shape=parallelogram, tool_command=t]
  gate -> exit [condition="outcome=success"] gate -> build [condition="outcome!=success"]`

test.each<[what: string, body: string, script: Script, path: string, status: string]>([
  ['a line', 'start -> a -> b -> exit', {}, 'start a b exit', 'success'],
  [
    'a node without edges is an end',
    'start -> a a -> b; b -> exit [condition="outcome=fail"]; a -> c; c',
    {},
    'start a b',
    'fail',
  ],
  ['an end within', 'start -> a -> c; a -> exit [condition="outcome=fail"]', {}, 'start a c', 'success'],
  [
    'a condition before a label',
    'start -> a; a -> b [label="Go"]; a -> exit [condition="outcome=success"]; b -> exit',
    { a: [{ preferred_label: 'go' }] },
    'start a exit',
    'success',
  ],
  [
    'the heaviest condition',
    'start -> a; a -> b [condition="outcome=success", weight=1]; a -> exit [condition="outcome=success", weight=2]; b -> exit',
    {},
    'start a exit',
    'success',
  ],
  [
    'of equals the first by name',
    'start -> a; a -> c [condition="outcome=success"]; a -> b [condition="outcome=success"]; b -> exit; c -> exit',
    {},
    'start a b exit',
    'success',
  ],
  [
    'a label',
    'start -> a; a -> b [label="[B] Back"]; a -> exit [weight=9]; b -> exit',
    { a: [{ preferred_label: 'back' }] },
    'start a b exit',
    'success',
  ],
  [
    'a suggested node',
    'start -> a; a -> b; a -> exit [weight=9]; b -> exit',
    { a: [{ suggested_next_ids: ['nowhere', 'b'] }] },
    'start a b exit',
    'success',
  ],
  ['the heaviest plain edge', 'start -> a; a -> b; a -> exit [weight=9]; b -> exit', {}, 'start a exit', 'success'],
  [
    'a false condition is never taken',
    'start -> a; a -> b [condition="outcome=fail", label=go, weight=9]; a -> exit; b -> exit',
    { a: [{ preferred_label: 'go', suggested_next_ids: ['b'] }] },
    'start a exit',
    'success',
  ],
  ['no edge fits', 'start -> a; a -> exit [condition="outcome=fail"]', {}, 'start a', 'fail'],
  [
    'a diamond asks about the node before it',
    LOOP,
    { test: ['fail', 'success'] },
    'start build test gate build test gate exit',
    'success',
  ],
  [
    'a fork of diamonds',
    'start -> a -> d1; d1 [shape=diamond]; d2 [shape=diamond]; d1 -> d2; d2 -> exit [condition="outcome=success"]; d2 -> a [condition="outcome=fail"]',
    { a: ['fail', 'success'] },
    'start a d1 d2 a d1 d2 exit',
    'success',
  ],
  [
    'a failure has its edge',
    'start -> a; a -> b [condition="outcome=fail"]; a -> exit; b -> exit',
    { a: ['fail'] },
    'start a b exit',
    'success',
  ],
  [
    'a failure without an edge ends the run',
    'start -> a; a -> exit [condition="outcome=success"]',
    { a: [{ status: 'fail', failure_reason: 'Red.' }] },
    'start a',
    'fail',
  ],
  [
    'retry_target',
    'start -> a -> b; b -> exit [condition="outcome=success"]; b [retry_target=a]',
    { b: ['fail', 'success'] },
    'start a b retry_target:a b exit',
    'success',
  ],
  [
    'fallback_retry_target',
    'start -> a -> b; b -> exit [condition="outcome=success"]; b [retry_target=gone, fallback_retry_target=a]',
    { b: ['fail', 'success'] },
    'start a b retry_target:a b exit',
    'success',
  ],
  ['a failure over a plain edge to the exit is no success', 'start -> a -> exit', { a: ['fail'] }, 'start a', 'fail'],
  ['also behind a diamond', 'start -> a -> d -> exit; d [shape=diamond]', { a: ['fail'] }, 'start a d', 'fail'],
  [
    'a failure that another node followed is passed over',
    'start -> a -> b -> exit',
    { a: ['fail'] },
    'start a b exit',
    'success',
  ],
  [
    'a gate goes back',
    'start -> a -> g -> b -> exit; g [goal_gate=true, retry_target=a]',
    { g: [{ status: 'fail' }, 'success'] },
    'start a g b gate:a g b exit',
    'success',
  ],
  [
    'a partial success satisfies it',
    'start -> g -> exit; g [goal_gate=true]',
    { g: ['partial_success'] },
    'start g exit',
    'success',
  ],
  [
    'a gate without a target fails',
    'start -> g -> b -> exit; g [goal_gate=true]',
    { g: ['fail'] },
    'start g b',
    'fail',
  ],
  [
    'the target of the graph',
    'retry_target=a; start -> a -> g -> b -> exit; g [goal_gate=true]',
    { g: ['fail', 'success'] },
    'start a g b gate:a g b exit',
    'success',
  ],
  [
    'a gate that was not visited does not count',
    'start -> a -> exit; a -> g [condition="outcome=fail"]; g -> exit; g [goal_gate=true]',
    {},
    'start a exit',
    'success',
  ],
  [
    'used-up retries have an edge',
    'start -> a; a -> b [condition="outcome=retry"]; a -> exit; b -> exit',
    { a: [{ status: 'fail', is_exhausted: true }] },
    'start a b exit',
    'success',
  ],
  [
    'outcome=fail comes first then',
    'start -> a; a -> b [condition="outcome=retry", weight=9]; a -> c [condition="outcome=fail"]; a -> exit; b -> exit; c -> exit',
    { a: [{ status: 'fail', is_exhausted: true }] },
    'start a c exit',
    'success',
  ],
  [
    'a label is an outcome',
    'start -> a; a -> b [condition="outcome=revise"]; a -> exit [condition="outcome=approve"]; b -> a',
    { a: [{ preferred_label: 'revise' }, { preferred_label: 'approve' }] },
    'start a b a exit',
    'success',
  ],
  [
    'the context routes',
    'start -> a -> b; b -> exit [condition="context.color=red"]; b -> a [condition="context.color!=red"]',
    { a: [{ context_updates: { color: 'blue' } }, { context_updates: { color: 'red' } }] },
    'start a b a b exit',
    'success',
  ],
  [
    'loop_restart',
    'start -> a -> b; b -> a [condition="outcome=fail", loop_restart=true]; b -> exit [condition="outcome=success"]',
    { b: ['fail', 'success'] },
    'start a b restart:a b exit',
    'success',
  ],
  [
    'max_visits of a node',
    'start -> a -> b; b -> a; a [max_visits=3]; a -> exit [condition="outcome=fail"]',
    {},
    'start a b a b a b',
    'fail',
  ],
  ['max_steps', 'max_steps=3; start -> a -> b -> c -> exit', {}, 'start a b', 'fail'],
  ['max_steps of zero is none', 'max_steps=0; start -> a -> exit', {}, 'start a exit', 'success'],
])('%s', (_, body, script, path, status) => {
  const flow = flowOf(body)
  const found = walk(flow, script)
  expect(found).toMatchObject({ path, status })
  if (status === 'fail') expect(found.reason).toEqual(expect.any(String))
})

test('reasons name what happened', () => {
  const red = { status: 'fail', failure_reason: 'Three tests are red.' } as const
  expect(walk(flowOf('start -> a -> exit'), { a: [red] }).reason).toBe('"a" failed: Three tests are red.')
  expect(walk(flowOf('start -> g -> exit; g [goal_gate=true]'), { g: [red] }).reason).toBe(
    'The goal gate "g" is not satisfied: Three tests are red.',
  )
  expect(walk(flowOf('start -> a; a -> exit [condition="x=1"]')).reason).toBe('No edge of "a" fits: outcome=success.')
  expect(walk(flowOf('start -> a -> b -> exit'), { a: [red] }).state.passed_over).toEqual([
    { node_id: 'a', reason: 'Three tests are red.' },
  ])
})

test('jumps and executions have limits', () => {
  const gate = walk(flowOf('max_goal_gate_redirects=2; start -> g -> exit; g [goal_gate=true, retry_target=g]'), {
    g: ['fail'],
  })
  expect(gate).toMatchObject({
    path: 'start g gate:g gate:g',
    status: 'fail',
    reason: 'The run jumped back 2 times, which is the limit.',
  })
  const cycle = walk(flowOf('start -> a -> b -> a; b -> exit [condition="outcome=fail"]'))
  expect(cycle.state.steps).toBe(VISITS_MAX)
  expect(cycle.reason).toContain(String(VISITS_MAX))
})

test('a branch ends before its join, and passes the exit without looking at gates', () => {
  const flow = flowOf(
    'start -> fan; fan [shape=component]; fan -> a -> a2 -> meet; fan -> b -> meet; meet [shape=tripleoctagon]; meet -> exit',
  )
  expect(joinOf(flow, 'fan')).toBe('meet')
  const bounds = { within: ['fan'], stopBefore: ['meet'] }
  expect(walk(flow, {}, bounds, 'a')).toMatchObject({ path: 'a a2', status: 'success' })
  expect(walk(flow, { b: [{ status: 'fail', failure_reason: 'No.' }] }, bounds, 'b')).toMatchObject({
    path: 'b',
    status: 'fail',
    reason: 'No.',
  })
  expect(walk(flow, {}, { within: [], stopBefore: [] }, 'a')).toMatchObject({
    path: 'a a2 meet',
    status: 'success',
  })
})

test('a branch that leads back to its parallel node fails', () => {
  const flow = flowOf(
    'start -> fan; fan [shape=component]; fan -> {a b}; a -> fan [condition="outcome=fail"]; {a b} -> meet -> exit',
  )
  expect(joinOf(flow, 'fan')).toBe('meet')
  expect(walk(flow, { a: ['fail'] }, { within: ['fan'], stopBefore: ['meet'] }, 'a')).toMatchObject({
    path: 'a',
    status: 'fail',
    reason: 'The branch leads back to "fan".',
  })
})

test.each<[body: string, outcome: Status, path: string]>([
  ['meet -> exit', 'success', 'start fan join:meet exit'],
  ['meet -> exit', 'fail', 'start fan join:meet exit'],
  ['meet -> exit; fan -> mend [condition="outcome=fail"]; mend -> exit', 'fail', 'start fan mend exit'],
  ['meet -> exit; fan -> mend [condition="outcome=fail"]; mend -> exit', 'success', 'start fan join:meet exit'],
  [
    'meet -> exit; fan [retry_target=early]; early -> exit; start -> early [weight=-1]',
    'fail',
    'start fan retry_target:early exit',
  ],
  ['exit', 'success', 'start fan join:exit'],
])('after the branches of a graph with %s that ended with %s: %s', (body, outcome, path) => {
  const meet = body === 'exit' ? 'exit' : 'meet'
  const flow = flowOf(`start -> fan; fan [shape=component]; fan -> a -> ${meet}; fan -> b -> ${meet}; ${body}`)
  expect(branchesOf(flow, 'fan')).toEqual(['a', 'b'])
  expect(walk(flow, { fan: [outcome] }).path).toBe(path)
})

test.each([
  ['fan -> a -> x; fan -> b -> x; x -> exit', 'x'],
  ['fan -> a -> x; fan -> b -> c -> x; x -> y; a -> y; b -> y; y -> exit', 'y'],
  ['fan -> a -> x -> f; fan -> b -> x; f [shape=tripleoctagon]; f -> exit', 'f'],
  ['fan -> a; fan -> b; a -> exit [condition="outcome=fail"]; c -> exit; start -> c', undefined],
  ['fan -> a -> exit; fan -> b -> exit', 'exit'],
  ['fan -> a -> exit', 'a'],
  ['fan -> a -> x; fan -> b -> x; x -> p; p [shape=component]; p -> {c d} -> f -> exit; f [shape=tripleoctagon]', 'x'],
  ['fan -> {p b} -> f -> exit; p [shape=component]; p -> {c d} -> f; f [shape=tripleoctagon]', 'f'],
  ['fan -> {a b} -> exit; a -> c -> x; b -> x; x -> exit', 'x'],
])('branches of %s meet at %s', (body, join) => {
  expect(joinOf(flowOf(`start -> fan; fan [shape=component]; ${body}`), 'fan')).toBe(join)
})

test('branches within branches meet before the fan-in of those around them', () => {
  const around =
    'start -> fan; fan [shape=component]; fan -> {in b}; b -> f -> exit; f [shape=tripleoctagon]; in [shape=component]'
  for (const [body, join] of [
    ['in -> {c d} -> x -> f', 'x'],
    ['in -> {c d} -> f', 'f'],
    ['in -> {c d} -> g -> x -> f; g [shape=tripleoctagon]', 'g'],
  ] as const) {
    const flow = flowOf(`${around}; ${body}`)
    expect([joinOf(flow, 'fan'), joinOf(flow, 'in')]).toEqual(['f', join])
  }
})

test('labels and their keys', () => {
  for (const label of ['[Y] Yes', 'Y) Yes', 'Y - Yes', ' yes ', 'YES']) expect(plainLabel(label)).toBe('yes')
  expect(['[A] Approve', 'r) Reject', 'x - Extra', 'fix it', ''].map(acceleratorOf)).toEqual(['A', 'R', 'X', 'F', ''])
})

test.each<[attributes: string, attempts: (string | number)[]]>([
  ['', ['fail']],
  ['max_retries=2', ['again', 'again', 'fail']],
  ['max_retries=1, allow_partial=true', ['again', 'partial_success']],
])('retries of a node with %j: %s', (attributes, wanted) => {
  const flow = flowOf(`start -> a -> exit; a [prompt=x${attributes === '' ? '' : `, ${attributes}`}]`)
  const node = flow.graph.nodes.get('a')
  if (node === undefined) throw new Error('no node')
  const found = wanted.map((_, index) => {
    const after = afterAttempt(flow.graph, node, index + 1, { status: 'retry' }, 0.5)
    return after.kind === 'again' ? 'again' : after.outcome.status
  })
  expect(found).toEqual(wanted)
  expect(afterAttempt(flow.graph, node, 1, { status: 'fail' }, 0.5)).toEqual({
    kind: 'final',
    outcome: { status: 'fail' },
  })
})

test('delays of retries double up to a minute', () => {
  const flow = flowOf('default_max_retry=20; start -> a -> exit')
  const node = flow.graph.nodes.get('a')
  if (node === undefined) throw new Error('no node')
  const delays = [1, 2, 3, 9, 10, 20].map((attempt) =>
    afterAttempt(flow.graph, node, attempt, { status: 'retry' }, 0.5),
  )
  expect(delays.map((one) => one.kind === 'again' && one.delayMs)).toEqual([200, 400, 800, 51_200, 60_000, 60_000])
  expect(afterAttempt(flow.graph, node, 1, { status: 'retry' }, 0)).toEqual({ kind: 'again', delayMs: 100 })
})

const statuses = fc.constantFrom<Status>('success', 'fail', 'partial_success')
const names = ['a', 'b', 'c', 'd']
const anyGraph = fc
  .array(
    fc.record({
      from: fc.constantFrom(...names),
      to: fc.constantFrom(...names, 'exit'),
      condition: fc.constantFrom('', '', 'outcome=success', 'outcome!=success', 'context.x=1'),
      weight: fc.integer({ min: 0, max: 2 }),
    }),
    { minLength: 3, maxLength: 10 },
  )
  .map((edges) => {
    const lines = edges.map(
      ({ from, to, condition, weight }) => `${from} -> ${to} [condition="${condition}", weight=${weight}]`,
    )
    return `start [shape=Mdiamond] exit [shape=Msquare] b [goal_gate=true, retry_target=a] c [shape=diamond]
      start -> a -> b -> c -> d -> exit [weight=-1]; ${lines.join(';')}`
  })

test('every run ends, and one that goes on from any checkpoint is the same run', () => {
  fc.assert(
    fc.property(anyGraph, fc.array(statuses, { minLength: 1, maxLength: 8 }), (body, outcomes) => {
      const { flow } = checkPipeline(`digraph { ${body} }`)
      // The outcome of an execution depends on its number alone.
      const run = (state: WalkState): Step => {
        let step: Step = { kind: 'run', state, edge: undefined, why: 'edge' }
        while (step.kind === 'run') {
          const status = outcomes[step.state.steps % outcomes.length] as Status
          step = nextStep(flow, step.state, { status, context_updates: { x: String(step.state.steps % 2) } })
        }
        return step
      }
      const states: WalkState[] = []
      let step = beginWalk('start', {})
      while (step.kind === 'run') {
        if (states.length < 12) states.push(step.state)
        const status = outcomes[step.state.steps % outcomes.length] as Status
        step = nextStep(flow, step.state, { status, context_updates: { x: String(step.state.steps % 2) } })
      }
      for (const state of states) expect(run(JSON.parse(JSON.stringify(state)) as WalkState)).toEqual(step)
    }),
    { numRuns: 150 },
  )
})

test('a state is not changed by the step that follows it', () => {
  const flow = flowOf(LOOP)
  const { states } = walk(flow, { test: ['fail', 'success'] })
  for (const state of states) {
    const before = structuredClone(state)
    nextStep(flow, state, { status: 'fail', context_updates: { x: 1 }, failure_reason: 'x' })
    expect(state).toEqual(before)
  }
})

test('an edge is selected without a run', () => {
  const flow = flowOf('start -> a; a -> exit [condition="context.deep.er=1"]; a -> b; b -> exit')
  expect(selectEdge(flow, 'a', { status: 'success' }, { deep: { er: 1 } })).toMatchObject({
    edge: { to: 'exit' },
    isConditional: true,
  })
  expect(selectEdge(flow, 'a', { status: 'success' }, {})).toMatchObject({ edge: { to: 'b' }, isConditional: false })
})
