/** Variables in prompts and commands (docs/pipelines.md, Variables): `$goal`, `$key`, `${key}`, with dots; `$$` is a dollar. */

/** Of a text with its values: those that would make it longer are left out. No model reads more, and no system starts a longer command. */
export const EXPANDED_MAX_CHARS = 8 * 1024 * 1024
/** Of a name of a variable. */
const NAME_MAX_CHARS = 256

/** One pass: what a value brings in is not expanded again. A name that has no value stays as it is written. */
export function expand(text: string, lookUp: (key: string) => string | undefined): string {
  let length = text.length
  return text.replace(VARIABLE, (whole, braced: string | undefined, bare: string | undefined) => {
    const value = filledIn(whole, braced, bare, lookUp)
    length += value.length - whole.length
    return length > EXPANDED_MAX_CHARS ? '' : value
  })
}

function filledIn(
  whole: string,
  braced: string | undefined,
  bare: string | undefined,
  lookUp: (key: string) => string | undefined,
): string {
  if (whole === '$$') return '$'
  if (whole.length > NAME_MAX_CHARS) return whole
  if (braced !== undefined) return lookUp(braced) ?? whole
  // `$a.b` is the key `a.b`, or the key `a` and the text `.b`.
  for (let name = bare as string; ; name = name.slice(0, name.lastIndexOf('.'))) {
    const value = lookUp(name)
    if (value !== undefined) return value + (bare as string).slice(name.length)
    if (!name.includes('.')) return whole
  }
}

const VARIABLE = /\$\$|\$\{([\p{L}_][\p{L}\p{N}_.-]*)\}|\$([\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*)/gu

/** The names in a text, as they are written. */
export function variablesIn(text: string): string[] {
  return [...text.matchAll(VARIABLE)].flatMap(([, braced, bare]) => braced ?? bare ?? [])
}
