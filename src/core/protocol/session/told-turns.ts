/**
 * What the journal tells of the turns of LLM sessions, of every session, in a few bytes each: a worker tells after a crash what it told before.
 * The host keeps it beside the inbox. Pure.
 */
import { SESSIONS_KNOWN_MAX } from '../../limits.ts'
import { fits } from '../../schema/fits.ts'
import {
  addCost,
  addUsage,
  NO_USAGE,
  type SessionCompleted,
  type SessionDispatched,
  sessionCompleted,
  sessionDispatched,
} from './session.ts'

type State = 'running' | 'completed' | 'failed'

/** Of a turn that may be worked on again: what the journal has counted of it. */
type Counted = Pick<SessionCompleted, 'steps' | 'usage' | 'cost_usd'>

const NOTHING: Counted = { steps: 0, usage: NO_USAGE, cost_usd: 0 }

/** Why a session was refused for the budget of the instance. */
export const BUDGET_EXCEEDED = 'budget_exceeded'

export class ToldTurns {
  /** The last turn of each session. */
  readonly #last = new Map<string, { turn: number; state: State }>()
  readonly #counted = new Map<string, Counted>()
  #refusal: { code: string; detail: string } | undefined

  /** The first refusal of a session for the budget of the instance. */
  get budgetRefusal(): { code: string; detail: string } | undefined {
    return this.#refusal
  }

  isFull(id: string): boolean {
    return this.#last.size >= SESSIONS_KNOWN_MAX && !this.#last.has(id)
  }

  isNewDispatch({ session_id: id, turn }: SessionDispatched): boolean {
    const last = this.#last.get(id)
    // A turn that failed may be worked on again.
    return last === undefined || turn > last.turn || (turn === last.turn && last.state === 'failed')
  }

  isNewCompletion({ session_id: id, turn }: SessionCompleted): boolean {
    const last = this.#last.get(id)
    return last?.turn === turn && last.state === 'running'
  }

  /** A session tells what a turn used from its begin. What was counted when it failed before is taken off, so that sums over events are exact. */
  sinceCounted(data: SessionCompleted): SessionCompleted {
    const counted = this.#counted.get(data.session_id) ?? NOTHING
    const { usage } = data
    const less = (now: number, before: number) => Math.max(0, now - before)
    return {
      ...data,
      steps: less(data.steps, counted.steps),
      usage: {
        input_tokens: less(usage.input_tokens, counted.usage.input_tokens),
        cache_read_tokens: less(usage.cache_read_tokens, counted.usage.cache_read_tokens),
        cache_write_tokens: less(usage.cache_write_tokens, counted.usage.cache_write_tokens),
        output_tokens: less(usage.output_tokens, counted.usage.output_tokens),
      },
      cost_usd: data.cost_usd === null ? null : less(data.cost_usd, counted.cost_usd ?? 0),
    }
  }

  /** Applies an event of the journal. */
  apply(type: string, data: unknown): void {
    if (type === 'platform.resolver.session_dispatched' && fits(sessionDispatched, data)) this.#dispatch(data)
    if (type === 'platform.resolver.session_completed' && fits(sessionCompleted, data)) this.#complete(data)
  }

  #dispatch({ session_id: id, turn }: SessionDispatched): void {
    if (this.#last.get(id)?.turn !== turn) this.#counted.delete(id)
    this.#last.set(id, { turn, state: 'running' })
  }

  #complete({ session_id: id, turn, success, steps, usage, cost_usd, error }: SessionCompleted): void {
    this.#last.set(id, { turn, state: success ? 'completed' : 'failed' })
    if (error?.code === BUDGET_EXCEEDED) this.#refusal ??= error
    if (success) {
      this.#counted.delete(id)
      return
    }
    const before = this.#counted.get(id) ?? NOTHING
    this.#counted.set(id, {
      steps: before.steps + steps,
      usage: addUsage(before.usage, usage),
      cost_usd: addCost(before.cost_usd, cost_usd),
    })
  }
}
