/** Reads lines from the terminal, some of them without echo: for secret fields of the plain form and for `secret set`. */
import { createInterface, type Interface } from 'node:readline/promises'
import { Writable } from 'node:stream'

export interface QuietLines {
  lines: Interface
  /** Asks for one line; what is typed is not shown. */
  askQuietly(question: string, signal: AbortSignal): Promise<string>
}

/** The caller closes `lines`. Without a history: an earlier answer must not come back with the arrow keys. */
export function openQuietLines(): QuietLines {
  let isQuiet = false
  const output = new Writable({
    write(chunk, _, done) {
      if (!isQuiet) process.stderr.write(chunk)
      done()
    },
  })
  Object.defineProperty(output, 'columns', { get: () => process.stderr.columns })
  const terminal = process.stdin.isTTY === true && process.stderr.isTTY === true
  const lines = createInterface({ input: process.stdin, output, terminal, historySize: 0 })
  return {
    lines,
    async askQuietly(question, signal) {
      process.stderr.write(question)
      isQuiet = true
      try {
        return await lines.question('', { signal })
      } finally {
        isQuiet = false
        process.stderr.write('\n')
      }
    },
  }
}

/** One value without echo; undefined if the user cancels (Ctrl-C, Ctrl-D). */
export async function promptSecret(question: string): Promise<string | undefined> {
  const { lines, askQuietly } = openQuietLines()
  const givenUp = new AbortController()
  lines.on('SIGINT', () => givenUp.abort())
  lines.on('close', () => givenUp.abort())
  try {
    return await askQuietly(`${question}: `, givenUp.signal)
  } catch (error) {
    if (givenUp.signal.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}
