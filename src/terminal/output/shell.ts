/** Commands that are printed to be run: every word quoted as a POSIX shell needs it. */
import { quoteWord } from '../../core/primitives/quote-word.ts'
import { plainCommand } from '../../core/view/command-line.ts'

let carried: readonly string[] = []

/** Flags that every command printed from now on has, so that it means the same server. Set once, by the base command. */
export function carryFlags(flags: readonly string[]): void {
  carried = flags
}

export function commandLine(...words: readonly string[]): string {
  return plainCommand(...words, ...carried)
}

/** What works on one machine alone, and is given over there. */
const ONE_MACHINE = /^(?:-|help\b|token\b|worker\b|serve\b|doctor\b|completion\b|resolver (?:add|update|remove)\b)/

/**
 * A hint with the commands in it ("resolve …", in quotes) as they have to be given here: with the flags that are carried, and with
 * the id where the instance is known. A hint is of the catalogue, or of a server's, and knows neither.
 */
export function wholeCommands(hint: string, id: string | undefined): string {
  return hint.replace(/"resolve ([^"]+)"/g, (_, given: string) => {
    const words = id === undefined ? given : given.replaceAll('<id>', id).replace(/^instance explain$/, `$& ${id}`)
    const flags = ONE_MACHINE.test(words) ? [] : carried.map(quoteWord)
    return `"${['resolve', words, ...flags].join(' ')}"`
  })
}
