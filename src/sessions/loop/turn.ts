/**
 * One turn of a session: asks the model and runs its calls until it answers. Everything that happens is a line of the transcript first, so a
 * turn that was cut goes on where its lines end. {@link file://./../session.ts} calls it.
 */
import { fail } from '../../core/errors.ts'
import {
  SESSION_CUT_ANSWERS_MAX,
  SESSION_OUTPUT_MAX_TOKENS,
  SESSION_SAME_MAX,
  SESSION_SAME_NOTED,
  SESSION_STEPS_MAX,
} from '../../core/limits.ts'
import { addCost, addUsage } from '../../core/protocol/session/session.ts'
import { type AnswerSchema, mend } from './answer-schema.ts'
import { askAgain } from './ask-again.ts'
import { affordableTokens } from './budget.ts'
import { compact, contextOf } from './compact.ts'
import type { TurnParts } from './parts.ts'
import { runOpenCalls } from './run-calls.ts'

/** The answer. Throws the errors of a session, and the signal's reason. */
export async function runTurn(parts: TurnParts, turn: number, schema?: AnswerSchema): Promise<string> {
  const { transcript, signal, steering } = parts
  const { history } = transcript
  const repeats = new Repeats()
  let cutAnswers = 0
  let mended = false
  for (;;) {
    signal.throwIfAborted()
    if (history.calls.length > 0) {
      const { calls } = history
      cutAnswers = 0
      await runOpenCalls(parts, turn)
      const advice = repeats.take(calls, (id) => history.results.get(id)?.output ?? '', parts.session)
      if (advice !== undefined) await transcript.append('steer', { turn, text: advice, by: 'session' }, signal)
    }
    for (let said = steering.next(); said !== undefined; said = steering.next())
      await transcript.append('steer', { turn, ...said, by: 'resolver' }, signal)
    const { last } = history
    if (last !== undefined) {
      if (last.finish === 'content-filter') throw fail('session_refused', { session: parts.session })
      const read = schema?.read(last.text)
      const problem = read !== undefined && 'problem' in read ? read.problem : undefined
      if (last.finish !== 'length') {
        if (schema === undefined || problem === undefined) return last.text
        if (mended) throw fail('session_answer_invalid', { session: parts.session, problem })
        mended = true
        await transcript.append('steer', { turn, text: mend(schema, problem), by: 'session' }, signal)
      } else {
        cutAnswers += 1
        if (cutAnswers > SESSION_CUT_ANSWERS_MAX)
          throw overLimit(parts, 'tokens of one answer', SESSION_OUTPUT_MAX_TOKENS, SESSION_OUTPUT_MAX_TOKENS)
        await transcript.append('steer', { turn, text: GO_ON, by: 'session' }, signal)
      }
    }
    const maxOutputTokens = checkLimits(parts)
    if (contextOf(history) > parts.bounds.fullAt) await compact(parts, turn)
    const { message, calls, text, finish, usage } = await askAgain(parts, turn, {
      instructions: parts.instructions,
      messages: () => history.messages,
      tools: parts.toolbox.tools,
      maxOutputTokens,
      context: () => contextOf(history),
      shorten: () => compact(parts, turn),
    })
    const step = (history.turns.at(-1)?.steps ?? 0) + 1
    await transcript.append('step', {
      turn,
      step,
      message,
      calls,
      text,
      finish,
      usage,
      cost_usd: parts.model.price(usage),
    })
  }
}

const GO_ON = 'Your last message was cut at the limit of its length. Go on from there, in smaller parts.'

/** How long the next answer may be. Throws `session_limit`. */
function checkLimits(parts: TurnParts): number {
  const { limits } = parts
  const { turns, usage: own, usageOfAgents, cost: ownCost, costOfAgents } = parts.transcript.history
  const [usage, cost] = [addUsage(own, usageOfAgents), addCost(ownCost, costOfAgents)]
  const { steps = SESSION_STEPS_MAX, tokens, usd } = limits
  const done = turns.at(-1)?.steps ?? 0
  if (done >= steps) throw overLimit(parts, 'steps of a run', steps, done)
  if (usd !== undefined && cost !== null && cost >= usd)
    throw overLimit(parts, 'US dollars', usd, Number(cost.toFixed(4)))
  const used = usage.input_tokens + usage.output_tokens
  if (tokens !== undefined && used >= tokens) throw overLimit(parts, 'tokens', tokens, used)
  const { history } = parts.transcript
  const payable = usd === undefined ? Infinity : affordableTokens(parts.model, contextOf(history), usd - (cost ?? 0))
  return Math.min(SESSION_OUTPUT_MAX_TOKENS, payable, tokens === undefined ? Infinity : tokens - used)
}

function overLimit({ session }: TurnParts, what: string, limit: number, value: number): Error {
  return fail('session_limit', { session, what, limit, value })
}

/** Notices that a model makes the same call again and again, and gets the same result. */
class Repeats {
  #last = ''
  #times = 0

  /** What to tell the model. Throws `session_stuck`. */
  take(
    calls: readonly { id: string; tool: string; input: unknown }[],
    outputOf: (id: string) => string,
    session: string,
  ) {
    for (const { id, tool, input } of calls) {
      const key = JSON.stringify([tool, input, outputOf(id)])
      this.#times = key === this.#last ? this.#times + 1 : 1
      this.#last = key
      if (this.#times >= SESSION_SAME_MAX) throw fail('session_stuck', { session, tool, times: this.#times })
    }
    const tool = calls.at(-1)?.tool ?? ''
    if (this.#times !== SESSION_SAME_NOTED) return undefined
    return `You made the same call of "${tool}" ${this.#times} times in a row, and its result was the same. Do something else, or say what stands in the way.`
  }
}
