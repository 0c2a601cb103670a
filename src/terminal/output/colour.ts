/** Whether a stream is coloured: each one judged by itself, since stdout may be a pipe while stderr is the terminal. */

export type ColorChoice = 'auto' | 'always' | 'never'

/** What is asked of a stream: whether a terminal is behind it. */
interface Stream {
  isTTY?: boolean
}

/**
 * `--color` wins, then NO_COLOR (any value but an empty one: none), FORCE_COLOR (0 or false: none; any other value: also in a
 * pipe), TERM=dumb, and at last whether it is a terminal.
 */
export function isColoured(choice: ColorChoice, stream: Stream, env: NodeJS.ProcessEnv = process.env): boolean {
  if (choice !== 'auto') return choice === 'always'
  if (isSet(env['NO_COLOR'])) return false
  const forced = env['FORCE_COLOR']
  if (isSet(forced)) return forced !== '0' && forced !== 'false'
  return stream.isTTY === true && env['TERM'] !== 'dumb'
}

/**
 * Loads what draws with Ink. Ink asks the environment for colour, only at its import, and for stdout: so FORCE_COLOR says what
 * holds for stderr while it is loaded. Whoever imports something of Ink does it through here, the first one decides.
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
