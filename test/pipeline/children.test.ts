/** Nodes that run others: fan-ins, folders, managers; and dataflow mode. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Status } from '../../src/pipeline/engine/outcome.ts'
import { logFile, run as runPipeline } from '../support/pipeline-log.ts'
import { acting, type Does, NESTED, type Ran, untilAborted } from '../support/pipeline-walks.ts'

const FRAME = 'start [shape=Mdiamond] exit [shape=Msquare]'
const graph = (body: string) => `digraph { ${FRAME} ${body} }`
const good: Does = () => ({ status: 'success' })

const MEETING = (prompt: string) =>
  graph(`start -> fan; fan [shape=component]; fan -> {a b c} -> meet -> exit; meet [shape=tripleoctagon ${prompt}]`)
const branches: Does = ({ node }) =>
  node.id === 'a'
    ? { status: 'fail', failure_reason: 'Red.' }
    : { status: 'success', output: `Done by ${node.id}.`, context_updates: { score: node.id === 'c' ? 2 : 1 } }

test('a fan-in without a prompt takes the best', async () => {
  const { context } = await runPipeline(MEETING(''), branches)
  expect(context).toMatchObject({ 'parallel.fan_in.best_id': 'c', 'parallel.fan_in.best_outcome': 'success' })
})

test('a fan-in with a prompt shows the results to a model, and takes what it names if that is one', async () => {
  for (const [named, best] of [
    ['b', 'b'],
    ['a', 'c'],
    ['nonsense', 'c'],
  ]) {
    let shown = ''
    const does: Does = (execution, prompt) => {
      if (prompt === undefined) return branches(execution)
      shown = prompt
      return { status: 'success', context_updates: { 'parallel.fan_in.best_id': named, last_response: 'Chosen.' } }
    }
    const { context } = await runPipeline(MEETING(', prompt="Choose."'), does)
    expect(context).toMatchObject({ 'parallel.fan_in.best_id': best, last_response: 'Chosen.' })
    expect(shown).toMatch(/^Choose\.\n[\s\S]*## a \(fail\)\n\nRed\.[\s\S]*## b \(success\)\n\nDone by b\./)
  }
})

test('a fan-in fails where all branches failed, and where there were none', async () => {
  const red: Does = () => ({ status: 'fail', failure_reason: 'Red.' })
  expect(await runPipeline(MEETING(', prompt="Choose."'), red)).toMatchObject({ status: 'fail' })
  const alone = graph('start -> meet -> exit; meet [shape=tripleoctagon]')
  expect(await runPipeline(alone, good)).toMatchObject({
    status: 'fail',
    reason: expect.stringContaining('results of branches') as string,
  })
})

const FOLDER = graph(`goal="Ship it"; start -> call -> after -> exit
  call [shape=folder, dot_file="sub/$kind.dot", context.slot="$n", outputs="made.url, missing"]`)

// verifies: S-PIPE-10
test('a child has its own context, and gives back its outputs and its outcome', async () => {
  const seen: Record<string, Record<string, unknown>> = {}
  const found = await runPipeline(
    FOLDER,
    ({ node, scope, state }) => {
      seen[`${scope.id}:${node.id}`] = { ...state.context }
      if (node.id !== 'make') return { status: 'success' }
      const updates = { 'made.url': 'http://x', own: 1 }
      return { status: 'partial_success', preferred_label: 'ship', context_updates: updates, notes: 'Nearly.' }
    },
    {
      children: { 'sub/leaf.dot': graph('goal="$graph.goal: part $slot"; start -> make -> exit') },
      context: { 'graph.goal': 'Ship it', kind: 'leaf', n: '7', outcome: 'fail', preferred_label: 'old' },
    },
  )
  expect(seen['call@1.:make']).toMatchObject({ 'graph.goal': 'Ship it: part 7', slot: '7', kind: 'leaf' })
  expect(seen['call@1.:make']).not.toHaveProperty('preferred_label')
  const after = seen[':after'] as Record<string, unknown>
  expect(after).toMatchObject({ 'made.url': 'http://x', outcome: 'partial_success', preferred_label: 'ship' })
  expect(after).toMatchObject({ 'graph.goal': 'Ship it' })
  for (const key of ['own', 'slot', 'missing']) expect(after).not.toHaveProperty(key)
  expect(found.executed).toEqual([
    ':start',
    ':call',
    'call@1.:start',
    'call@1.:make',
    'call@1.:exit',
    ':after',
    ':exit',
  ])
})

test.each<[what: string, children: Record<string, string>, does: Does, reason: string]>([
  ['that is not there', {}, good, 'There is no pipeline "sub/leaf.dot".'],
  ['that is faulty', { 'sub/leaf.dot': 'digraph { a -> b }' }, good, 'sub/leaf.dot: There is no start node.'],
  [
    'that fails',
    { 'sub/leaf.dot': graph('start -> make -> exit') },
    () => ({ status: 'fail', failure_reason: 'Red.', context_updates: { 'made.url': 'x' } }),
    '"make" failed: Red.',
  ],
])('a child %s is a failed node, which edges can follow', async (_, children, does, reason) => {
  const source = FOLDER.replace('call [', 'call -> exit [condition="outcome=fail"]; call [')
  const found = await runPipeline(source, does, { children, context: { kind: 'leaf' } })
  expect(found.status).toBe('success')
  expect(found.last).toMatchObject({ status: 'fail', failure_reason: reason })
  expect(found.context).not.toHaveProperty('made.url')
})

// verifies: S-PIPE-12
test('a child that is found only when it runs does not run itself for ever', async () => {
  const self = graph('start -> call -> exit; call [shape=folder, dot_file="$me.dot"]')
  const found = await runPipeline(self, good, { children: { 'self.dot': self }, context: { me: 'self' } })
  expect(found).toMatchObject({ status: 'fail', reason: expect.stringContaining('at most 8 deep') as string })
  expect(found.executed.filter((one) => one.endsWith(':start'))).toHaveLength(8)
})

const MANAGER = (attributes: string) =>
  graph(`start -> boss -> exit; boss [shape=house, stack.child_dotfile="child.dot" ${attributes}]`)
const CHILD = { 'child.dot': graph('start -> one -> two -> exit') }

test('a manager ends as its child does', async () => {
  const fine = await runPipeline(MANAGER(', outputs="x"'), () => ({ status: 'success', context_updates: { x: 5 } }), {
    children: CHILD,
  })
  expect(fine).toMatchObject({ status: 'success', context: { x: 5, 'stack.child.status': 'completed' } })
  const red = await runPipeline(MANAGER(''), () => ({ status: 'fail', failure_reason: 'Red.' }), { children: CHILD })
  expect(red).toMatchObject({ status: 'fail', context: { 'stack.child.status': 'failed' } })
})

test('a manager ends its child where its condition holds, and where its cycles are used up', async () => {
  for (const [attributes, status, reason] of [
    ['manager.stop_condition="context.green=yes"', 'success', undefined],
    ['manager.max_cycles=3', 'fail', '"boss" failed: The child had not ended after 3 cycles of "boss".'],
  ]) {
    const ended: string[] = []
    const found = await runPipeline(
      MANAGER(`, manager.poll_interval="1ms", ${attributes ?? ''}`),
      async ({ node, signal }) => {
        if (node.id === 'one') return { status: 'success', context_updates: { green: 'yes' } }
        return await untilAborted(signal).finally(() => ended.push(node.id))
      },
      { children: CHILD },
    )
    expect(found).toMatchObject({ status, reason, context: { 'stack.child.status': 'stopped' } })
    expect(ended).toEqual(['two'])
  }
})

test('a manager without a child fails, and a stop ends manager and child', async () => {
  const alone = graph('start -> boss -> exit; boss [shape=house]')
  expect(await runPipeline(alone, good)).toMatchObject({ status: 'fail' })
  const stopping = new AbortController()
  const ended: string[] = []
  const running = runPipeline(
    MANAGER(''),
    async ({ node, signal }) => {
      stopping.abort(new Error('stopped'))
      return await untilAborted(signal).finally(() => ended.push(node.id))
    },
    { children: CHILD, signal: stopping.signal },
  )
  await expect(running).rejects.toThrow('stopped')
  expect(ended).toEqual(['one'])
})

// verifies: S-PIPE-11
test('dataflow: nodes get what those before gave, run side by side, and the last one is the result', async () => {
  const source = 'digraph { Plan [session=x]; Plan -> {Left Right} -> Join; Alone [session=x] }'
  const got: Record<string, string[]> = {}
  let running = 0
  let highest = 0
  const found = await runPipeline(source, async ({ node, inputs, state }) => {
    got[node.id] = inputs.map(({ node: { id }, output }) => `${id}: ${output}`)
    running += 1
    highest = Math.max(highest, running)
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
    running -= 1
    return {
      status: 'success',
      output: `by ${node.id}`,
      context_updates: {
        [node.id]: Object.keys(state.context)
          .filter((key) => /^[A-Z]/.test(key))
          .join(' '),
      },
    }
  })
  expect(got).toEqual({
    Plan: [],
    Alone: [],
    Left: ['Plan: by Plan'],
    Right: ['Plan: by Plan'],
    Join: ['Left: by Left', 'Right: by Right'],
  })
  expect(highest).toBe(2)
  expect(found).toMatchObject({ status: 'success', last: { output: 'by Join' } })
  expect(found.context).toMatchObject({ Left: 'Plan', Right: 'Plan', Join: 'Plan Left Right', Alone: '' })
})

test('dataflow: what does not depend on a failed node still runs', async () => {
  const source = 'digraph { a [session=x]; b [session=x]; constructor [session=x]; a -> c; b -> d }'
  const found = await runPipeline(source, ({ node }) =>
    node.id === 'a' ? { status: 'fail', failure_reason: 'Red.' } : { status: 'success', output: node.id },
  )
  expect(found).toMatchObject({ status: 'fail', reason: '"a" failed: Red.' })
  expect(found.executed.toSorted()).toEqual([':a', ':b', ':constructor', ':d'])
})

test('a run with pipelines in each other goes on from any line as if it had not been cut', async () => {
  const mostly = fc.constantFrom<Status>('success', 'success', 'success', 'fail', 'partial_success')
  await fc.assert(
    fc.asyncProperty(fc.array(mostly, { minLength: 1, maxLength: 7 }), fc.nat(), async (statuses, cut) => {
      const run = (file: string) =>
        runPipeline(NESTED['main.dot'] as string, acting(statuses), { file, children: NESTED })
      const file = logFile()
      const { executed, steps, ...whole } = await run(file)
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
      const kept = lines.slice(0, cut % (lines.length + 1))
      const other = logFile()
      writeFileSync(other, kept.map((line) => `${line}\n`).join(''))
      const again = await run(other)
      expect(again).toMatchObject(whole)
      expect(again.executed.length).toBeLessThanOrEqual(executed.length)
      const done = (list: readonly string[]) =>
        list.map((one) => one.replace('<', '')).filter((one) => !one.includes('/'))
      // What was read and what was executed are together the steps of the whole run.
      expect(done(again.steps).filter((one) => one.startsWith(':'))).toEqual(
        done(steps).filter((one) => one.startsWith(':')),
      )
    }),
    { numRuns: 40 },
  )
})

const killedProgram = new URL('../support/pipeline-program.ts', import.meta.url).pathname

function runProgram(file: string, kill: number) {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [killedProgram, file, String(kill)], {
    encoding: 'utf8',
  })
  return { status, signal, stdout, stderr }
}

// verifies: S-PIPE-09
test('a run that is killed goes on to the same end, and runs nothing again that had ended', () => {
  const file = logFile()
  const { acted: total, ...whole } = JSON.parse(runProgram(file, 0).stdout) as Ran & { acted: number }
  expect(total).toBe(13)
  const isWhole = process.env['RESOLVE_EVERY_KILL'] === '1'
  const points = isWhole ? Array.from({ length: total }, (_, n) => n + 1) : [1, Math.ceil(total / 2), total]
  for (const point of points) {
    const other = logFile()
    expect(runProgram(other, point)).toMatchObject({ signal: 'SIGKILL' })
    const ended = readFileSync(other, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { scope: string; node: string })
    const { status, stderr, stdout } = runProgram(other, 0)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    const { executed, acted, ...again } = JSON.parse(stdout) as Ran & { acted: number }
    expect(acted).toBeLessThanOrEqual(total)
    expect({ ...again, executed: [] }).toEqual({ ...whole, executed: [] })
    expect(executed.length).toBeLessThan(whole.executed.length)
    // A scope names one walk, and in these walks no node is visited twice but by a jump to a goal gate.
    for (const { scope, node } of ended) if (node !== 'w') expect(executed).not.toContain(`${scope}:${node}`)
  }
}, 120_000)

test('names stay the same for the same use', async () => {
  const { OutcomeLog } = await import('../../src/pipeline/walks/outcome-log.ts')
  const file = logFile()
  const first = new OutcomeLog(file)
  expect([first.nameFor('x', 'ask'), first.nameFor('y', 'ask'), first.nameFor('x', 'ask')]).toEqual([
    'ask',
    'ask-2',
    'ask',
  ])
  first.close()
  const again = new OutcomeLog(file)
  expect([again.nameFor('z', 'ask'), again.nameFor('y', 'ask'), again.nameFor('z', 'other')]).toEqual([
    'ask-3',
    'ask-2',
    'ask-3',
  ])
  again.close()
})
