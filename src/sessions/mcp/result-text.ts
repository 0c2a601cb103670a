/** What a tool of an MCP server gave: its text, and an image. Pure. What is neither is named. */
import { IMAGE_MAX_BYTES } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { imageType } from '../tools/image-type.ts'
import type { ToolOutput } from '../tools/tool.ts'

export function resultText(result: Readonly<Record<string, unknown>>): string {
  const { content, structuredContent, toolResult } = result
  const parts = Array.isArray(content) ? content.filter(isObject).map(textOf) : []
  const said = parts.filter((one) => one !== '')
  if (said.length > 0) return said.join('\n')
  const value = structuredContent ?? toolResult
  return value === undefined ? '[no output]' : JSON.stringify(value)
}

/** The first image that can be shown. Its own bytes tell what it is. */
export function resultImage({ content }: Readonly<Record<string, unknown>>): ToolOutput['image'] {
  if (!Array.isArray(content)) return undefined
  for (const part of content.filter(isObject)) {
    if (part['type'] !== 'image' || typeof part['data'] !== 'string') continue
    const bytes = Buffer.from(part['data'], 'base64')
    const mediaType = imageType(bytes)
    if (mediaType !== undefined && bytes.length <= IMAGE_MAX_BYTES) return { mediaType, bytes }
  }
  return undefined
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
  return `[${label(type)} ${label(mimeType)}${bytes}]`
}

function label(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 500) : ''
}
