/** Decides for each stream whether to use colour: stdout may be a pipe while stderr is a terminal. */

export type ColorChoice = 'auto' | 'always' | 'never'

/** The part of a stream that the decision needs. */
interface Stream {
  isTTY?: boolean
}

/**
 * In order of precedence: `--color`; NO_COLOR (any non-empty value: no colour); FORCE_COLOR (0 or false: no colour; any other
 * value: colour, also in a pipe); TERM=dumb (no colour); whether the stream is a terminal.
 */
export function isColoured(choice: ColorChoice, stream: Stream, env: NodeJS.ProcessEnv = process.env): boolean {
  if (choice !== 'auto') return choice === 'always'
  if (isSet(env['NO_COLOR'])) return false
  const forced = env['FORCE_COLOR']
  if (isSet(forced)) return forced !== '0' && forced !== 'false'
  return stream.isTTY === true && env['TERM'] !== 'dumb'
}

/**
 * Loads modules that use Ink. Ink decides about colour once, at import, from the environment and stdout; FORCE_COLOR makes it use
 * the decision for stderr. Every import of Ink goes through this function; the first call decides.
 */
export async function withInkColour<T>(coloured: boolean, load: () => Promise<T>): Promise<T> {
  const before = process.env['FORCE_COLOR']
  process.env['FORCE_COLOR'] = coloured ? '1' : '0'
  try {
    return await load()
  } finally {
    if (before === undefined) delete process.env['FORCE_COLOR']
    else process.env['FORCE_COLOR'] = before
  }
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}
