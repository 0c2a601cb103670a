/**
 * `npm run bench [-- <part> …] [--save | --quick]`: measures what the platform costs. Each figure is measured beside a bare
 * counterpart, its lower bound. Prints a table, writes coverage/bench.json, and compares with bench/results.json; `--save`
 * makes this result the one to compare with. `--quick` runs every part once with small sizes, to see that it works: it judges,
 * compares and saves nothing. Exits with 1 where a part failed or a figure is worse by more than noise; a missed goal is only
 * reported.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { compare, type Figure, type Part, type Sample, toFigure } from './figure.ts'
import type { Outcome } from './round.ts'

interface Result {
  at: string
  node: string
  machine: string
  /** Load of the last minute, before and after. */
  load: [number, number]
  figures: Figure[]
  /** Parts that could not be measured, and why. */
  left_out: { part: string; reason: string }[]
}

const HERE = import.meta.dirname
const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  save: { type: 'boolean' },
  quick: { type: 'boolean' },
} as const
const COMMITTED = join(HERE, 'results.json')

const USAGE = `npm run bench [-- <part> ...] [--quick | --save]
  --quick   each part once and small, to see that it works: nothing is judged, compared or saved
  --save    make the result the one to compare with (bench/results.json)
Parts and figures: docs/performance.md.`

/** undefined where nothing is left to do: help was requested, or an option is invalid. */
function readArguments() {
  try {
    const given = parseArgs({ allowPositionals: true, options: OPTIONS })
    if (given.values.help !== true) return given
    console.log(USAGE)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`)
    process.exitCode = 2
  }
  return undefined
}

async function main(): Promise<void> {
  const given = readArguments()
  if (given === undefined) return
  const { values, positionals } = given
  if (values.save && values.quick) {
    console.error('What is measured quickly is nothing to compare with: leave out --save or --quick.')
    process.exitCode = 2
    return
  }
  const isQuick = values.quick === true
  // The parts read it, here and in the measuring processes. (quick.ts)
  if (isQuick) process.env['RESOLVE_BENCH_QUICK'] = '1'
  const { PARTS } = await import('./parts.ts')
  const unknown = positionals.filter((name) => !Object.hasOwn(PARTS, name))
  if (unknown.length > 0) {
    console.error(`No part of the bench is called ${unknown.join(', ')}; there are: ${Object.keys(PARTS).join(', ')}.`)
    process.exitCode = 2
    return
  }
  const before = loadavg()[0] ?? 0
  const figures: Figure[] = []
  const leftOut: Result['left_out'] = []
  for (const name of positionals.length > 0 ? positionals : Object.keys(PARTS)) {
    const outcome = await measure(name, PARTS[name] as Part, isQuick)
    if ('reason' in outcome) leftOut.push({ part: name, reason: outcome.reason })
    else figures.push(...outcome.figures)
  }
  const result: Result = {
    at: new Date().toISOString(),
    node: process.version,
    machine: `${availableParallelism()} × ${cpus()[0]?.model.trim()}`,
    load: [before, loadavg()[0] ?? 0],
    figures,
    left_out: leftOut,
  }
  if (isQuick) {
    printQuick(result)
    return
  }
  const committed = readResult(COMMITTED)
  print(result, committed)
  write(join(HERE, '..', 'coverage', 'bench.json'), result)
  // Parts that did not run keep their saved figures.
  const kept = (committed?.figures ?? []).filter(({ part }) => !figures.some((figure) => figure.part === part))
  if (values.save) write(COMMITTED, { ...result, figures: [...figures, ...kept] })
}

type Measured = { figures: Figure[] } | { reason: string }

async function measure(name: string, part: Part, isQuick: boolean): Promise<Measured> {
  const rounds: Sample[][] = []
  const times = isQuick ? 1 : part.rounds
  for (let n = 1; n <= times; n += 1) {
    process.stderr.write(`${name}: round ${n} of ${times}\n`)
    const child = fork(join(HERE, 'round.ts'), [name], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const ended = once(child, 'exit')
    const said = once(child, 'message') as Promise<[Outcome]>
    const outcome = await Promise.race([said.then(([message]) => message), ended.then(() => undefined)])
    await ended
    if (outcome === undefined) {
      process.exitCode = 1
      return { reason: 'it broke; see above' }
    }
    if ('unavailable' in outcome) return { reason: outcome.unavailable }
    rounds.push(outcome.samples)
  }
  return { figures: part.figures.map((spec) => toFigure(name, spec, rounds)) }
}

function print(result: Result, committed: Result | undefined): void {
  const rows = result.figures.map((figure) => {
    const before = committed?.figures.find(({ part, name }) => part === figure.part && name === figure.name)
    const change = compare(figure, before)
    if (change === 'worse') process.exitCode = 1
    const [sign, bound] = 'most' in figure.goal ? ['≤', figure.goal.most] : ['≥', figure.goal.least]
    const unit = figure.unit === undefined ? '' : ` ${figure.unit}`
    return {
      part: figure.part,
      figure: figure.name,
      against: figure.against,
      median: `${figure.median}${unit}`,
      spread: `${figure.least} – ${figure.most}`,
      goal: `${sign} ${bound}${unit}`,
      met: figure.isMet ? 'yes' : 'no',
      'last saved': before === undefined ? change : `${before.median} (${change})`,
    }
  })
  console.table(rows)
  printCircumstances(result)
}

/** The measured figures, without a verdict. */
function printQuick(result: Result): void {
  const rows = result.figures.map(({ part, name, against, median, unit }) => {
    return { part, figure: name, against, once: `${median}${unit === undefined ? '' : ` ${unit}`}` }
  })
  console.table(rows)
  console.log('Run small: the names of figures tell the full sizes.')
  printCircumstances(result)
}

function printCircumstances({ left_out: leftOut, load, machine, node }: Result): void {
  for (const { part, reason } of leftOut) console.log(`Left out: ${part}, for ${reason}.`)
  console.log(`Node ${node}, ${machine}, load ${load.map((value) => value.toFixed(1)).join(' before and ')} after.`)
}

function readResult(path: string): Result | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Result) : undefined
}

function write(path: string, result: Result): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`)
}

await main()
