/** `resolve __complete -- words…`, which the scripts of `resolve completion` call: a suggestion a line. It never fails and never lingers. */
import { within } from '../core/primitives/within.ts'
import { suggest } from '../terminal/help/completion.ts'
import { COMMANDS, commandWords, NOUNS, SHORT_FORMS } from './index.ts'

/** A shell waits for it with the cursor blinking. */
const LIMIT_MS = 1_500

/** `words` begin after the program's name, the last of them being typed; `--` may stand before them. */
export async function printCompletions(words: readonly string[]): Promise<number> {
  const typed = words[0] === '--' ? words.slice(1) : words
  const table = { commands: COMMANDS, nouns: NOUNS, shortForms: SHORT_FORMS, commandWords }
  try {
    const lines = (await within(LIMIT_MS, suggest(typed, table))) ?? []
    process.stdout.write(lines.map((line) => `${line}\n`).join(''))
  } catch {
    // A suggestion that can't be made is none; the command itself tells what is wrong.
  }
  return 0
}
