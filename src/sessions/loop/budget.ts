/**
 * What the sessions of an instance may use together. Each call of a model takes its place here first, with the most that it may use, so
 * that sessions side by side are over the budget by one step at most. {@link file://./ask-again.ts} asks it.
 */
import { fail } from '../../core/errors.ts'
import { SESSION_OUTPUT_LEAST_TOKENS } from '../../core/limits.ts'
import { NO_USAGE, tokensOf } from '../../core/protocol/session/session.ts'
import type { Model } from '../provider/model.ts'
import type { Spent } from '../transcript/spent.ts'
import type { Answer } from './ask-model.ts'

export interface BudgetPlace {
  maxOutputTokens: number
  /** With the answer, where there is one: what failed is not known to have cost anything. */
  leave(answer?: Answer): void
}

/** One bound of the budget. */
interface Purse {
  limit: number
  spent: number
  /** The most that the calls under way may use. */
  reserved: number
  unit: 'US dollars' | 'tokens'
  /** What a request and an answer of so many tokens use. */
  of(model: Model, input: number, output: number): number
  /** What an answer used. */
  paid(model: Model, answer: Answer): number
  /** How long an answer may be for this rest. */
  affordable(model: Model, context: number, rest: number): number
}

export class Budget {
  readonly #purses: readonly Purse[]
  #over: Purse | undefined
  #changed = Promise.withResolvers<void>()

  /** Without a number there is no such bound. `spent`: by the processes of this instance before. */
  constructor({ usd, tokens }: { usd: number | undefined; tokens: number | undefined }, spent: Spent) {
    const inDollars: Omit<Purse, 'limit'> = {
      ...{ spent: spent.usd, reserved: 0, unit: 'US dollars', of: costOf, affordable: affordableTokens },
      paid: (model, { usage }) => model.price(usage) ?? 0,
    }
    const inTokens: Omit<Purse, 'limit'> = {
      ...{ spent: spent.tokens, reserved: 0, unit: 'tokens' },
      of: (_, input, output) => input + output,
      paid: (_, { usage }) => tokensOf(usage),
      affordable: (_, context, rest) => Math.max(SESSION_OUTPUT_LEAST_TOKENS, Math.floor(rest - context)),
    }
    this.#purses = [
      ...(usd === undefined ? [] : [{ ...inDollars, limit: usd }]),
      ...(tokens === undefined ? [] : [{ ...inTokens, limit: tokens }]),
    ]
  }

  /**
   * Waits while calls of other sessions may use up the rest. The last call gets as long an answer as the rest pays for. Throws
   * `budget_exceeded`, and the signal's reason.
   */
  async enter(model: Model, context: number, wanted: number, signal: AbortSignal): Promise<BudgetPlace> {
    for (;;) {
      signal.throwIfAborted()
      const over = this.#over ?? this.#purses.find((one) => restOf(one) <= 0)
      if (over !== undefined) throw fail('budget_exceeded', { budget: over.limit, spent: over.spent, unit: over.unit })
      const short = this.#purses.filter((one) => one.of(model, context, wanted) > restOf(one) - one.reserved)
      if (short.length === 0) return this.#take(model, context, wanted)
      if (short.every(({ reserved }) => reserved === 0)) return this.#takeRest(model, context, wanted)
      await orAborted(this.#changed.promise, signal)
    }
  }

  /** Nothing else may use up the rest: the answer is as long as it pays for. */
  #takeRest(model: Model, context: number, wanted: number): BudgetPlace {
    const affordable = this.#purses.map((one) => one.affordable(model, context, restOf(one)))
    const least = Math.min(...affordable)
    const by = this.#purses[affordable.indexOf(least)]
    return this.#take(model, context, Math.min(wanted, least), least < wanted ? by : undefined)
  }

  /** `by`: what cuts the answer. */
  #take(model: Model, context: number, maxOutputTokens: number, by?: Purse): BudgetPlace {
    const reserved = this.#purses.map((one) => one.of(model, context, maxOutputTokens))
    for (const [at, one] of this.#purses.entries()) one.reserved += reserved[at] ?? 0
    const leave = (answer?: Answer) => {
      for (const [at, one] of this.#purses.entries()) {
        one.reserved = Math.max(0, one.reserved - (reserved[at] ?? 0))
        one.spent += answer === undefined ? 0 : one.paid(model, answer)
      }
      // The rest was not enough for the answer: another call would only be cut again.
      if (answer?.finish === 'length') this.#over ??= by
      this.#changed.resolve()
      this.#changed = Promise.withResolvers<void>()
    }
    return { maxOutputTokens, leave }
  }
}

function restOf({ limit, spent }: Purse): number {
  return limit - spent
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
