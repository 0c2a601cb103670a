/**
 * An answer that must fit a JSON Schema: the model is told the schema, its answer is read and checked, and it may mend it once. Words and not
 * a mode of the provider, so that it is the same with every protocol. {@link file://./../session.ts} opens it.
 */
import { fail } from '../../core/errors.ts'
import { JSON_MAX_DEPTH, SESSION_SCHEMA_MAX_BYTES } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { isWithinDepth } from '../../core/primitives/json-depth.ts'

export type Read = { value: unknown } | { problem: string }

export interface AnswerSchema {
  /** What the model is told with the prompt. */
  readonly demand: string
  read(output: string): Read
}

/** Throws `session_options_invalid` for what is no JSON Schema. */
export async function openSchema(session: string, schema: unknown): Promise<AnswerSchema> {
  const problem = (what: string) => fail('session_options_invalid', { session, problem: `the schema ${what}` })
  if (!isObject(schema)) throw problem('of the answer is no object')
  // The draft that it names needs no other validator for what answers use.
  const { $schema: _, ...rules } = schema
  const text = JSON.stringify(rules)
  if (Buffer.byteLength(text) > SESSION_SCHEMA_MAX_BYTES)
    throw problem(`has more than ${SESSION_SCHEMA_MAX_BYTES} bytes`)
  const { default: ajvModule } = await import('ajv/dist/2020.js')
  const ajv = new ajvModule.Ajv2020({ strict: false, validateFormats: false, logger: false })
  let fits: ReturnType<typeof ajv.compile>
  try {
    fits = ajv.compile(rules)
  } catch (error) {
    throw problem(`of the answer is no JSON Schema: ${error instanceof Error ? error.message : String(error)}`)
  }
  return {
    demand: `Your last message must be JSON alone, without words around it, and fit this JSON Schema:\n${text}`,
    read(output) {
      const found = valueIn(output)
      if (found === undefined) return { problem: 'it is no JSON' }
      if (!isWithinDepth(found.value, JSON_MAX_DEPTH)) return { problem: `it is nested deeper than ${JSON_MAX_DEPTH}` }
      if (fits(found.value)) return found
      const [first] = fits.errors ?? []
      return { problem: `${first?.instancePath || 'it'} ${first?.message ?? 'does not fit'}` }
    },
  }
}

/** What the model is told about an answer that does not fit. */
export function mend({ demand }: AnswerSchema, problem: string): string {
  return `Your answer does not fit: ${problem}. ${demand}`
}

/** Without a pattern over the whole: a model can be made to answer with what would hold one for hours. */
function blockIn(output: string): string | undefined {
  const fence = /```(?:json)?[ \t\r]*\n/.exec(output)
  if (fence === null) return undefined
  const from = fence.index + fence[0].length
  const to = output.indexOf('```', from)
  return to === -1 ? undefined : output.slice(from, to)
}

/** The JSON of an answer: all of it, what stands in a code block, or what stands between the first and the last brace. */
function valueIn(output: string): { value: unknown } | undefined {
  const block = blockIn(output)
  const from = output.search(/[{[]/)
  const to = Math.max(output.lastIndexOf('}'), output.lastIndexOf(']'))
  const between = from === -1 || to < from ? undefined : output.slice(from, to + 1)
  for (const text of [output, block, between]) {
    if (text === undefined) continue
    try {
      return { value: JSON.parse(text) as unknown }
    } catch {
      // The next reading.
    }
  }
  return undefined
}
