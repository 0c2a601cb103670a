/**
 * Workflow commands of GitHub Actions. Its runner takes any line of either stream for one that begins with `::`, or has
 * `##[` anywhere in it; so what a resolver says is kept from looking like either.
 */

/** `::error title=…::…`, with the escapes the runner undoes. */
export function workflowCommand(name: string, text: string, properties: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(properties).map(([key, value]) => `${key}=${escapeProperty(value)}`)
  return `::${name}${given.length === 0 ? '' : ` ${given.join(',')}`}::${escapeData(text)}`
}

/** Characters the runner's comparison passes over, as if they were not there. */
const IGNORED = '[\\p{Cf}\\p{Default_Ignorable_Code_Point}\\0]*'

const AT_START = new RegExp(`^((?:\\s|[\\p{Cf}\\p{Default_Ignorable_Code_Point}\\0])*):${IGNORED}:`, 'u')
const ANYWHERE = new RegExp(`#${IGNORED}#${IGNORED}\\[`, 'gu')
const LINES = /(\r\n|[\n\r\v\f\u0085\u2028\u2029])/

/** The text with no line in it that the runner would take for a command: a space parts the signs. */
export function withoutCommands(text: string): string {
  if (!text.includes(':') && !text.includes('#')) return text
  return text
    .split(LINES)
    .map((line) => line.replace(AT_START, '$1: :').replace(ANYWHERE, '# #['))
    .join('')
}

/** The same JSON value, spelled so that no line of it is a command: none of its lines begins with a colon anyway. */
export function withoutCommandsInJson(json: string): string {
  return json.replace(ANYWHERE, (found) => `\\u0023${found.slice(1)}`)
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
