/** The command that starts a resolver without the platform: what its author runs to see its output. Errors of inquiries show it. */
import { pathToFileURL } from 'node:url'
import { installedFile } from '../../files/installation.ts'
import { quoteWord } from '../../primitives/quote-word.ts'

/** Uses the Node that runs this program, since the one on the user's PATH may be too old for TypeScript, and finds the SDK. */
export function byHand(directory: string, command: readonly string[]): string {
  const [program = '', ...rest] = command
  const register = installedFile('sdk/register.js')
  const sdk = register === undefined ? [] : [`--import=${pathToFileURL(register).href}`]
  const words = program === 'node' ? [process.execPath, ...sdk, ...rest] : command
  return `cd ${quoteWord(directory)} && ${words.map(quoteWord).join(' ')}`
}
