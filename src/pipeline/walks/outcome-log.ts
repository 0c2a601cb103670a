/**
 * The checkpoint of a run: a file to which each node that ended adds a line (docs/pipelines.md, A run). The executor writes it, and a run that
 * goes on reads it once.
 */
import { closeSync, fdatasyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Outcome } from '../engine/outcome.ts'

export interface OutcomeLine {
  scope: string
  node: string
  outcome: Outcome
}

/** A name that was taken, and for what: it stays the same when the run goes on. */
interface NameLine {
  name: string
  for: string
  /** When it was taken: ms since 1970. Absent in the log of an earlier version. */
  at?: number
}

export class OutcomeLog {
  readonly #file: number
  readonly #all: OutcomeLine[] = []
  readonly #lines = new Map<string, (OutcomeLine & { place: number })[]>()
  readonly #names = new Map<string, string>()
  readonly #taken = new Set<string>()
  readonly #takenAt = new Map<string, number>()

  /** Reads what is there. The beginning of a line that a killed process wrote is cut off. */
  constructor(path: string) {
    this.#file = openSync(path, 'a+', 0o644)
    const bytes = readFileSync(this.#file)
    let end = 0
    for (let next = bytes.indexOf(10); next !== -1; next = bytes.indexOf(10, end)) {
      const line = parsed(bytes.subarray(end, next).toString())
      if (line === undefined) break
      this.#take(line)
      end = next + 1
    }
    if (end < bytes.length) ftruncateSync(this.#file, end)
  }

  /** Of a walk, in their order. */
  of(scope: string): readonly (OutcomeLine & { /** Among the lines of all walks. */ place: number })[] {
    return this.#lines.get(scope) ?? []
  }

  /** Nodes that ended, in all walks and in their order. */
  get all(): readonly OutcomeLine[] {
    return this.#all
  }

  get size(): number {
    return this.#all.length
  }

  /** A killed process loses nothing that was appended; a machine that loses its power, what was not `isDurable`. Throws the system's error. */
  append(line: OutcomeLine, isDurable: boolean): void {
    this.#write(line)
    if (isDurable) fdatasyncSync(this.#file)
  }

  /** `wanted`, or `wanted-2` and so on where another asked for it before. The same for the same `use`, also after a pause. */
  nameFor(use: string, wanted: string): string {
    const known = this.#names.get(use)
    if (known !== undefined) return known
    let name = wanted
    for (let n = 2; this.#taken.has(name); n += 1) name = `${wanted}-${n}`
    this.#write({ name, for: use, at: Date.now() })
    return name
  }

  /** When a name was asked for first, also before a pause: ms since 1970; undefined where that is not known. */
  takenAt(use: string): number | undefined {
    return this.#takenAt.get(use)
  }

  /** Whether a name was asked for, also before a pause. */
  knows(use: string): boolean {
    return this.#names.has(use)
  }

  /** In the order in which they were asked for. */
  names(): readonly string[] {
    return [...this.#names.values()]
  }

  close(): void {
    closeSync(this.#file)
  }

  #write(line: OutcomeLine | NameLine): void {
    writeSync(this.#file, `${JSON.stringify(line)}\n`)
    this.#take(line)
  }

  #take(line: OutcomeLine | NameLine): void {
    if ('name' in line) {
      this.#names.set(line.for, line.name)
      this.#taken.add(line.name)
      if (line.at !== undefined) this.#takenAt.set(line.for, line.at)
      return
    }
    const lines = this.#lines.get(line.scope) ?? []
    lines.push({ ...line, place: this.#all.length })
    this.#lines.set(line.scope, lines)
    this.#all.push(line)
  }
}

function parsed(text: string): OutcomeLine | NameLine | undefined {
  try {
    const line = JSON.parse(text) as Partial<OutcomeLine & NameLine> | null
    if (typeof line?.name === 'string' && typeof line.for === 'string')
      return { name: line.name, for: line.for, ...(typeof line.at === 'number' ? { at: line.at } : {}) }
    if (typeof line?.scope !== 'string' || typeof line.node !== 'string') return undefined
    return typeof line.outcome?.status === 'string' ? (line as OutcomeLine) : undefined
  } catch {
    return undefined
  }
}
