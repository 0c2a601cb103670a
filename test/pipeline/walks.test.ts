/** Walks that are executed: branches side by side, children, and runs that go on after they were cut. */
import { readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkPipeline } from '../../src/pipeline/check/check.ts'
import type { Status } from '../../src/pipeline/engine/outcome.ts'
import { logFile, run } from '../support/pipeline-log.ts'
import { type Does, untilAborted } from '../support/pipeline-walks.ts'

const FRAME = 'start [shape=Mdiamond] exit [shape=Msquare]'
const fan = (attributes: string, more = '') =>
  `digraph { ${FRAME} start -> fan; fan [shape=component ${attributes}]; fan -> {a b c} -> meet; meet [shape=tripleoctagon]; meet -> exit; ${more} }`

// verifies: S-PIPE-08
test('branches run with copies of the context, and only their results come back', async () => {
  const seen: Record<string, unknown> = {}
  const found = await run(fan(''), ({ node, state }) => {
    seen[node.id] = { ...state.context }
    return {
      status: node.id === 'b' ? 'fail' : 'success',
      context_updates: { mine: node.id, last_response: `I am ${node.id}.` },
    }
  })
  expect(seen['a']).not.toHaveProperty('mine')
  expect(seen['c']).not.toHaveProperty('mine')
  expect(found.context).not.toHaveProperty('mine')
  expect(found.context['parallel.results']).toEqual([
    { node_id: 'a', status: 'success', response: 'I am a.' },
    { node_id: 'b', status: 'fail', failure_reason: 'It failed.', response: 'I am b.' },
    { node_id: 'c', status: 'success', response: 'I am c.' },
  ])
  expect(found.executed).toEqual([':start', ':fan', 'fan@1.a:a', 'fan@1.b:b', 'fan@1.c:c', ':meet', ':exit'])
})

test('at most max_parallel branches run at once, and 4 where it is not said', async () => {
  for (const [attributes, most] of [
    ['max_parallel=2', 2],
    ['', 4],
  ] as const) {
    let running = 0
    let highest = 0
    await run(
      `digraph { ${FRAME} start -> fan -> {a b c d e f} -> exit; fan [shape=component ${attributes}] }`,
      async () => {
        running += 1
        highest = Math.max(highest, running)
        for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
        running -= 1
        return { status: 'success' }
      },
    )
    expect(highest).toBe(most)
  }
})

test.each<[attributes: string, status: Status]>([
  ['join_policy=first_success', 'success'],
  ['error_policy=fail_fast', 'fail'],
])('with %s the others are ended when one is a %s, and the walk waits for their end', async (attributes, status) => {
  const ended: string[] = []
  const found = await run(fan(attributes), async ({ node, signal }) => {
    if (node.id === 'b') return { status, failure_reason: 'Red.' }
    await untilAborted(signal).catch(() => {})
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
    ended.push(node.id)
    return { status: 'success' }
  })
  expect(ended).toEqual(['a', 'c'])
  expect(found.context['parallel.results']).toMatchObject([{ node_id: 'b', status }])
  expect(found.executed).toContain(':meet')
})

test('a stop and a fault in one branch end the others before the run rejects', async () => {
  for (const how of ['stop', 'fault']) {
    const stopping = new AbortController()
    const ended: string[] = []
    const does: Does = async ({ node, signal }) => {
      if (node.id === 'b' && how === 'stop') stopping.abort(new Error('stop'))
      if (node.id === 'b' && how === 'fault') throw new Error('fault')
      return await untilAborted(signal).finally(() => ended.push(node.id))
    }
    await expect(run(fan(''), does, { signal: stopping.signal })).rejects.toThrow(how)
    expect(ended).toEqual(how === 'stop' ? ['a', 'b'] : ['a', 'c'])
  }
})

test('branches within branches, loops and jumps', async () => {
  const times: Record<string, number> = {}
  const source = `digraph { ${FRAME}
    start -> fan; fan [shape=component]; fan -> {in x}; in [shape=component]; in -> {p q} -> inner -> meet
    x -> x2 [condition="outcome=success"]; x -> x [condition="outcome=fail"]; x2 -> meet
    meet -> fan [condition="outcome=fail"]; meet -> exit [condition="outcome=success"] }`
  const found = await run(source, ({ node }) => {
    times[node.id] = (times[node.id] ?? 0) + 1
    const isRed = (node.id === 'x' || node.id === 'meet') && times[node.id] === 1
    return { status: isRed ? 'fail' : 'success' }
  })
  expect(found.status).toBe('success')
  expect(times).toEqual({ p: 2, q: 2, inner: 2, x: 3, x2: 2, meet: 2 })
  expect(found.executed).toContain('fan@1.in/in@0.p:p')
  expect(found.executed).toContain('fan@3.in/in@0.p:p')
})

// verifies: S-PIPE-12
test('a run executes 1,000 nodes at most, with its branches', async () => {
  const found = await run(
    `digraph { ${FRAME} start -> fan; fan [shape=component]; fan -> {a b} -> meet; meet -> fan [condition="outcome=success"]; meet -> exit }`,
    () => ({ status: 'success' }),
  )
  expect(found).toMatchObject({ status: 'fail', reason: expect.stringContaining('at most 1000 nodes') as string })
  expect(found.executed.length).toBeLessThanOrEqual(1_002)
})

/** Graphs with loops, gates and branches within branches. Where the first branch decides, one runs after the other: which is first is luck otherwise. */
const anyGraph = fc
  .record({
    edges: fc.array(
      fc.record({
        from: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
        to: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'exit'),
        condition: fc.constantFrom('outcome=success', 'outcome=fail', 'context.x=1', 'context.a!=1'),
      }),
      { maxLength: 6 },
    ),
    policy: fc.constantFrom('wait_all', 'first_success', 'k_of_n', 'quorum'),
    errors: fc.constantFrom('continue', 'fail_fast', 'ignore'),
    most: fc.integer({ min: 1, max: 3 }),
  })
  .map(
    ({ edges, policy, errors, most }) => `digraph { ${FRAME} max_visits=6; max_steps=60
      start -> a -> fan; fan [shape=component, join_policy=${policy}, error_policy=${errors}, min_success=2,
        max_parallel=${policy === 'wait_all' && errors !== 'fail_fast' ? most : 1}]
      fan -> b -> c -> meet; fan -> d -> meet; fan -> in; in [shape=component, max_parallel=${most}]; in -> {e f} -> g -> meet
      meet [shape=tripleoctagon]; meet -> exit; a [goal_gate=true, retry_target=a]
      ${edges.map(({ from, to, condition }) => `${from} -> ${to} [condition="${condition}"]`).join(';')} }`,
  )

/** What a node does depends on its walk and its execution alone; each takes some turns. */
function acting(outcomes: readonly Status[], turns: readonly number[]): Does {
  return async ({ node, scope, state }) => {
    const key = [...`${scope.id}:${node.id}:${state.steps}`].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7)
    const from = <T>(all: readonly T[]) => all[Math.abs(key % 1_000_003) % all.length] as T
    for (let turn = 0; turn < from(turns); turn += 1) await Promise.resolve()
    // A branch sees what was done before it and in it, never another branch.
    for (const who of Object.keys(state.context).filter((name) => name.startsWith('by:')))
      expect(scope.id.startsWith(who.slice(3))).toBe(true)
    const status = from(outcomes)
    return { status, context_updates: { x: String(state.steps % 2), [node.id]: '1', [`by:${scope.id}`]: node.id } }
  }
}

// verifies: S-PIPE-09 S-PIPE-12 S-PIPE-08
test('every run ends, and one that goes on from any line of its log is the same run', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyGraph,
      fc.array(fc.constantFrom<Status>('success', 'fail', 'partial_success'), { minLength: 1, maxLength: 6 }),
      fc.array(fc.nat({ max: 6 }), { minLength: 1, maxLength: 5 }),
      fc.nat(),
      async (source, outcomes, turns, cut) => {
        if (checkPipeline(source).diagnostics.some(({ severity }) => severity === 'error')) return
        const does = acting(outcomes, turns)
        const file = logFile()
        const whole = await run(source, does, { file })
        const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
        const kept = lines.slice(0, cut % (lines.length + 1))
        const other = logFile()
        // A killed process may have written half of the next line.
        writeFileSync(other, `${kept.map((line) => `${line}\n`).join('')}${(lines[kept.length] ?? '').slice(0, 9)}`)
        const again = await run(source, does, { file: other })
        expect({ ...again, executed: [], steps: [] }).toEqual({ ...whole, executed: [], steps: [] })
        const done = kept.map((line) => JSON.parse(line) as { scope: string; node: string })
        const counts = (list: readonly string[]) =>
          list.reduce((all, one) => all.set(one, (all.get(one) ?? 0) + 1), new Map<string, number>())
        const before = counts(done.map(({ scope, node }) => `${scope}:${node}`))
        const wanted = counts(whole.executed)
        for (const [one, times] of counts(again.executed)) {
          // Only what had not ended is executed.
          expect(times).toBeLessThanOrEqual((wanted.get(one) ?? 0) - (before.get(one) ?? 0))
        }
      },
    ),
    { numRuns: 120 },
  )
})
