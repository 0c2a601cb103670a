/** Formats command lines that users can run: every word is quoted for a POSIX shell. Pure. */
import { quoteWord } from '../primitives/quote-word.ts'

/** Without the flags of the terminal that prints it, for a person who knows which machine it is for. */
export function plainCommand(...words: readonly string[]): string {
  return ['resolve', ...words.map(quoteWord)].join(' ')
}
