/** Formats command lines that users can run: every word is quoted for a POSIX shell. Pure. */
import { quoteWord } from '../primitives/quote-word.ts'

/** The command line without flags for a server: for the page, and as the base of the terminal's `commandLine`. */
export function plainCommand(...words: readonly string[]): string {
  return ['resolve', ...words.map(quoteWord)].join(' ')
}
