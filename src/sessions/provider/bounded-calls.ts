/**
 * Keeps inputs of tools away from the `ai` package that are nested so deep that it would overflow its stack: the step would fail, and be paid
 * again with each retry. {@link file://./../loop/ask-model.ts} tells the model.
 */
import { type LanguageModelMiddleware, wrapLanguageModel } from 'ai'
import { JSON_MAX_DEPTH } from '../../core/limits.ts'

/** What stands in the place of such an input. */
export const TOO_DEEP = 'nested too deep'

type Client = Parameters<typeof wrapLanguageModel>[0]['model']

export function boundedCalls(model: Client): Client {
  return wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream()
        return { ...rest, stream: stream.pipeThrough(bounded()) }
      },
    },
  })
}

type Streamed = Awaited<ReturnType<NonNullable<LanguageModelMiddleware['wrapStream']>>>
type Part = Streamed['stream'] extends ReadableStream<infer T> ? T : never

function bounded(): TransformStream<Part, Part> {
  return new TransformStream({
    transform(part, controller) {
      const isDeep = part.type === 'tool-call' && isDeeper(part.input, JSON_MAX_DEPTH)
      controller.enqueue(isDeep ? { ...part, input: JSON.stringify(TOO_DEEP) } : part)
    },
  })
}

/** Without parsing: brackets outside of texts. */
function isDeeper(json: string, most: number): boolean {
  let depth = 0
  let isText = false
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at]
    if (isText && char === '\\') at += 1
    else if (char === '"') isText = !isText
    else if (!isText && (char === '[' || char === '{')) depth += 1
    else if (!isText && (char === ']' || char === '}')) depth -= 1
    if (depth > most) return true
  }
  return false
}
