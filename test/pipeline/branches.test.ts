/** Parallel branches and dataflow: what comes of many outcomes. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkPipeline } from '../../src/pipeline/check/check.ts'
import {
  type BranchResult,
  bestOf,
  fanInOutcome,
  isDecided,
  joinedOutcome,
} from '../../src/pipeline/engine/branches.ts'
import { afterNode, beginDataflow, dataflowEnd, readyNodes } from '../../src/pipeline/engine/dataflow.ts'
import type { Status } from '../../src/pipeline/engine/outcome.ts'

function fan(attributes: string) {
  const node = checkPipeline(`digraph { fan [shape=component ${attributes}] }`).graph.nodes.get('fan')
  if (node === undefined) throw new Error('no node')
  return node
}

const results = (...statuses: Status[]): BranchResult[] => statuses.map((status, n) => ({ node_id: `b${n}`, status }))

test.each<[attributes: string, of: number, statuses: Status[], outcome: string, isDecided: boolean]>([
  ['', 2, ['success', 'partial_success'], 'success', false],
  ['', 2, ['success', 'fail'], 'partial_success', false],
  ['', 2, ['fail', 'fail'], 'fail', false],
  ['error_policy=ignore', 2, ['success', 'fail'], 'success', false],
  ['error_policy=fail_fast', 3, ['success', 'fail'], 'fail', true],
  ['join_policy=first_success', 3, ['fail', 'success'], 'success', true],
  ['join_policy=first_success', 2, ['fail', 'fail'], 'fail', true],
  ['join_policy=k_of_n, min_success=2', 3, ['success', 'success'], 'success', true],
  ['join_policy=k_of_n, min_success=2', 3, ['fail', 'fail'], 'fail', true],
  ['join_policy=k_of_n, min_success=2', 3, ['success', 'fail'], 'fail', false],
  ['join_policy=k_of_n, min_success=9', 2, ['success', 'success'], 'success', true],
  ['join_policy=quorum, quorum_fraction="0.6"', 3, ['success', 'success'], 'success', true],
  ['join_policy=quorum, quorum_fraction=nonsense', 4, ['success', 'success'], 'success', true],
  ['join_policy=unheard', 2, ['success', 'fail'], 'partial_success', false],
])('branches with %j, %s of them, ended %j: %s', (attributes, of, statuses, outcome, decided) => {
  const node = fan(attributes)
  const ended = results(...statuses)
  expect(isDecided(node, of, ended)).toBe(decided)
  expect(joinedOutcome(node, of, ended)).toMatchObject({
    status: outcome,
    context_updates: { 'parallel.results': ended },
  })
})

test('a fan-in takes the best: status, score, name', () => {
  const all: BranchResult[] = [
    { node_id: 'c', status: 'fail', score: 9 },
    { node_id: 'b', status: 'success', score: 1 },
    { node_id: 'a', status: 'success', score: 1 },
    { node_id: 'd', status: 'success', score: 3 },
  ]
  expect(bestOf(all)?.node_id).toBe('d')
  expect(bestOf(all.slice(0, 3))?.node_id).toBe('a')
  expect(fanInOutcome(all)).toMatchObject({ status: 'success', context_updates: { 'parallel.fan_in.best_id': 'd' } })
  expect(fanInOutcome(results('fail', 'fail'))).toMatchObject({ status: 'fail' })
  expect(fanInOutcome([])).toMatchObject({ status: 'fail' })
  expect(fanInOutcome(undefined)).toMatchObject({ status: 'fail' })
})

test('dataflow: a node runs when all before it are done; what follows a failed one is skipped', () => {
  const { flow } = checkPipeline('digraph { a [session=x]; a -> {b c}; {b c} -> d; c -> e }')
  expect(flow.mode).toBe('dataflow')
  const none = new Set<string>()
  let state = beginDataflow()
  expect(readyNodes(flow, state, none)).toEqual(['a'])
  expect(readyNodes(flow, state, new Set(['a']))).toEqual([])
  state = afterNode(flow, state, 'a', { status: 'success' })
  expect(readyNodes(flow, state, none)).toEqual(['b', 'c'])
  state = afterNode(flow, state, 'b', { status: 'fail', failure_reason: 'Red.' })
  expect(readyNodes(flow, state, none)).toEqual(['c'])
  expect(state.outcomes['d']).toMatchObject({ status: 'skipped' })
  expect(dataflowEnd(flow, state)).toBeUndefined()
  state = afterNode(flow, state, 'c', { status: 'success' })
  state = afterNode(flow, state, 'e', { status: 'success' })
  expect(dataflowEnd(flow, state)).toEqual({ status: 'fail', reason: '"b" failed: Red.' })
})

test('dataflow: every graph without a cycle ends, whatever the order and the outcomes', () => {
  const edges = fc.array(
    fc.tuple(fc.nat({ max: 6 }), fc.nat({ max: 6 })).filter(([from, to]) => from < to),
    { maxLength: 12 },
  )
  fc.assert(
    fc.property(edges, fc.infiniteStream(fc.boolean()), fc.infiniteStream(fc.nat()), (pairs, good, order) => {
      const lines = [...Array(7).keys()].map((n) => `n${n} [session=x]`)
      const { flow } = checkPipeline(
        `digraph { ${lines.join(';')} ${pairs.map(([from, to]) => `n${from} -> n${to}`).join(';')} }`,
      )
      let state = beginDataflow()
      const ran: string[] = []
      for (;;) {
        const ready = readyNodes(flow, state, new Set())
        if (ready.length === 0) break
        const id = ready[(order.next().value as number) % ready.length] as string
        for (const { from } of flow.incoming.get(id) ?? []) expect(ran).toContain(from)
        ran.push(id)
        state = afterNode(flow, state, id, { status: good.next().value === true ? 'success' : 'fail' })
      }
      expect(new Set(ran).size).toBe(ran.length)
      expect(dataflowEnd(flow, state)).toBeDefined()
    }),
    { numRuns: 200 },
  )
})
