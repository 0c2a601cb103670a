/** Commands that are printed to be run: every word quoted as a POSIX shell needs it. */

export function quoteWord(word: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word
  return `'${word.replaceAll("'", `'\\''`)}'`
}

let carried: readonly string[] = []

/** Flags that every command printed from now on has, so that it means the same server. Set once, by the base command. */
export function carryFlags(flags: readonly string[]): void {
  carried = flags
}

export function commandLine(...words: readonly string[]): string {
  return ['resolve', ...[...words, ...carried].map(quoteWord)].join(' ')
}
