/** Texts of checked software in a sentence: short, on one line, without control characters. Pure. */

const SHOWN_MAX_CHARS = 200

/** In quotation marks. */
export function shown(text: string): string {
  return `"${cut(text)}"`
}

export function cut(text: string, maxChars = SHOWN_MAX_CHARS): string {
  const plain = text
    .slice(0, maxChars + 1)
    .toWellFormed()
    .replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
  return plain.length > maxChars ? `${plain.slice(0, maxChars).toWellFormed()}…` : plain
}
