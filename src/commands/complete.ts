/** `resolve __complete -- words…`: prints one suggestion a line for the scripts of `resolve completion`. It always exits with 0, within a time limit. */
import { within } from '../core/primitives/within.ts'
import { suggest } from '../terminal/help/completion.ts'
import { COMMANDS, commandWords, NOUNS, SHORT_FORMS } from './index.ts'

/** The shell blocks until this command ends. */
const LIMIT_MS = 1_500

/** `words` are the words after the program's name, with an optional leading `--`; the last one is the word being typed. */
export async function printCompletions(words: readonly string[]): Promise<number> {
  const typed = words[0] === '--' ? words.slice(1) : words
  const table = { commands: COMMANDS, nouns: NOUNS, shortForms: SHORT_FORMS, commandWords }
  try {
    const lines = (await within(LIMIT_MS, suggest(typed, table))) ?? []
    process.stdout.write(lines.map((line) => `${line}\n`).join(''))
  } catch {
    // An error means no suggestions; the user sees it when running the command itself.
  }
  return 0
}
