/**
 * A scripted model: answers written in advance, for tests and demonstrations. Its calls run for real. `kind` says it wherever the session
 * is told.
 */
import { readFileSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { fail } from '../../core/errors.ts'
import { SCRIPT_MAX_BYTES } from '../../core/limits.ts'
import { isObject } from '../../core/primitives/is-object.ts'
import { fits } from '../../core/schema/fits.ts'
import { anyObject, listOf, object, optional, type Static, text } from '../../core/schema/schema.ts'

type Script = Static<typeof script>

const script = listOf(
  object({
    text: optional(text()),
    calls: optional(listOf(object({ tool: text(), input: anyObject<unknown>() }))),
  }),
)

/** The model of the `ai` package, told structurally: it is a plain object there. */
export interface ScriptedModel {
  specificationVersion: 'v4'
  provider: string
  modelId: string
  supportedUrls: Record<string, RegExp[]>
  doGenerate: () => Promise<never>
  doStream: () => Promise<{ stream: ReadableStream<Record<string, unknown>> }>
}

/** `nextStep` counts from 0 through all turns of the session. A file without the session's name may have `*`. */
export function scriptedModel(path: string, session: string, id: string, nextStep: () => number): ScriptedModel {
  const turns = readScript(path, session)
  const next = (): Script[number] => {
    const step = nextStep()
    const turn = turns[step]
    if (turn === undefined) throw fail('script_ended', { session: id, step: step + 1 })
    return turn
  }
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: path,
    supportedUrls: {},
    doGenerate: () => Promise.reject(fail('session_options_invalid', { session: id, problem: 'a script is streamed' })),
    doStream: async () => ({ stream: ReadableStream.from(chunksOf(next(), nextStep())) }),
  }
}

function readScript(path: string, session: string): Script {
  const { sessions, problem } = readSessions(path, session, 'script')
  const turns = Object.hasOwn(sessions, session) ? sessions[session] : sessions['*']
  if (!fits(script, turns)) throw problem(`has no list of turns for "${session}"`)
  return turns
}

/** What a file of answers has under `sessions`. Throws `session_model_unknown`, which `problem` makes. */
export function readSessions(path: string, session: string, what: 'script' | 'recording') {
  const problem = (said: string) => fail('session_model_unknown', { session, problem: `the ${what} ${path} ${said}` })
  let content: unknown
  try {
    const bytes = readFileSync(isAbsolute(path) ? path : resolve(path))
    if (bytes.length > SCRIPT_MAX_BYTES) throw problem(`has more than ${SCRIPT_MAX_BYTES} bytes`)
    content = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw problem(`can't be read: ${error instanceof Error ? error.message : String(error)}`)
  }
  const sessions = isObject(content) ? content['sessions'] : undefined
  if (!isObject(sessions)) throw problem('has no "sessions"')
  return { sessions, problem }
}

interface GivenAnswer {
  text?: string
  calls?: readonly { id?: string; tool: string; input: unknown }[]
  finish?: string
}

/** A call without an id gets one of the step. */
export function chunksOf(turn: GivenAnswer, step: number): Record<string, unknown>[] {
  const { text = '', calls = [], finish } = turn
  const spoken =
    text === ''
      ? []
      : [
          { type: 'text-start', id: '1' },
          { type: 'text-delta', id: '1', delta: text },
          { type: 'text-end', id: '1' },
        ]
  const called = calls.map(({ id, tool, input }, at) => ({
    type: 'tool-call',
    toolCallId: id ?? `call_${step + 1}_${at + 1}`,
    toolName: tool,
    input: JSON.stringify(input),
  }))
  const unified = finish ?? (calls.length === 0 ? 'stop' : 'tool-calls')
  return [
    { type: 'stream-start', warnings: [] },
    ...spoken,
    ...called,
    { type: 'finish', finishReason: { unified, raw: unified }, usage: NOTHING_USED },
  ]
}

const NOTHING_USED = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
}
