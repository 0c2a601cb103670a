/** Commands that are printed to be run: every word quoted as a POSIX shell needs it. */

export function quoteWord(word: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word
  return `'${word.replaceAll("'", `'\\''`)}'`
}

export function commandLine(...words: readonly string[]): string {
  return ['resolve', ...words.map(quoteWord)].join(' ')
}
