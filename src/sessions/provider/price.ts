/** What a step cost, as an estimate, and the size of a model's window: the list is part of the program, and asks no server. */
import { calcPrice, type PriceCalculation } from '@pydantic/genai-prices'
import { SESSION_WINDOW_LEAST_TOKENS } from '../../core/limits.ts'
import type { SessionUsage } from '../../core/protocol/session/session.ts'
import type { Provider } from './wish.ts'

/** null where the list does not know the model. */
export function priceOf(usage: SessionUsage, provider: Provider, model: string): number | null {
  return find(usage, provider, model)?.total_price ?? null
}

/** In tokens; undefined where the list does not know it. */
export function windowOf(provider: Provider, model: string): number | undefined {
  const window = find({ input_tokens: 1, output_tokens: 1 }, provider, model)?.model.context_window
  return window !== undefined && window >= SESSION_WINDOW_LEAST_TOKENS ? window : undefined
}

function find(usage: Partial<SessionUsage>, provider: Provider, model: string): PriceCalculation | undefined {
  const providerId = provider === 'openai-compatible' ? undefined : provider
  try {
    return calcPrice(usage, model, providerId === undefined ? {} : { providerId }) ?? undefined
  } catch {
    // Counts that contradict each other have no price.
    return undefined
  }
}
