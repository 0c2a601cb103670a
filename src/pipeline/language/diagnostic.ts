/** What is wrong, or odd, in a pipeline: one shape for the parser, the rules and the advice (docs/pipelines.md, Checks). */

export type Severity = 'error' | 'warning' | 'info'

export interface Diagnostic {
  rule: string
  severity: Severity
  message: string
  /** Both count from 1. Absent where the whole pipeline is meant. */
  line?: number
  column?: number
  node_id?: string
  edge?: [from: string, to: string]
  /** What to write instead. */
  fix?: string
}

/** Where something stands in the source, in UTF-16 units from its start. */
export type Offset = number

/** Turns offsets into lines and columns. */
export class Lines {
  readonly #starts: number[] = [0]

  constructor(source: string) {
    for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) this.#starts.push(at + 1)
  }

  of(offset: Offset): { line: number; column: number } {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] as number) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (this.#starts[low] as number) + 1 }
  }
}
