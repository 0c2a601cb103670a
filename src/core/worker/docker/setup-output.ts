/** Reads the output of a setup container: which step runs, how it ended, and what it printed. {@link file://./setup-stage.ts} follows one. */
import { SETUP_LINE_MAX_CHARS, SETUP_OUTPUT_KEEP_BYTES } from '../../limits.ts'

const MARK = '\u001eresolve-setup'

/** Runs each argument in its own shell, with a marker line on stdout before and after; stops at the first failure. */
export const LAUNCHER = `export DEBIAN_FRONTEND=noninteractive
n=0
for step do
  n=$((n + 1))
  printf '\\036resolve-setup begin %s\\n' "$n"
  /bin/sh -c "$step" </dev/null 2>&1
  code=$?
  printf '\\n\\036resolve-setup end %s %s\\n' "$n" "$code"
  [ "$code" -eq 0 ] || exit "$code"
done`

/** A step began, or ended with an exit code. Steps are counted from 1. */
export interface StepMark {
  step: number
  exitCode: number | null
}

export class SetupOutput {
  readonly #onMark: (mark: StepMark) => void
  #rest = ''
  #text = ''
  #step = 0
  #exitCode: number | null = null

  constructor(onMark: (mark: StepMark) => void) {
    this.#onMark = onMark
  }

  /** The step that runs or ran last; 0 before the first. */
  get step(): number {
    return this.#step
  }

  /** How that step ended; null while it runs. */
  get exitCode(): number | null {
    return this.#exitCode
  }

  /** The last line with text that the step printed. */
  get lastLine(): string {
    const lines = `${this.#text}${this.#rest}`.split(/[\r\n]+/)
    return (lines.findLast((line) => line.trim() !== '') ?? '').trim().slice(0, SETUP_LINE_MAX_CHARS)
  }

  /** The last lines that the step printed. */
  get tail(): string {
    return `${this.#text}${this.#rest}`.trim().split('\n').slice(-10).join('\n')
  }

  take(text: string): void {
    const lines = (this.#rest + text).split('\n')
    // An unfinished line cannot be a marker.
    this.#rest = (lines.pop() ?? '').slice(-SETUP_OUTPUT_KEEP_BYTES)
    for (const line of lines) {
      if (line.startsWith(MARK)) this.#note(line.slice(MARK.length).trim().split(' '))
      else this.#text = `${this.#text}${line}\n`.slice(-SETUP_OUTPUT_KEEP_BYTES)
    }
  }

  #note([what, number, code]: string[]): void {
    const step = Number(number)
    // A command can print such a line too: steps only count upwards.
    if (!Number.isSafeInteger(step) || step < this.#step || step > this.#step + 1) return
    if (what === 'begin') {
      this.#text = ''
      this.#exitCode = null
    } else this.#exitCode = Number.isSafeInteger(Number(code)) ? Number(code) : 1
    this.#step = step
    this.#onMark({ step, exitCode: this.#exitCode })
  }
}
