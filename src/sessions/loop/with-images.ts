/** Puts the bytes of images into the messages of one request: the latest ones, and none where the model takes none. */
import type { ModelMessage, ToolResultPart } from 'ai'
import { REQUEST_IMAGES_MAX, REQUEST_IMAGES_MAX_BYTES } from '../../core/limits.ts'
import { IMAGE_MARK, readImage } from '../transcript/images.ts'

type Output = ToolResultPart['output']
type Part = Extract<Output, { type: 'content' }>['value'][number]
type PromptPart = Exclude<Extract<ModelMessage, { role: 'user' }>['content'], string>[number]

/** Where images are shown. */
export interface Shows {
  prompts: boolean
  results: boolean
}

/** `directory`: of the session. */
export function withImages(messages: readonly ModelMessage[], directory: string, shows: Shows): ModelMessage[] {
  let [left, bytesLeft] = [REQUEST_IMAGES_MAX, REQUEST_IMAGES_MAX_BYTES]
  const filled = <P extends Part | PromptPart>(part: P, isShown: boolean): P => {
    const name = nameIn(part)
    if (name === undefined) return part
    const bytes = isShown && left > 0 ? readImage(directory, name) : undefined
    if (bytes === undefined || bytes.length > bytesLeft) return { type: 'text', text: isShown ? OLD : UNSEEN } as P
    left -= 1
    bytesLeft -= bytes.length
    return { ...part, data: { type: 'data', data: bytes.toString('base64') } }
  }
  return messages
    .toReversed()
    .map((message): ModelMessage => {
      if (!holdsImage(message)) return message
      if (message.role === 'user' && typeof message.content !== 'string') {
        const content = message.content.toReversed().map((part) => filled(part, shows.prompts))
        return { ...message, content: content.toReversed() }
      }
      if (message.role !== 'tool') return message
      const content = message.content.toReversed().map((result) => {
        if (result.type !== 'tool-result' || result.output.type !== 'content') return result
        const value = result.output.value.map((part) => filled(part, shows.results))
        return { ...result, output: plain({ ...result.output, value }) }
      })
      return { ...message, content: content.toReversed() }
    })
    .toReversed()
}

export function holdsImage({ role, content }: ModelMessage): boolean {
  if (role === 'user') return typeof content !== 'string' && content.some((part) => nameIn(part) !== undefined)
  if (role !== 'tool') return false
  return content.some(
    (one) =>
      one.type === 'tool-result' && one.output.type === 'content' && one.output.value.some((part) => nameIn(part)),
  )
}

const UNSEEN = '[this model is not shown images]'
const OLD = '[no longer shown; read it again if you need it]'

function nameIn(part: Part | PromptPart): string | undefined {
  if (part.type !== 'file' || typeof part.data !== 'object' || !('type' in part.data)) return undefined
  if (part.data.type !== 'data') return undefined
  const { data } = part.data
  return typeof data === 'string' && data.startsWith(IMAGE_MARK) ? data.slice(IMAGE_MARK.length) : undefined
}

/** Text alone is sent as any other result. */
function plain(output: Extract<Output, { type: 'content' }>): Output {
  const texts = output.value.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return texts.length === output.value.length ? { type: 'text', value: texts.join('\n') } : output
}
