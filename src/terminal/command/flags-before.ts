/** The global flags that may precede the command. For main.ts, which finds the command behind them, and for completion. */

const ALONE = ['--json', '--jsonl', '-q', '--quiet', '--no-input', '--debug']
const WITH_VALUE = ['--color', '--server', '--context']

export const FLAGS_BEFORE: readonly string[] = [...ALONE.filter((flag) => flag.startsWith('--')), ...WITH_VALUE]

/** The global flags with their values, and the words after them. */
export function splitFlagsBefore(words: readonly string[]): { before: string[]; after: string[] } {
  let at = 0
  for (;;) {
    const word = words[at]
    if (word !== undefined && WITH_VALUE.includes(word)) at += 2
    else if (word !== undefined && (ALONE.includes(word) || WITH_VALUE.includes(word.replace(/=[\s\S]*$/, '')))) at += 1
    else return { before: words.slice(0, at), after: words.slice(at) }
  }
}
