/** Reads YAML into plain values; resolver-file.ts loads it, and the parser with it, when a file is read. */
import { parseDocument } from 'yaml'

const PROBLEMS_MAX = 20

/** The problems of the syntax, one sentence each. */
export function readYaml(text: string): { value: unknown } | { problems: string[] } {
  const document = parseDocument(text, { uniqueKeys: true })
  if (document.errors.length > 0)
    return { problems: document.errors.slice(0, PROBLEMS_MAX).map(({ message }) => sentence(message)) }
  try {
    // Aliases could make a small file large.
    return { value: document.toJS({ maxAliasCount: 50 }) }
  } catch (error) {
    return { problems: [`It can't be read: ${sentence(error instanceof Error ? error.message : String(error))}`] }
  }
}

function sentence(message: string): string {
  return `${(message.split('\n')[0] ?? '').replace(/[:.]$/, '')}.`
}
