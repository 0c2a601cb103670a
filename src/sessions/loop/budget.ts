/**
 * What the sessions of an instance may cost together. Each call of a model takes its place here first, with the most that it may cost, so
 * that sessions side by side are over the budget by one step at most. {@link file://./ask-again.ts} asks it.
 */
import { fail } from '../../core/errors.ts'
import { SESSION_OUTPUT_LEAST_TOKENS } from '../../core/limits.ts'
import { NO_USAGE } from '../../core/protocol/session/session.ts'
import type { Model } from '../provider/model.ts'
import type { Answer } from './ask-model.ts'

export interface BudgetPlace {
  maxOutputTokens: number
  /** With the answer, where there is one: what failed is not known to have cost anything. */
  leave(answer?: Answer): void
}

export class Budget {
  readonly usd: number
  #spent: number
  /** The most that the calls under way may cost. */
  #reserved = 0
  #isOver = false
  #changed = Promise.withResolvers<void>()

  /** `spent`: by the processes of this instance before. */
  constructor(usd: number, spent: number) {
    this.usd = usd
    this.#spent = spent
  }

  /**
   * Waits while calls of other sessions may use up the rest. The last call gets as long an answer as the rest pays for. Throws
   * `budget_exceeded`, and the signal's reason.
   */
  async enter(model: Model, context: number, wanted: number, signal: AbortSignal): Promise<BudgetPlace> {
    for (;;) {
      signal.throwIfAborted()
      const rest = this.usd - this.#spent
      if (this.#isOver || rest <= 0) throw fail('budget_exceeded', { budget: this.usd, spent: this.#spent })
      const whole = costOf(model, context, wanted)
      if (whole <= rest - this.#reserved) return this.#take(model, wanted, whole, false)
      if (this.#reserved === 0) {
        const affordable = affordableTokens(model, context, rest)
        const tokens = Math.min(wanted, affordable)
        return this.#take(model, tokens, costOf(model, context, tokens), tokens < wanted)
      }
      await orAborted(this.#changed.promise, signal)
    }
  }

  #take(model: Model, maxOutputTokens: number, cost: number, isCut: boolean): BudgetPlace {
    this.#reserved += cost
    const leave = (answer?: Answer) => {
      this.#reserved = Math.max(0, this.#reserved - cost)
      this.#spent += answer === undefined ? 0 : (model.price(answer.usage) ?? 0)
      // The rest was not enough for the answer: another call would only be cut again.
      if (isCut && answer?.finish === 'length') this.#isOver = true
      this.#changed.resolve()
      this.#changed = Promise.withResolvers<void>()
    }
    return { maxOutputTokens, leave }
  }
}

/** How long an answer may be for this money, after a request of `context` tokens. */
export function affordableTokens(model: Model, context: number, usd: number): number {
  const each = costOf(model, 0, SAMPLE_TOKENS) / SAMPLE_TOKENS
  if (each === 0) return Number.MAX_SAFE_INTEGER
  return Math.max(SESSION_OUTPUT_LEAST_TOKENS, Math.floor((usd - costOf(model, context, 0)) / each))
}

const SAMPLE_TOKENS = 1_000

/** Scripted and replayed answers cost nothing. */
function costOf(model: Model, input_tokens: number, output_tokens: number): number {
  return model.price({ ...NO_USAGE, input_tokens, output_tokens }) ?? 0
}

async function orAborted(wait: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = () => resolve()
  signal.addEventListener('abort', end)
  try {
    await Promise.race([wait, promise])
  } finally {
    signal.removeEventListener('abort', end)
  }
}
