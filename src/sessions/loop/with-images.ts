/** Puts the bytes of images into the messages of one request: the latest ones, and none where the model takes none. */
import type { ModelMessage, ToolResultPart } from 'ai'
import { REQUEST_IMAGES_MAX, REQUEST_IMAGES_MAX_BYTES } from '../../core/limits.ts'
import { IMAGE_MARK, readImage } from '../transcript/images.ts'

type Output = ToolResultPart['output']
type Part = Extract<Output, { type: 'content' }>['value'][number]

/** `directory`: of the session. */
export function withImages(messages: readonly ModelMessage[], directory: string, takesImages: boolean): ModelMessage[] {
  let [left, bytesLeft] = [takesImages ? REQUEST_IMAGES_MAX : 0, REQUEST_IMAGES_MAX_BYTES]
  const partOf = (part: Part): Part => {
    const name = nameIn(part)
    if (name === undefined) return part
    const bytes = left > 0 ? readImage(directory, name) : undefined
    if (bytes === undefined || bytes.length > bytesLeft) return { type: 'text', text: takesImages ? OLD : UNSEEN }
    left -= 1
    bytesLeft -= bytes.length
    return { ...part, data: { type: 'data', data: bytes.toString('base64') } } as Part
  }
  return messages
    .toReversed()
    .map((message) => {
      if (message.role !== 'tool' || !holdsImage(message)) return message
      const content = message.content.toReversed().map((result) => {
        if (result.type !== 'tool-result' || result.output.type !== 'content') return result
        return { ...result, output: plain({ ...result.output, value: result.output.value.map(partOf) }) }
      })
      return { ...message, content: content.toReversed() }
    })
    .toReversed()
}

export function holdsImage({ role, content }: ModelMessage): boolean {
  if (role !== 'tool') return false
  return content.some(
    (one) =>
      one.type === 'tool-result' && one.output.type === 'content' && one.output.value.some((part) => nameIn(part)),
  )
}

const UNSEEN = '[this model is not shown images]'
const OLD = '[no longer shown; read it again if you need it]'

function nameIn(part: Part): string | undefined {
  if (part.type !== 'file' || part.data.type !== 'data') return undefined
  const { data } = part.data
  return typeof data === 'string' && data.startsWith(IMAGE_MARK) ? data.slice(IMAGE_MARK.length) : undefined
}

/** Text alone is sent as any other result. */
function plain(output: Extract<Output, { type: 'content' }>): Output {
  const texts = output.value.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  return texts.length === output.value.length ? { type: 'text', value: texts.join('\n') } : output
}
