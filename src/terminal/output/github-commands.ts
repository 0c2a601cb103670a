/**
 * Workflow commands of GitHub Actions. The runner treats a line of stdout or stderr as a command if it begins with `::` or
 * contains `##[`. Text of a resolver is changed so that it matches neither.
 */

/** `::error title=…::…`, escaped as the runner expects. */
export function workflowCommand(name: string, text: string, properties: Readonly<Record<string, string>> = {}): string {
  const given = Object.entries(properties).map(([key, value]) => `${key}=${escapeProperty(value)}`)
  return `::${name}${given.length === 0 ? '' : ` ${given.join(',')}`}::${escapeData(text)}`
}

/** Characters that the runner ignores when it compares. */
const IGNORED = '[\\p{Cf}\\p{Default_Ignorable_Code_Point}\\0]*'

const AT_START = new RegExp(`^((?:\\s|[\\p{Cf}\\p{Default_Ignorable_Code_Point}\\0])*):${IGNORED}:`, 'u')
const ANYWHERE = new RegExp(`#${IGNORED}#${IGNORED}\\[`, 'gu')
const LINES = /(\r\n|[\n\r\v\f\u0085\u2028\u2029])/

/** Inserts a space so that no line of the text is a command for the runner. */
export function withoutCommands(text: string): string {
  if (!text.includes(':') && !text.includes('#')) return text
  return text
    .split(LINES)
    .map((line) => line.replace(AT_START, '$1: :').replace(ANYWHERE, '# #['))
    .join('')
}

/** The same JSON value, escaped so that no line is a command. A line of JSON never begins with a colon. */
export function withoutCommandsInJson(json: string): string {
  return json.replace(ANYWHERE, (found) => `\\u0023${found.slice(1)}`)
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
