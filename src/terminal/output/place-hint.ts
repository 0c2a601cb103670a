/** Hints come from the catalogue of errors, which knows neither a server nor a context: says where a command of a hint works. Pure. */
import type { ErrorCode } from '../../core/errors.ts'
import { quoteWord } from '../../core/primitives/quote-word.ts'
import { cleanLine } from '../../core/view/clean.ts'

export interface ServerPlace {
  url: string
  /** The flag, variable or file that chose the server. */
  from: string
  /** The name of the context that it comes from. */
  context?: string | undefined
}

/** The hint of an error that a server answered, for its caller on another machine or with another context. */
export function placedHint(code: ErrorCode, hint: string, { url, from, context }: ServerPlace): string {
  const local = context === undefined ? '' : ' --context local'
  const placed = signInHint(code, { url, from, context }) ?? hint
  const there = placed
    .replace(/"resolve token create\b/g, `"resolve token create${local}`)
    .replace(
      /^Get it with "resolve worker build"/,
      `Get it with "resolve worker build${local}" on the server's machine`,
    )
    .replace(/^Get it with "(docker pull [^"]+)"/, `Get it with "$1" on the server's machine`)
    .replace(/^Start Docker, or add --executor local to run it as a process of this machine/, (whole) =>
      whole.replace('Docker', "Docker on the server's machine").replace('this machine', 'that machine'),
    )
  if (context === undefined) return there
  const name = `the context "${cleanLine(context)}"`
  const away = from === 'the config file' ? ', or use this machine: "resolve context use local"' : ''
  const signIn = code === 'scope_missing' ? ` Then sign in with it: "${loginCommand(url, context)}".` : ''
  return `${there
    .replace('the address is right (--server, RESOLVE_URL)', `the address of ${name} is right${away}`)
    .replace('Check the address (--server, RESOLVE_URL)', `Check the address of ${name}`)}${signIn}`
}

/** How a caller without a valid token gets one to this server; undefined where the hint of the error says it. */
function signInHint(code: ErrorCode, { url, from, context }: ServerPlace): string | undefined {
  if (code !== 'token_missing' && code !== 'token_refused') return undefined
  const create = '"resolve token create" on the server\'s machine creates a token.'
  if (context !== undefined) return `Sign in again: "${loginCommand(url, context)}". ${create}`
  if (from === '--server')
    return `Set RESOLVE_TOKEN, or sign in with "${loginCommand(url)}" and omit --server. ${create}`
  return `Set RESOLVE_TOKEN. ${create}`
}

function loginCommand(url: string, context?: string): string {
  return ['resolve', 'login', ...[url, ...(context === undefined ? [] : ['--name', context])].map(quoteWord)].join(' ')
}
