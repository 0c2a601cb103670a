/** Formats commands that users can run: every word is quoted for a POSIX shell. */
import { quoteWord } from '../../core/primitives/quote-word.ts'
import { plainCommand } from '../../core/view/command-line.ts'

let carried: readonly string[] = []

/** Sets the flags that all printed commands get, so that they use the same server. Called once, by the base command. */
export function carryFlags(flags: readonly string[]): void {
  carried = flags
}

export function commandLine(...words: readonly string[]): string {
  return plainCommand(...words, ...carried)
}

/** Commands that work on this machine only and refuse --server. */
const ONE_MACHINE =
  /^(?:-|help\b|token\b|worker\b|git\b|serve\b|doctor\b|completion\b|context\b|login\b|logout\b|resolver update\b|spec\b|check plan\b|pipeline (?!run\b))/

/**
 * Completes the commands in a hint ("resolve …", in quotes): adds the carried flags, and the id if the instance is known. Hints
 * come from the error catalogue, or from a server, and contain neither.
 */
export function wholeCommands(hint: string, id: string | undefined): string {
  return hint.replace(/"resolve ([^"]+)"/g, (_, given: string) => {
    const words = id === undefined ? given : given.replaceAll('<id>', id).replace(/^instance explain$/, `$& ${id}`)
    const flags = ONE_MACHINE.test(words) ? [] : carried.map(quoteWord)
    return `"${['resolve', words, ...flags].join(' ')}"`
  })
}
