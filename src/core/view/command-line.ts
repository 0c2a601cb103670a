/** Command lines of `resolve` that are shown to be run. Pure. */
import { quoteWord } from '../primitives/quote-word.ts'

/** Without the flags of the terminal that prints it, for a person who knows which machine it is for. */
export function plainCommand(...words: readonly string[]): string {
  return ['resolve', ...words.map(quoteWord)].join(' ')
}
