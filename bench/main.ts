/**
 * `npm run bench [-- <part> …] [--save]`: measures what the platform costs, each figure beside the bare thing it could not beat. Prints a
 * table, writes coverage/bench.json, and compares with bench/results.json; `--save` makes the result the one to compare with.
 * Ends with 1 where a part broke or a figure is worse by more than noise; a goal that is missed is only told.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { compare, type Figure, type Sample, toFigure } from './figure.ts'
import { PARTS } from './parts.ts'
import type { Outcome } from './round.ts'

interface Result {
  at: string
  node: string
  machine: string
  /** Of the last minute, before and after. */
  load: [number, number]
  figures: Figure[]
  /** Parts that could not be measured, and why. */
  left_out: { part: string; reason: string }[]
}

const HERE = import.meta.dirname
const COMMITTED = join(HERE, 'results.json')

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { save: { type: 'boolean' } } })
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
    const outcome = await measure(name)
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
  const committed = readResult(COMMITTED)
  print(result, committed)
  write(join(HERE, '..', 'coverage', 'bench.json'), result)
  // Parts that were not asked for keep what was saved of them.
  const kept = (committed?.figures ?? []).filter(({ part }) => !figures.some((figure) => figure.part === part))
  if (values.save) write(COMMITTED, { ...result, figures: [...figures, ...kept] })
}

type Measured = { figures: Figure[] } | { reason: string }

async function measure(name: string): Promise<Measured> {
  const part = PARTS[name] as (typeof PARTS)[string]
  const rounds: Sample[][] = []
  for (let n = 1; n <= part.rounds; n += 1) {
    process.stderr.write(`${name}: round ${n} of ${part.rounds}\n`)
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

function print({ figures, left_out: leftOut, load, machine, node }: Result, committed: Result | undefined): void {
  const rows = figures.map((figure) => {
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
