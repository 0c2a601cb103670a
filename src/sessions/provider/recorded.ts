/**
 * A recorded model: the answers that a model gave in an earlier run, as `resolve run --record` wrote them. Its calls run for real. An answer
 * belongs to its prompt: what leaves the record fails, and no answer is made up.
 */
import { fail } from '../../core/errors.ts'
import { fits } from '../../core/schema/fits.ts'
import { anyObject, listOf, object, type Static, text } from '../../core/schema/schema.ts'
import { chunksOf, readSessions, type ScriptedModel } from './script.ts'

const recordedTurns = object({
  turns: listOf(
    object({
      prompt: text(),
      steps: listOf(
        object({
          text: text(),
          finish: text(),
          calls: listOf(object({ id: text(), tool: text(), input: anyObject<unknown>() })),
        }),
      ),
    }),
  ),
})

/** Where a session is: its present prompt, which of its prompts that is, and how many answers it got. */
export interface Place {
  prompt: string
  turn: number
  step: number
}

/** `here` tells it before each call. */
export function recordedModel(path: string, id: string, here: () => Place): ScriptedModel {
  const { sessions, problem } = readSessions(path, id, 'recording')
  const recorded: unknown = Object.hasOwn(sessions, id) ? sessions[id] : undefined
  if (!fits(recordedTurns, recorded)) throw problem(`has no answers for the session "${id}"`)
  const next = () => answerAt(recorded.turns, here(), id)
  return {
    specificationVersion: 'v4',
    provider: 'recorded',
    modelId: path,
    supportedUrls: {},
    doGenerate: () =>
      Promise.reject(fail('session_options_invalid', { session: id, problem: 'a recording is streamed' })),
    doStream: async () => ({ stream: ReadableStream.from(chunksOf(next(), here().step)) }),
  }
}

/** A turn that was dropped in the recorded run stands between those that count. */
function answerAt(turns: Static<typeof recordedTurns>['turns'], { prompt, turn, step }: Place, session: string) {
  const found = turns.slice(turn).find((one) => one.prompt === prompt)?.steps[step]
  if (found === undefined) throw fail('script_ended', { session, step: step + 1, from: 'recording' })
  return found
}
