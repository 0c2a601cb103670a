/** The text of what a tool of an MCP server gave: pure. What is no text is named. */
import { isObject } from '../../core/primitives/is-object.ts'

export function resultText(result: Readonly<Record<string, unknown>>): string {
  const { content, structuredContent, toolResult } = result
  const parts = Array.isArray(content) ? content.filter(isObject).map(textOf) : []
  const said = parts.filter((one) => one !== '')
  if (said.length > 0) return said.join('\n')
  const value = structuredContent ?? toolResult
  return value === undefined ? '[no output]' : JSON.stringify(value)
}

function textOf(part: Record<string, unknown>): string {
  const { type, text, data, mimeType, resource, uri, name } = part
  if (type === 'text' && typeof text === 'string') return text
  if (type === 'resource' && isObject(resource)) {
    if (typeof resource['text'] === 'string') return `[${label(resource['uri'])}]\n${resource['text']}`
    return `[${label(resource['uri'])}, ${label(resource['mimeType'])}: its bytes are not shown]`
  }
  if (type === 'resource_link') return `[resource ${label(uri)}: ${label(name)}]`
  const bytes = typeof data === 'string' ? `, ${Math.floor((data.length * 3) / 4)} bytes` : ''
  return `[${label(type)} ${label(mimeType)}${bytes}: not shown]`
}

function label(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 500) : ''
}
