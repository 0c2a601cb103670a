/**
 * Pipelines: what a node costs above the same command in a shell, with its checkpoint, files and events; what a hundred branches cost at once; and how
 * long a graph of 2,000 nodes takes to be read and checked.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkPipeline } from '../src/pipeline/check/check.ts'
import { root } from '../test/house/source-files.ts'
import { inTurn, medianOf, type Part, type Sample } from './figure.ts'
import { sized } from './quick.ts'

/** A run executes at most 1,000 nodes, the start and the exit among them. */
const NODES = sized(998, 20)
const BRANCHES = sized(100, 8)
const GRAPH_NODES = sized(2_000, 200)
const PAIRS = 1
const CHECKS = 5

const NODE = 'a node of 1,000 in a chain, with its checkpoint'
const FAN = '100 branches of a second, all at once'
const CHECK = 'a graph of 2,000 nodes, read and checked'

export const pipelines: Part = {
  figures: [
    { name: NODE, against: 'sh -c in a loop of a shell', goal: { most: 5 }, isDifference: true, unit: 'ms' },
    { name: FAN, against: 'the same commands of a shell', goal: { most: 1_000 }, isDifference: true, unit: 'ms' },
    { name: CHECK, against: '–', goal: { most: 100 }, unit: 'ms' },
  ],
  rounds: 3,
  round,
}

async function round(): Promise<Sample[]> {
  const home = mkdtempSync(join(tmpdir(), 'resolve-bench-'))
  try {
    const tool = '[shape=parallelogram, tool_command=true]'
    const chain = ids('t', NODES)
    const line = `start -> ${chain.join(' -> ')} -> exit; ${chain.map((id) => `${id} ${tool}`).join('\n')}`
    const branches = ids('b', BRANCHES)
    const fan = `start -> fan -> {${branches.join(' ')}} -> exit; fan [shape=component, max_parallel=${BRANCHES}]
      ${branches.map((id) => `${id} [shape=parallelogram, tool_command="sleep 1"]`).join('\n')}`
    const shell = (script: string) => took(() => spawnSync('sh', ['-c', script], { stdio: 'ignore' }))
    return [
      ...(await inTurn(
        NODE,
        PAIRS,
        () => ran(home, line) / NODES,
        () => shell(`i=0; while [ $i -lt ${NODES} ]; do sh -c true; i=$((i+1)); done`) / NODES,
      )),
      ...(await inTurn(
        FAN,
        PAIRS,
        () => ran(home, fan),
        () => shell(`i=0; while [ $i -lt ${BRANCHES} ]; do sh -c 'sleep 1' & i=$((i+1)); done; wait`),
      )),
      { figure: CHECK, value: checked() },
    ]
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

function ids(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}${n}`)
}

function graphOf(body: string): string {
  return `digraph { start [shape=Mdiamond] exit [shape=Msquare] ${body} }`
}

/** Milliseconds of the pipeline itself, as its last event tells them. */
function ran(home: string, body: string): number {
  const input = join(home, 'input.json')
  writeFileSync(input, JSON.stringify({ graph: graphOf(body) }))
  const env = { ...process.env, RESOLVE_HOME: home, XDG_CACHE_HOME: join(home, 'cache'), NO_COLOR: '1' }
  const args = ['instance', 'run', 'pipeline', '--executor', 'local', '--input-file', input, '--jsonl']
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'bin', 'run.js'), ...args], {
    env,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  })
  const events = stdout.split('\n').filter((line) => line.includes('"pipeline.complete"'))
  const last = events.map((line) => JSON.parse(line) as { data?: { duration_ms?: number } }).at(-1)
  if (status !== 0 || last?.data?.duration_ms === undefined)
    throw new Error(`The pipeline ended with ${status}: ${stderr || stdout.slice(-2_000)}`)
  return last.data.duration_ms
}

/** The first one compiles the code. */
function checked(): number {
  const nodes = ids('n', GRAPH_NODES - 2)
  const source = graphOf(`start -> ${nodes.join(' -> ')} -> exit
    ${nodes.map((id, n) => `${id} [shape=parallelogram, tool_command="echo ${n}"]`).join('\n')}
    ${nodes
      .slice(10)
      .map((id, n) => `${id} -> n${n} [condition="outcome=fail && context.round=${n}", label="again"]`)
      .join('\n')}`)
  return medianOf(
    Array.from({ length: CHECKS + 1 }, () =>
      took(() => {
        const { isRunnable, graph } = checkPipeline(source)
        if (!isRunnable || graph.nodes.size !== GRAPH_NODES) throw new Error('The graph is not read as it is meant.')
      }),
    ).slice(1),
  )
}

function took(work: () => unknown): number {
  const begin = performance.now()
  work()
  return performance.now() - begin
}
