/** Commands that are shown to be run: every word quoted as a POSIX shell needs it. Pure. */

export function quoteWord(word: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)) return word
  return `'${word.replaceAll("'", `'\\''`)}'`
}

/** As it stands, for a person who knows where it is meant to run. */
export function plainCommand(...words: readonly string[]): string {
  return ['resolve', ...words.map(quoteWord)].join(' ')
}
